"""AITER's history: commits of a range, what is taken out of git, changes, halving."""

import subprocess

import pytest

torch = pytest.importorskip("torch", reason="AITER's tests need torch, which is not installed")

from mla_testbed import aiter_command, aiter_history  # noqa: E402
from mla_testbed.aiter.suite.tests import TESTS  # noqa: E402

TEST = next(test for test in TESTS if test.name == "mla_reduce")


@pytest.fixture
def clone(tmp_path):
    """Five commits: the second touches no watched file, the fifth has the files of the third."""
    root = tmp_path / "clone"
    root.mkdir()

    def git(*words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", root, *words],
                       check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    for number, (file, text) in enumerate([("aiter/mla.py", "one"), ("docs/page", "x"),
                                           ("csrc/kernels/mla/reduce.cu", "two"),
                                           ("aiter/mla.py", "three"), ("aiter/mla.py", "one")]):
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        git("add", "-A")
        git("commit", "-q", "-m", f"number {number}")
        git("tag", f"v{number}")
    return root


def test_a_range_has_its_begin_and_the_commits_that_touch_the_mla(clone):
    found = aiter_history.commits(clone, "v0..v4")
    assert [commit.title for commit in found] == ["number 0", "number 2", "number 3", "number 4"]
    keys = [commit.key for commit in found]
    assert keys[1] == keys[3]
    assert len(set(keys)) == 3
    assert aiter_history.commits(clone, "v0..")[-1].title == "number 4"


def test_what_is_taken_out_is_of_the_commit_and_of_the_mla(clone, tmp_path):
    commit = aiter_history.commits(clone, "v2..v3")[0]
    aiter_history.take_out(clone, commit, tmp_path / "out")
    assert (tmp_path / "out" / "aiter" / "mla.py").read_text() == "one"
    assert (tmp_path / "out" / "csrc" / "kernels" / "mla" / "reduce.cu").read_text() == "two"
    assert not (tmp_path / "out" / "docs").exists()


@pytest.mark.parametrize(("span", "said"), [("v1", "no range"), ("..v1", "no range"),
                                            ("v0..v9", "v9"), ("nothing..v1", "nothing")])
def test_what_is_no_range_of_the_clone_is_named(clone, span, said, capsys):
    code = aiter_command.main(["judge", "--aiter", str(clone), "--test", "mla_reduce", "--rev",
                               span])
    assert code == aiter_command.ENVIRONMENT
    assert said in capsys.readouterr().err


def test_an_unknown_test_is_named(clone, capsys):
    words = ["judge", "--aiter", str(clone), "--test", "mla_x", "--rev", "v0..v1"]
    assert aiter_command.main(words) == 2
    assert "mla_x" in capsys.readouterr().err


def judge_of(verdicts):
    asked = []

    def judge(commit, test):
        asked.append(commit.title)
        return aiter_history.Verdict(verdicts[commit.title], f"{test.name} said so")

    return judge, asked


def test_a_walk_marks_changes_and_counts_those_for_the_worse(clone):
    found = aiter_history.commits(clone, "v0..v4")
    judge, _ = judge_of({"number 0": "pass", "number 2": "fail", "number 3": "pass",
                         "number 4": "inconclusive"})
    said = []
    assert aiter_history.walk(found, [TEST], judge, said.append) == 2
    assert sum("<- was" in line for line in said) == 3
    assert any("fail" in line and "<- was pass" in line for line in said)


def test_a_case_that_is_not_taken_any_more_is_worse(clone):
    found = aiter_history.commits(clone, "v0..v2")
    judge, _ = judge_of({"number 0": "pass", "number 2": aiter_history.REFUSED})
    assert aiter_history.walk(found, [TEST], judge, lambda line: None) == 1


def test_halving_finds_the_first_commit_with_another_verdict_and_asks_few(clone):
    found = [aiter_history.Commit(str(n), "", f"number {n}", str(n)) for n in range(100)]
    for first in (1, 37, 99):
        judge, asked = judge_of({f"number {n}": "pass" if n < first else "fail"
                                 for n in range(100)})
        wrong = aiter_history.bisect(found, TEST, judge, lambda line: None)
        assert wrong is not None
        assert wrong.title == f"number {first}"
        assert len(asked) <= 10
    judge, _ = judge_of({f"number {n}": "pass" for n in range(100)})
    assert aiter_history.bisect(found, TEST, judge, lambda line: None) is None


def test_a_verdict_is_kept_by_what_the_commit_holds_and_one_out_of_time_is_not(
        clone, tmp_path, monkeypatch):
    monkeypatch.setenv("MLA_TESTBED_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(aiter_history.cache, "stand_in", lambda: "this one")
    ran = []

    def run(test, plan, known):  # noqa: ARG001 the runner's parameters
        ran.append((plan.tree / "aiter" / "mla.py").read_text())
        return aiter_history.runner.Outcome(test.name, plan.arch, plan.backend, "pass", reason[0])

    reason = ["time-out"]
    monkeypatch.setattr(aiter_history.runner, "run", run)
    found = aiter_history.commits(clone, "v0..v4")
    suite = aiter_history.Suite(clone, "gfx942", 2)
    for text in ("time-out", "", ""):
        reason[0] = text
        assert suite(found[1], TEST).verdict == "pass"
    assert suite(found[3], TEST).verdict == "pass"  # the same files
    assert ran == ["one", "one"]
    assert suite(found[2], TEST).verdict == "pass"
    assert ran[-1] == "three"
