"""Who decides whether a mutant is noticed: the quick tests of its layer, the properties, or both."""
import hashlib
import os
import pathlib
import resource
import signal
import subprocess
import threading
import time

# Of each layer, quick ones first. The source of kernels has none: its tests are the properties on
# the emulated devices.
TESTS = {"core": ["core_paging", "core_shape", "core_case", "core_plan_check", "core_builder",
                  "core_plan", "core_allocation", "core_fa", "core_random_walk", "core_plan_golden",
                  "core_plan_exhaustive"],
         "cpu_backend": ["cpu_backend"]}
FIRST_CASES = ("16", "100")  # random ones of short runs; the complete one judges them again
# What is mutated is compiled source by source: a mutant costs one compilation and not a batch.
SINGLE = "-DMLA_SINGLE=core;cpu"
# Seconds. What a compiler does not finish by then is not viable: a loop unrolled without end.
BUILD = 1200
MEMORY = (8 << 30,) * 2  # bytes: a mutant that fills a list without end must not take the machine
# What numbers alone need not show: it costs four times as much as a run without.
CHECKS = "--checks=lds,waits,uninitialised,barriers"
KERNELS = pathlib.Path("hip_backend/kernels")


def is_kernel(file):
    return KERNELS in pathlib.Path(file).parents


def command(arguments, limit=3600, folder=None):
    """What ended within the limit; None, and nothing of it left running, if it did not."""
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               cwd=folder, start_new_session=True)
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def digest(path):
    return hashlib.sha256(path.read_bytes()).digest()


def first_failure(arguments, limit, folder):
    """Runs until a line `FAIL <property> ...` comes, the end, or the limit: (what came, exit)."""
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True, cwd=folder, start_new_session=True,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, MEMORY))

    def end():
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    late = threading.Event()
    timer = threading.Timer(limit, lambda: (late.set(), end()))
    timer.start()
    try:
        for line in process.stdout:
            if line.startswith("FAIL P") and not line.startswith("FAIL P00"):
                return line.split()[1], 1
        code = process.wait()
        return ("time" if late.is_set() else f"exit {code}"), code
    finally:
        timer.cancel()
        end()
        process.wait()


def layer(file):
    return pathlib.Path(file).parts[0]


class Tests:
    """Builds and runs one test of the mutant's layer after the other. What killed the last mutant of
    a file comes first for the next one."""
    name = "tests"
    default = ["core/plan", "core/shape", "core/paging"]

    def __init__(self, sources, files, _seed, _short):
        self.build = sources / "build" / "tests"
        done = command(["cmake", "-G", "Ninja", "-S", str(sources), "-B", str(self.build),
                        "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
                        "-DMLA_WERROR=OFF", "-DMLA_BENCHMARKS=OFF", "-DHIP_BACKEND=OFF", SINGLE])
        if done is None or done.returncode != 0:
            raise SystemExit(done.stderr if done else "cmake takes too long")
        self.layers = sorted({layer(file) for file in files} & TESTS.keys())
        self.order = {}

    def baseline(self):
        everything = [f"test_{test}" for one in self.layers for test in TESTS[one]]
        command(["ninja", "-C", str(self.build), *everything], limit=7200)
        return all(self.first_killer(one, list(TESTS[one])) is None for one in self.layers)

    def verdict(self, mutant):
        tests = self.order.setdefault(mutant.file, list(TESTS.get(layer(mutant.file), [])))
        return self.first_killer(layer(mutant.file), tests) or "survived"

    def first_killer(self, folder, tests):
        """The verdict of the first test that notices something, which is then the first of the list."""
        for test in list(tests):
            built = command(["ninja", "-C", str(self.build), f"test_{test}"], limit=BUILD)
            if built is None or built.returncode != 0:
                return "not viable"
            ran = command([str(self.build / "tests" / folder / f"test_{test}"), "--abort"], limit=60)
            if ran is None or ran.returncode != 0:
                tests.remove(test)
                tests.insert(0, test)
                return f"killed by {test}" + (" (time)" if ran is None else "")
        return None


class Properties:
    """Builds mla-testbed as properties/run.sh does and judges as it does: the shipped cases and 500
    random ones on the CPU backend; for the source of kernels the shipped cases for devices and 40
    random ones on the emulated device of each architecture, and the shipped ones once more with the
    emulator's checks for races in LDS, missing waits and unwritten registers. A mutant is killed when
    that ends with another exit code than the unchanged sources, and equivalent when the compilers
    make the same program of it, device code included. Short runs of the first random cases come first,
    and are all there is for `--short`: what they kill, the complete run kills."""
    name = "properties"
    default = ["core/plan", "core/shape", "core/paging", "core/engine", "cpu_backend/decode/schedule.cpp",
               "cpu_backend/decode/work_list.cpp", "cpu_backend/decode/task_checks.cpp", "cpu_backend/decode/task.hpp",
               "cpu_backend/decode/executor.cpp", "cpu_backend/decode/split_route.cpp", "cpu_backend/decode/stage1.cpp",
               "cpu_backend/decode/reduce.cpp", "cpu_backend/merge.cpp"] + [
                   str(KERNELS / name) for name in (
                       "attention_tile.hpp", "decode.hip", "decode.hpp", "decode_traits.hpp",
                       "key_stage.hpp", "layout.hpp", "numbers.hpp", "piece.hpp", "prefill.hip",
                       "prefill.hpp", "prefill_traits.hpp", "reduce.hip", "tile_amd.hpp")]

    def __init__(self, sources, files, seed, short):
        self.sources, self.files, self.seed, self.short = sources, files, str(seed), short
        self.build = sources / "build" / "cpu-release"
        device = "AUTO" if any(is_kernel(file) for file in files) else "OFF"
        done = command(["cmake", "--preset", "cpu-release", "-DMLA_TESTS=OFF",
                        "-DMLA_BENCHMARKS=OFF", f"-DHIP_BACKEND={device}", SINGLE],
                       folder=sources)
        if done is None or done.returncode != 0:
            raise SystemExit(done.stderr if done else "cmake takes too long")
        self.expected = {}  # exit code and time limit of every run
        self.program = self.build / "mla-testbed"
        self.unchanged = b""  # digest of the program of the unchanged sources

    def runs(self, file):
        """(name, arguments) of the runs that judge a mutant of this file."""
        run = [str(self.program), "run", "--no-progress", "--seed", self.seed]
        files = sorted((self.sources / "fixtures" / "cases").glob("*.txt"))
        if is_kernel(file):
            device = ["--cases-file", str(self.sources / "fixtures" / "cases" / "device.txt")]
            on = {arch: run + device + ["--backend", "hip", "--device", f"emulated:{arch}"]
                  for arch in ("gfx942", "gfx950")}
            return ([(f"{arch} {cases}", on[arch] + ["--cases", cases])
                     for cases in ("0", "40") for arch in on] +
                    [(f"{arch} checks", on[arch] + ["--cases", "0", CHECKS]) for arch in on])
        shipped = [word for file in files for word in ("--cases-file", str(file))]
        first = [(f"{cases} cases", run + ["--cases", cases]) for cases in FIRST_CASES]
        return first if self.short else first + [("all", run + shipped + ["--cases", "500"])]

    def make(self, limit=BUILD):
        built = command(["ninja", "-C", str(self.build), "mla-testbed"], limit)
        return built is not None and built.returncode == 0

    def baseline(self):
        """Whether the unchanged sources hold; notes how long they take."""
        if not self.make(7200):
            return False
        self.unchanged = digest(self.program)
        for name, arguments in {n: a for file in self.files for n, a in self.runs(file)}.items():
            start = time.monotonic()
            what, code = first_failure(arguments, 3600, self.sources)
            took = time.monotonic() - start
            if what.startswith("P") or what == "time" or code < 0:
                return False
            self.expected[name] = code, 60 + 10 * took
        return True

    def verdict(self, mutant):
        if not self.make():
            return "not viable"
        if digest(self.program) == self.unchanged:
            return "equivalent"
        for name, arguments in self.runs(mutant.file):
            expected, limit = self.expected[name]
            what, code = first_failure(arguments, limit, self.sources)
            if code != expected:
                return f"killed by {what} ({name})"
        return "survived"


class Both:
    """The tests of the mutant's layer, and the properties for what these do not notice."""
    name = "both"
    default = Properties.default

    def __init__(self, *arguments):
        self.judges = [Tests(*arguments), Properties(*arguments)]

    def baseline(self):
        return all(judge.baseline() for judge in self.judges)

    def verdict(self, mutant):
        tests, properties = self.judges
        noticed = tests.verdict(mutant)
        return properties.verdict(mutant) if noticed == "survived" else noticed


JUDGES = {judge.name: judge for judge in (Both, Tests, Properties)}
