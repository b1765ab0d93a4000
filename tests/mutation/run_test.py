#!/usr/bin/env python3
"""Shards of a mutation run cover its sample once for any number of them; their records make one report.
The copy of the sources that is mutated can be built.

Exit: 0 that holds, 1 it does not.
"""
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import judges  # noqa: E402
import run  # noqa: E402
import shards  # noqa: E402
from mutants import mutants_of  # noqa: E402

FILE = "core/plan/sizes.cpp"
MUTANTS = mutants_of(pathlib.Path(FILE), (run.ROOT / FILE).read_text())


class FakeJudge:
    """Notices mutants of lines that are no multiple of three."""
    name = "both"
    default = [FILE]

    def __init__(self, *_):
        pass

    def baseline(self):
        return True

    def verdict(self, mutant):
        return "survived" if mutant.line % 3 == 0 else f"killed by {mutant.line}"


class Sandbox(unittest.TestCase):
    """run.py in a folder of its own, with a judge that needs no compiler."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        source = self.folder / "source" / FILE
        source.parent.mkdir(parents=True)
        source.write_text((run.ROOT / FILE).read_text())
        self.digest = "of the sources"
        for what in (mock.patch.object(run, "WORK", self.folder),
                     mock.patch.object(run, "copy_sources", lambda: (self.folder / "source", self.digest)),
                     mock.patch.dict(run.JUDGES, {"both": FakeJudge})):
            what.start()
            self.addCleanup(what.stop)

    def call(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with mock.patch.object(sys, "argv", ["run.py", *arguments]), \
                contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run.main()
        return code, out.getvalue(), err.getvalue()

    def records(self, count, *arguments):
        name = "_".join([str(count), *arguments])
        paths = [str(self.folder / f"{name}_{i}.json") for i in range(1, count + 1)]
        for i, path in enumerate(paths, 1):
            self.call("--fresh", "--shard", f"{i}/{count}", "--record", path, *arguments)
        return paths


class Copied(unittest.TestCase):
    def test_the_copy_of_the_sources_can_be_configured(self):
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(run, "WORK", pathlib.Path(folder)):
            sources, _ = run.copy_sources()
            done = subprocess.run(
                ["cmake", "-G", "Ninja", "-S", sources, "-B", f"{folder}/build", "-DMLA_TESTS=OFF",
                 "-DMLA_BENCHMARKS=OFF", "-DHIP_BACKEND=OFF"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_digest_is_of_every_source(self):
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(run, "WORK", pathlib.Path(folder) / "copy"), \
                mock.patch.object(run, "ROOT", pathlib.Path(folder)):
            for name in ("CMakeLists.txt", "CMakePresets.json", "LICENSE"):
                (pathlib.Path(folder) / name).write_text(name)
            first = run.copy_sources()[1]
            self.assertEqual(run.copy_sources()[1], first)
            claims = pathlib.Path(folder) / "properties"
            claims.mkdir()
            (claims / "p99.cpp").write_text("")
            self.assertNotEqual(run.copy_sources()[1], first)


class Journaled(Sandbox):
    def judged(self, *arguments):
        with mock.patch.object(FakeJudge, "verdict", return_value="killed by 1") as verdict:
            self.call("--sample", "6", *arguments)
        return verdict.call_count

    def test_a_run_that_is_repeated_goes_on_where_it_ended(self):
        self.assertEqual(self.judged(), 6)
        self.assertEqual(self.judged(), 0)
        self.assertEqual(self.judged("--fresh"), 6)

    def test_verdicts_of_other_sources_are_none(self):
        self.assertEqual(self.judged(), 6)
        self.digest = "a property asks for more"
        self.assertEqual(self.judged(), 6)


class SameProgram(Sandbox):
    def test_a_mutant_that_compiles_to_the_same_program_is_equivalent_and_runs_nothing(self):
        judge = object.__new__(judges.Properties)
        judge.program = self.folder / "mla-testbed"
        judge.program.write_bytes(b"program")
        judge.unchanged = judges.digest(judge.program)
        with mock.patch.object(judge, "make", lambda: True, create=True), \
                mock.patch.object(judge, "runs", side_effect=AssertionError):
            self.assertEqual(judge.verdict(MUTANTS[0]), "equivalent")
            judge.program.write_bytes(b"another")
            self.assertRaises(AssertionError, judge.verdict, MUTANTS[0])

    def test_equivalent_mutants_are_counted_and_not_part_of_the_score(self):
        with mock.patch.object(FakeJudge, "verdict", lambda *_: "equivalent"):
            code, out, _ = self.call("--sample", "5", "--fresh")
        self.assertEqual(code, 0)
        self.assertIn("0 mutants of", out)
        self.assertIn("5 are the same program", out)


class Ended(unittest.TestCase):
    def test_a_command_that_takes_too_long_leaves_nothing_running(self):
        with tempfile.TemporaryDirectory() as folder:
            alive = pathlib.Path(folder) / "alive"
            shell = f"(sleep 3; touch {alive}) & wait"
            self.assertIsNone(judges.command(["sh", "-c", shell], limit=0.5))
            time.sleep(3.5)
            self.assertFalse(alive.exists())

    def test_a_command_that_ends_gives_its_output_and_exit_code(self):
        done = judges.command(["sh", "-c", "echo out; echo err >&2; exit 3"], limit=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "out\n", "err\n"))


class OfBoth(unittest.TestCase):
    def judged(self, tests, properties):
        """The verdict, and how often the properties were asked."""
        both = object.__new__(judges.Both)
        asked = mock.Mock(return_value=properties)
        both.judges = [mock.Mock(verdict=lambda _: tests), mock.Mock(verdict=asked)]
        return both.verdict(MUTANTS[0]), asked.call_count

    def test_the_properties_judge_what_no_test_notices(self):
        self.assertEqual(self.judged("killed by core_plan", "survived"), ("killed by core_plan", 0))
        self.assertEqual(self.judged("not viable", "survived"), ("not viable", 0))
        for properties in ("survived", "equivalent", "killed by P05 (16 cases)"):
            self.assertEqual(self.judged("survived", properties), (properties, 1))

    def test_the_tests_are_those_of_the_mutated_layer_and_the_last_killer_comes_first(self):
        tests = object.__new__(judges.Tests)
        tests.build, tests.order = pathlib.Path("build"), {}
        ran = []

        def command(arguments, **_):
            ran.append(arguments[-2] if arguments[-1] == "--abort" else None)
            failed = arguments[0].endswith("test_core_case")
            return subprocess.CompletedProcess(arguments, 1 if failed else 0)

        def programs(mutant):
            ran.clear()
            verdict = tests.verdict(mutant)
            return verdict, [pathlib.Path(one) for one in ran if one]

        folder = pathlib.Path("build", "tests", "core")
        reduce = mutants_of(pathlib.Path("cpu_backend/decode/reduce.cpp"), "if (a < b) return;\n")[0]
        kernel = mutants_of(judges.KERNELS / "decode.hip", "if (a < b) return;\n")[0]
        with mock.patch.object(judges, "command", command):
            self.assertEqual(programs(MUTANTS[0]), ("killed by core_case", [
                folder / f"test_{one}" for one in ("core_paging", "core_shape", "core_case")]))
            self.assertEqual(programs(MUTANTS[0]), ("killed by core_case", [folder / "test_core_case"]))
            self.assertEqual(programs(reduce), ("survived", [
                pathlib.Path("build", "tests", "cpu_backend", "test_cpu_backend")]))
            self.assertEqual(programs(kernel), ("survived", []))


class Listed(unittest.TestCase):
    def test_every_mutant_that_is_explained_exists(self):
        known = {}
        for e in run.Explained(run.ROOT / "fixtures" / "mutation_survivors.json").entries:
            file = e["file"]
            if file not in known:
                known[file] = {(m.code, m.old.strip(), m.text.strip())
                               for m in mutants_of(pathlib.Path(file), (run.ROOT / file).read_text())}
            self.assertIn((e["line"], e["from"], e["to"]), known[file], file)


class Union(unittest.TestCase):
    def test_shards_of_any_number_are_the_sample_without_a_mutant_twice(self):
        self.assertGreater(len(MUTANTS), 20)
        for sample in (0, 7, len(MUTANTS) + 5):
            whole = shards.choose(MUTANTS, 3, sample)
            for count in (1, 2, 3, 7, 500):
                parts = [m for i in range(count)
                         for m in shards.choose(MUTANTS, 3, sample, (i, count))]
                self.assertEqual(sorted(map(str, parts)), sorted(map(str, whole)))

    def test_shards_are_of_the_same_size_but_for_one_mutant(self):
        sizes = {len(shards.choose(MUTANTS, 3, 0, (i, 7))) for i in range(7)}
        self.assertLessEqual(max(sizes) - min(sizes), 1)

    def test_the_value_is_a_share(self):
        self.assertEqual(shards.parse_shard("2/3"), (1, 3))
        for bad in ("0/3", "4/3", "1", "a/b", "1/3/5", "-1/3", "1/0", "", "1/3\n", "01/3"):
            with self.assertRaises(shards.Refused, msg=bad):
                shards.parse_shard(bad)


class Merged(Sandbox):
    def test_records_of_any_number_of_shards_give_the_report_of_one_run(self):
        code, whole, _ = self.call("--sample", "12", "--fresh")
        self.assertEqual(code, 1)
        for count in (1, 3, 20):
            merged = self.call("--merge", *reversed(self.records(count, "--sample", "12")))
            self.assertEqual(merged[0], 1)
            self.assertEqual(sorted(merged[1].splitlines()), sorted(whole.splitlines()))

    def test_a_run_without_survivors_ends_with_0(self):
        with mock.patch.object(FakeJudge, "verdict", lambda *_: "killed by x"):
            paths = self.records(2, "--sample", "6")
        self.assertEqual(self.call("--merge", *paths)[0], 0)

    def test_a_score_of_least_is_enough(self):
        code, out, _ = self.call("--sample", "12", "--fresh")
        score = float(out.splitlines()[-1].split()[-2])
        self.assertEqual((code, 0 < score < 99), (1, True))
        paths = self.records(2, "--sample", "12")
        for arguments in (["--sample", "12"], ["--merge", *paths]):
            for least, expected in ((score - 0.1, 0), (score + 0.1, 1)):
                self.assertEqual(self.call(*arguments, "--least", str(least))[0], expected)

    def test_a_shard_that_is_missing_or_ended_early_is_named(self):
        with mock.patch.object(FakeJudge, "verdict", lambda *_: "killed by x"):
            paths = self.records(3, "--sample", "9")
        code, _, err = self.call("--merge", paths[0], paths[2])
        self.assertEqual((code, "2/3" in err), (4, True))
        cut = json.loads(pathlib.Path(paths[1]).read_text())
        cut["tally"]["killed"] -= 1
        pathlib.Path(paths[1]).write_text(json.dumps(cut))
        code, _, err = self.call("--merge", *paths)
        self.assertEqual((code, "2/3" in err), (4, True))

    def test_a_run_that_its_time_ends_says_so_and_ends_with_4(self):
        with mock.patch.object(FakeJudge, "verdict", lambda *_: "killed by x"):
            code, out, _ = self.call("--sample", "5", "--fresh", "--minutes", "1e-9")
        self.assertEqual(code, 4)
        self.assertIn("the time was over when 0 of 5 were judged", out)

    def test_records_of_another_run_are_refused(self):
        paths = self.records(2, "--sample", "6")
        for other in (self.records(2, "--sample", "5"), self.records(3, "--sample", "6"),
                      self.records(2, "--sample", "6", "--seed", "2")):
            code, _, err = self.call("--merge", paths[0], other[1])
            self.assertEqual((code, "does not belong to" in err), (2, True))
        code, _, err = self.call("--merge", paths[0], paths[0])
        self.assertEqual(code, 2)
        self.assertIn("is shard 1/2, which another file is too", err)

    def test_hostile_records_are_refused_with_a_sentence(self):
        path = pathlib.Path(self.records(1, "--sample", "3")[0])
        good = json.loads(path.read_text())
        for key, value in (("format", "x"), ("shard", [1, 1]), ("shard", [0]), ("shard", "01"),
                           ("tally", {}), ("tally", {**good["tally"], "killed": -1}), ("lines", [1]),
                           ("mutants", "9"), ("what", 1), ("chosen", None)):
            path.write_text(json.dumps({**good, key: value}))
            code, _, err = self.call("--merge", str(path))
            self.assertEqual((code, "is no record of a mutation run" in err), (2, True), (key, value))
        for text in ("", "[]", "{", "\x00\xff", json.dumps({k: good[k] for k in good if k != "what"})):
            path.write_text(text)
            self.assertEqual(self.call("--merge", str(path))[0], 2, text)
        code, _, err = self.call("--merge", str(self.folder / "none.json"))
        self.assertEqual((code, "cannot be read" in err), (2, True))

    def test_a_record_that_cannot_be_written_is_said_before_anything_is_judged(self):
        with mock.patch.object(FakeJudge, "verdict", side_effect=AssertionError):
            code, _, err = self.call("--record", str(self.folder / "none" / "r.json"))
        self.assertEqual((code, "r.json" in err), (2, True))

    def test_a_bad_share_ends_with_2(self):
        self.assertEqual(self.call("--shard", "3/2")[0], 2)


if __name__ == "__main__":
    unittest.main()
