#!/usr/bin/env python3
"""Mutation score of the metadata core: are its tests worth anything?

Changes one operator, comparison, branch or constant at a time, rebuilds what depends on it, and runs
the quick tests until one fails. A mutant that no test notices survives; its line is printed. Works on
a copy of the sources below build/mutation, never on the tree itself.

    tests/mutation/run.py                                  # 200 mutants of core/plan, shape, paging
    tests/mutation/run.py --sample 0 core/plan/v12_serial.cpp   # every mutant of one file
    tests/mutation/run.py --sample 0 core/plan/sizes.cpp:66     # of one line
    tests/mutation/run.py --seed 2 --sample 50 core/paging

Exit: 0 all killed, 1 some survived, 2 usage, 3 the unchanged sources do not pass.
"""
import argparse
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutation"
DEFAULT = ["core/plan", "core/shape", "core/paging"]
# Quick ones first.
TESTS = ["core_paging", "core_shape", "core_case", "core_plan_check", "core_builder", "core_plan",
         "core_allocation", "core_random_walk", "core_plan_golden", "core_plan_exhaustive"]
# Operators with blanks around them, so that templates, references and includes stay as they are.
SWAPS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "),
         (" != ", " == "), (" && ", " || "), (" || ", " && "), (" + ", " - "), (" - ", " + "),
         (" * ", " + "), (" / ", " * "), (" % ", " / "), (" += ", " -= "), (" -= ", " += "),
         ("++", "--"), ("true", "false"), ("false", "true"), ("std::min", "std::max"),
         ("std::max", "std::min"), (" 0)", " 1)"), (" 1)", " 2)"), (" + 1", " + 2"),
         (" - 1", " - 2"), ("continue;", "break;")]
SKIP = re.compile(r'^\s*(//|#|template|static_assert|using|namespace)|assert\(|"|\boperator\b')


class Mutant:
    def __init__(self, file, line, begin, end, text):
        self.file, self.line, self.begin, self.end, self.text = file, line, begin, end, text

    def apply(self, source):
        return source[: self.begin] + self.text + source[self.end :]


def mutants_of(file, source):
    """Every place of a file where one token may become another."""
    out, at = [], 0
    for number, line in enumerate(source.splitlines(keepends=True), 1):
        code = line.split("//")[0]
        if not SKIP.search(line):
            for old, new in SWAPS:
                for found in re.finditer(re.escape(old), code):
                    begin = at + found.start()
                    out.append(Mutant(file, number, begin, begin + len(old), new))
            branch = re.search(r"\bif \((?!auto|const|Status)(.*)\)( .*|\s*)$", code)
            if branch and branch.group(1).count("(") == branch.group(1).count(")"):
                begin, end = at + branch.start(1), at + branch.end(1)
                out.append(Mutant(file, number, begin, end, f"!({branch.group(1)})"))
        at += len(line)
    return out


def command(arguments, limit=600):
    try:
        return subprocess.run(arguments, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None


def copy_sources():
    """Brings the copy up to date. A file that differs is newer than every object: a run that was
    interrupted leaves a mutant behind, and its object with it."""
    sources = WORK / "source"
    folders = ["core", "cpu_backend", "hip_backend", "properties", "tests", "fixtures"]
    wanted = {"CMakeLists.txt"}
    for folder in folders:
        wanted |= {str(p.relative_to(ROOT)) for p in (ROOT / folder).rglob("*") if p.is_file()}
    for name in sorted(wanted):
        copy = sources / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.is_file() or copy.read_bytes() != (ROOT / name).read_bytes():
            shutil.copyfile(ROOT / name, copy)
    for folder in folders:
        for path in (sources / folder).rglob("*"):
            if path.is_file() and str(path.relative_to(sources)) not in wanted:
                path.unlink()
    return sources


def configure(sources, build):
    done = command(["cmake", "-G", "Ninja", "-S", str(sources), "-B", str(build),
                    "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
                    "-DMLA_WERROR=OFF", "-DMLA_BENCHMARKS=OFF", "-DHIP_BACKEND=OFF"])
    if done is None or done.returncode != 0:
        sys.exit(done.stderr if done else "cmake takes too long")


def verdict(build, tests):
    """'killed by <test>', 'not viable' or 'survived'. The test that kills moves to the front."""
    for test in list(tests):
        built = command(["ninja", "-C", str(build), f"test_{test}"])
        if built is None or built.returncode != 0:
            return "not viable"
        ran = command([str(build / "tests" / "core" / f"test_{test}"), "--abort"], limit=60)
        if ran is None or ran.returncode != 0:
            tests.remove(test)
            tests.insert(0, test)
            return f"killed by {test}" + (" (time)" if ran is None else "")
    return "survived"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", default=DEFAULT,
                        help="files, lines of files, or folders below the root")
    parser.add_argument("--sample", type=int, default=200, help="so many mutants; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=0, help="stop after so long; 0: never")
    arguments = parser.parse_args()
    files, lines = [], {}
    for path in arguments.paths:
        path, _, line = path.partition(":")
        target = ROOT / path
        if line:
            lines.setdefault(pathlib.Path(path), set()).add(int(line))
        if not target.exists():
            print(f"there is no '{path}'", file=sys.stderr)
            return 2
        files += [target] if target.is_file() else sorted(target.rglob("*.[ch]pp"))
    sources, build = copy_sources(), WORK / "build"
    configure(sources, build)
    if verdict(build, TESTS) != "survived":
        print("the unchanged sources do not pass their tests", file=sys.stderr)
        return 3
    all_mutants = []
    for file in dict.fromkeys(files):
        relative = file.relative_to(ROOT)
        found = mutants_of(relative, (sources / relative).read_text())
        all_mutants += [m for m in found if m.line in lines.get(relative, {m.line})]
    chosen = list(all_mutants)
    random.Random(arguments.seed).shuffle(chosen)
    if arguments.sample > 0:
        chosen = chosen[: arguments.sample]
    start, tally = time.monotonic(), {"killed": 0, "survived": 0, "not viable": 0}
    order = {}  # of the tests, for each file: what killed its last mutant kills the next one
    for count, mutant in enumerate(chosen, 1):
        if arguments.minutes and time.monotonic() - start > 60 * arguments.minutes:
            break
        path = sources / mutant.file
        original = path.read_text()
        path.write_text(mutant.apply(original))
        try:
            result = verdict(build, order.setdefault(mutant.file, list(TESTS)))
        finally:
            path.write_text(original)
        tally[result if result in tally else "killed"] += 1
        line = original.splitlines()[mutant.line - 1].strip()
        old = original[mutant.begin : mutant.end].strip()
        if result == "survived":
            print(f"SURVIVED {mutant.file}:{mutant.line}: '{old}' -> '{mutant.text.strip()}' in {line}",
                  flush=True)
        print(f"{count}/{len(chosen)} {result}: {mutant.file}:{mutant.line}", file=sys.stderr,
              flush=True)
    judged = tally["killed"] + tally["survived"]
    score = 100 * tally["killed"] / judged if judged else 0
    print(f"{judged} mutants of {len(all_mutants)} judged, {tally['not viable']} did not compile: "
          f"{tally['killed']} killed, {tally['survived']} survived, score {score:.1f} %")
    return 1 if tally["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
