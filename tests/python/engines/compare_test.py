"""mla-testbed-engines compare: two commits of an engine of our own."""

import json
import os
import re
import shlex
import signal
import subprocess
import time

import pytest

pytest.importorskip("torch", reason="aiter compare, which this shares, needs torch")

from compare_repository import COMMAND, ENGINE, Repository  # noqa: E402

ROWS = "            qo[row + 1] = qo[row] + rows"


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "repository")


def replay(words):
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, timeout=300,
                          check=False)


def test_a_defect_is_worse_and_its_command_shows_it_over_the_head_alone(repository, tmp_path):
    repository.commit("three rows become four", ROWS, f"{ROWS} + (rows > 2)")
    done = repository.compare("--report-md", tmp_path / "page.md", "--json", tmp_path / "told.json",
                              code=1, cases=24)
    lines = done.stdout.splitlines()
    worse = [line for line in lines if line.startswith("WORSE")]
    assert lines[4] == worse[0]  # before other changes
    assert [re.match(r"WORSE gfx942 mla1:1q3s4;heads=16;block=1;", line) is not None
            for line in worse] == [True]
    at = lines.index(worse[0])
    assert lines[at + 1] == \
        "  P04 fails: step 0: seqlens_qo_indptr gives request 0 4 rows; expected 3"
    assert re.match(r"  (\d+) cases, the first drawn as mla1:", lines[at + 2])
    words = shlex.split(lines[at + 3].removeprefix("REPRO: mla-testbed-engines "))
    again = replay(words)
    assert again.returncode == 1
    assert again.stdout.startswith(f"FAIL P04 {worse[0].split()[2]}")
    assert f"REPRO: mla-testbed-engines {shlex.join(words)}" in again.stdout
    before = [*words[:-1], repository.git("rev-parse", "HEAD~1")]
    assert replay(before).returncode == 0
    assert re.search(r"^other gfx942 .*\n  another plan: step 0: seqlens_qo_indptr\[\d\] is",
                     done.stdout, re.MULTILINE)
    page = (tmp_path / "page.md").read_text()
    assert "| **worse** | gfx942 | `mla1:1q3s4;" in page
    assert f"    {lines[at + 3]}" in page.splitlines()
    told = json.loads((tmp_path / "told.json").read_text())
    assert told["worse"]
    assert told["files"] == ["fake_engine.py"]
    assert [one["case"] for one in told["changes"] if one["worse"]] == [worse[0].split()[2]]


def test_a_repair_is_no_worse_and_the_same_commit_is_no_change(repository):
    repository.plant("WrongPage")
    repository.undo()
    done = repository.compare(code=0)
    assert "P01 holds, and did not" in done.stdout
    assert "WORSE" not in done.stdout
    done = repository.compare(code=0, base="HEAD")
    assert "0 files of the MLA differ" in done.stdout
    assert "12 cases on each side, 0 answers changed, 0 for the worse" in done.stdout


def test_another_number_of_the_plan_is_told_and_is_not_worse(repository):
    repository.commit("granularity", '"kv_granularity": 16', '"kv_granularity": 32')
    done = repository.compare(code=0)
    assert "another plan: step 0: kv_granularity[0] is 32, was 16 (1 of 1 differ)" in done.stdout


def test_changed_lines_that_no_case_runs_are_named_and_alone_nothing_was_judged(repository):
    repository.commit("never called", "def __getattr__",
                      "def never():\n    return 1\n\n\ndef __getattr__")
    done = repository.compare(code=4)
    assert "NOT JUDGED: no case runs what changed in fake_engine.py\n" in done.stdout
    repository.commit("one of two", "    return 1", "    return 2")
    repository.text = repository.text.replace(ROWS, f"{ROWS} + 0")
    repository.write("fake_engine.py", repository.text, "the other")
    line = next(number for number, text in enumerate(repository.text.splitlines(), 1)
                if text == "    return 2")
    done = repository.compare(code=0, base="HEAD~2")
    assert f"NOT JUDGED: no case runs fake_engine.py:{line}\n" in done.stdout


def test_a_head_that_refuses_what_held_is_worse_and_what_failed_is_not_judged(repository):
    repository.plant("RefusesAll")
    done = repository.compare(code=1)
    assert "the case held, and is not judged now: refused: the fake engine takes no" in done.stdout
    assert "NOT JUDGED: 12 cases over the head alone, such as mla1:" in done.stdout
    repository.undo()
    repository.plant("WrongPage")
    repository.commit("refuses too", 'if self.plant == "RefusesAll"', "if True")
    done = repository.compare(code=4)
    assert "WORSE" not in done.stdout
    assert "P01 failed, and is not judged now: refused: the fake engine" in done.stdout


@pytest.mark.parametrize(("old", "new", "said"), [
    ("class FakeEngine:", "class FakeEngine", "SyntaxError"),
    ("import mla_testbed\n", "import mla_testbed\nimport not_there_at_all\n", "not_there_at_all")])
def test_a_head_that_cannot_be_imported_is_worse_in_one_line(repository, old, new, said):
    repository.commit("broken", old, new)
    done = repository.compare(code=1)
    worse = re.findall(r"^WORSE .*\n  (.*)", done.stdout, re.MULTILINE)
    assert len(worse) == 1
    assert worse[0].startswith("the case held, and is not judged now: inconclusive: engine")
    assert said in worse[0]
    done = repository.compare(code=4, base="HEAD")
    assert "12 cases are refused, or not judged, over both" in done.stdout


def test_what_is_executed_is_compared_and_executing_less_is_worse(repository):
    repository.plant("NanResult")
    done = repository.compare(code=1)
    assert re.search(r"^  P05 fails: step 0: .*\n  3 cases", done.stdout, re.MULTILINE)
    assert "P05" not in repository.compare("--attend", 0, code=0).stdout
    repository.undo()
    repository.plant("NoAttention")
    done = repository.compare(code=1)
    assert "P05 held, and is not judged now: nothing of the case is attended" in done.stdout


def test_a_process_that_ends_fails_and_one_that_hangs_is_not_judged(repository, tmp_path):
    repository.plant("Dies")
    done = repository.compare(code=1, cases=2)
    assert "P28 fails: step 0: the process of fake_engine:Sound ended with SIGSEGV" in done.stdout
    repository.undo()
    once = tmp_path / "once"
    repository.commit("hangs once", "    def _misbehave(self) -> None:\n", (
        "    def _misbehave(self) -> None:\n"
        f"        if not os.path.exists('{once}'):\n"
        f"            open('{once}', 'w').close()\n            time.sleep(60)\n"))
    done = repository.compare("--timeout", "2s", code=0, cases=2)
    assert once.exists()  # what took too long is asked a second time
    assert "0 answers changed" in done.stdout
    repository.undo()
    repository.plant("Hangs")
    done = repository.compare("--timeout", "1s", code=1, cases=1)
    assert "is not judged now: inconclusive: took longer than 1 s" in done.stdout


def test_an_answer_is_kept_for_the_same_package_and_asked_anew_for_another(repository, tmp_path):
    started = tmp_path / "started"
    repository.commit("counts", 'if plant == "NotHere":',
                      f'open("{started}", "a").write("x")\n        if plant == "NotHere":')
    repository.write("README", "of no package", "elsewhere")

    def starts(*arguments, code=0):
        started.write_text("")
        told = repository.compare(*arguments, code=code, cases=4).stdout
        return len(started.read_text()), told.partition("\n")[2]

    assert starts()[0] == 1  # both commits have the same package
    assert starts() == (0, starts()[1])
    assert starts("--attend", 2)[0] == 1
    assert starts("--late-copies")[0] == 1
    repository.plant("WrongPage")
    assert starts(code=1)[0] >= 1
    assert starts(code=1)[0] >= 1  # a failure is made smaller anew
    repository.commit("missing", 'if plant == "NotHere":',
                      "if True:")
    assert starts(code=4)[0] == starts(code=4)[0] == 1  # what is inconclusive is not kept


@pytest.mark.parametrize(("words", "code", "said"), [
    (("--head", "none"), 3, "'none'"), (("--src", "."), 3, "git "),
    (("--cases", 0), 2, "there is no case to judge"), (("--report-md", "."), 2, "--report-md '.'"),
    (("--json", "/nowhere/x"), 2, "--json '/nowhere/x' cannot be written"),
    (("--cases-file", "none"), 2, "--cases-file 'none' cannot be read"),
    (("--engine", "no_such_module:X"), 3, "has no no_such_module"),
    (("--kind", "sparse", "--engine", "atom"), 3, "has no atom"),
    (("--cases-file", os.devnull), 2, "there is no case to judge")])
def test_what_is_asked_wrongly_is_one_sentence(repository, tmp_path, words, code, said):
    done = subprocess.run(
        [*COMMAND, "compare", "--engine", ENGINE, "--src", str(repository.place), "--base", "HEAD",
         *map(str, words)], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert done.stderr.startswith("mla-testbed-engines: ")
    assert done.stderr.count("\n") == 1


def test_replay_judges_a_working_tree_as_it_lies(repository, tmp_path):
    repository.plant("WrongPage")
    words = ["replay", "mla1:1q1s9", "--engine", ENGINE, "--src", str(repository.place)]
    failed = replay(words)
    assert failed.returncode == 1
    assert f"--src {repository.place}\n" in failed.stdout
    assert replay([*words, "--rev", "HEAD~1"]).returncode == 0
    (repository.place / "fake_engine.py").write_text(
        repository.text.replace('self.plant = "WrongPage"', "pass"))
    assert replay(words).returncode == 0
    wrong = replay(["replay", "mla1:1q1s9", "--engine", ENGINE, "--src", str(tmp_path)])
    assert (wrong.returncode, wrong.stderr) == (2, (
        f"mla-testbed-engines: --src '{tmp_path}' is no source tree of the engine: it has no "
        "fake_engine\n"))
    wrong = replay(["replay", "mla1:1q1s9", "--engine", ENGINE, "--rev", "HEAD"])
    assert wrong.returncode == 2
    assert "--rev 'HEAD' is a commit of the repository that --src names" in wrong.stderr


def test_an_interrupt_ends_it_and_leaves_no_process_and_no_folder(repository, tmp_path):
    hanging = tmp_path / "hanging"
    repository.commit("hangs", "    def _misbehave(self) -> None:\n", (
        "    def _misbehave(self) -> None:\n"
        f"        with open('{hanging}', 'w') as told:\n            told.write(str(os.getpid()))\n"
        "        time.sleep(3600)\n"))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        [*COMMAND, "compare", "--engine", ENGINE, "--src", str(repository.place), "--base",
         "HEAD~1", "--cases", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(scratch), "MLA_TESTBED_CACHE": str(tmp_path / "cache")})
    until = time.monotonic() + 120
    while not (hanging.exists() and hanging.read_text()) and time.monotonic() < until:
        time.sleep(0.2)
    process.send_signal(signal.SIGTERM)  # SIGINT may be ignored here
    _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (4, "interrupted\n")
    assert list(scratch.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int(hanging.read_text()), 0)
