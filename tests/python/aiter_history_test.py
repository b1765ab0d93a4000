"""AITER's history: commits of a range, what is taken out of git, changes, halving."""

import os
import pathlib
import subprocess

import pytest

torch = pytest.importorskip("torch", reason="AITER's tests need torch, which is not installed")

from mla_testbed import aiter_command, aiter_history, aiter_kept, aiter_questions  # noqa: E402
from mla_testbed.aiter.suite.tests import TESTS  # noqa: E402
from mla_testbed.aiter_cases import CaseLine  # noqa: E402
from mla_testbed.errors import MlaError  # noqa: E402

TEST = next(test for test in TESTS if test.name == "mla_reduce")


@pytest.fixture
def clone(tmp_path):
    """Seven commits: the second is of no part of AITER, the fifth has the files of the third, and
    the last two are not of the MLA."""
    root = tmp_path / "clone"
    root.mkdir()

    def git(*words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", root, *words],
                       check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    for number, (file, text) in enumerate([("aiter/mla.py", "one"), ("docs/page", "x"),
                                           ("csrc/kernels/mla/reduce.cu", "two"),
                                           ("aiter/mla.py", "three"), ("aiter/mla.py", "one"),
                                           ("aiter/tuning.py", "x"), ("csrc/page.md", "x")]):
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        git("add", "-A")
        git("commit", "-q", "-m", f"number {number}")
        git("tag", f"v{number}")
    return root


@pytest.mark.parametrize(("span", "numbers"), [("v0..v4", [0, 2, 3, 4]), ("v0..v1", [0, 1]),
                                               ("v2..", [2, 3, 4, 6]), ("v4..v4", [4])])
def test_a_range_has_both_ends_and_the_commits_that_touch_the_mla(clone, span, numbers):
    found = aiter_history.commits(clone, span)
    assert [commit.title for commit in found] == [f"number {n}" for n in numbers]


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
    found = [aiter_history.Commit(str(n), "", f"number {n}") for n in range(100)]
    for first in (1, 37, 99):
        judge, asked = judge_of({f"number {n}": "pass" if n < first else "fail"
                                 for n in range(100)})
        wrong = aiter_history.bisect(found, TEST, judge, lambda line: None)
        assert [one.title for one in wrong] == [f"number {first - 1}", f"number {first}"]
        assert len(asked) <= 10
    judge, _ = judge_of({f"number {n}": "pass" for n in range(100)})
    assert aiter_history.bisect(found, TEST, judge, lambda line: None) == []


@pytest.mark.parametrize("end", [0, 6])
def test_an_end_without_a_verdict_ends_the_halving(clone, end):
    judge, asked = judge_of({f"number {n}": "inconclusive" if n == end else "pass"
                             for n in range(7)})
    with pytest.raises(MlaError, match="has no verdict"):
        aiter_history.first_changed(clone, "v0..v6", TEST, judge, lambda line: None)
    assert asked == ["number 0", "number 6"]


def test_a_test_has_no_properties(clone, capsys):
    words = ["bisect", "--aiter", str(clone), "--test", "mla_reduce", "--property", "P05", "--good",
             "v0", "--bad", "v1"]
    assert aiter_command.main(words) == 2
    assert "--property is of a case" in capsys.readouterr().err


@pytest.mark.parametrize("first", [2, 5, 6])
def test_the_commit_that_changed_a_verdict_is_found_though_it_is_none_of_the_mla(clone, first):
    judge, _ = judge_of({f"number {n}": "pass" if n < first else "fail" for n in range(7)})
    found = aiter_history.first_changed(clone, "v0..v6", TEST, judge, lambda line: None)
    assert [one.title for one in found] == [f"number {first}"]


@pytest.mark.parametrize("first", [2, 5, 6])
def test_halving_twice_says_the_verdict_of_each_commit_once(clone, first):
    judge, _ = judge_of({f"number {n}": "pass" if n < first else "fail" for n in range(7)})
    lines = []
    aiter_history.first_changed(clone, "v0..v6", TEST, judge, lines.append)
    assert len(lines) == len(set(lines)) > 2


@pytest.mark.parametrize("first", range(1, 12))
def test_a_commit_without_a_verdict_is_not_named_unless_it_may_be_the_one(first):
    found = [aiter_history.Commit(str(n), "", f"number {n}") for n in range(12)]
    without = {3, 4, 5, 8}
    judge, asked = judge_of({f"number {n}": "inconclusive" if n in without and n != first
                             else "pass" if n < first else "fail" for n in range(12)})
    between = aiter_history.bisect(found, TEST, judge, lambda line: None)
    before = max(n for n in range(first) if n not in without)
    assert [int(one.id) for one in between] == list(range(before, first + 1))
    assert len(asked) == len(set(asked))


def test_several_commits_that_may_be_the_one_are_all_named_and_undecided(
        clone, monkeypatch, capsys):
    judge, _ = judge_of({f"number {n}": said for n, said in enumerate(
        ("pass", "pass", "inconclusive", "fail", "fail", "fail", "fail"))})
    monkeypatch.setattr(aiter_command, "Questions", lambda *_: judge)
    words = ["bisect", "--aiter", str(clone), "--test", "mla_reduce", "--good", "v0", "--bad", "v6"]
    assert aiter_command.main(words) == aiter_command.UNDECIDED
    said = capsys.readouterr().out
    assert "one of these" in said
    assert said.rstrip().endswith("number 3")
    assert "number 2\n" in said


@pytest.fixture
def questions(clone, tmp_path, monkeypatch):
    """Questions whose answers come from a list: of a test, and of a case that uses one file."""
    monkeypatch.setenv("MLA_TESTBED_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(aiter_kept, "judge", lambda: "this one")
    verdicts = []

    def run(test, plan, known):  # noqa: ARG001 the runner's parameters
        assert (plan.tree / "aiter" / "mla.py").exists()
        return aiter_questions.runner.Outcome(test.name, plan.arch, plan.backend, verdicts.pop(0))

    def case(tree, arch, line, timeout):  # noqa: ARG001 its parameters
        folder = pathlib.Path(os.environ["MLA_TESTBED_READ"])
        (folder / "1").write_text("aiter/mla.py\n")
        return aiter_history.Verdict(verdicts.pop(0), "")

    monkeypatch.setattr(aiter_questions.runner, "run", run)
    monkeypatch.setattr(aiter_questions, "case_verdict", case)
    return lambda: aiter_questions.Questions(clone, "gfx942", 2), verdicts


@pytest.mark.parametrize("asked", [TEST, CaseLine("mla1:1q1s1")])
def test_a_verdict_is_kept_and_an_inconclusive_one_is_not(clone, questions, asked):
    make, verdicts = questions
    found = aiter_history.commits(clone, "v0..v4")
    verdicts += ["inconclusive", "pass", "fail"]
    first = make()
    said = [judge(commit, asked).verdict for judge, commit in (
        (first, found[1]), (first, found[1]), (make(), found[1]), (make(), found[1]),
        (make(), found[3]), (make(), found[2]))]
    assert said == ["inconclusive", "inconclusive", "pass", "pass", "pass", "fail"]


def test_a_case_is_judged_anew_for_what_it_used_and_a_test_for_all_that_is_taken_out(
        clone, questions):
    make, verdicts = questions
    judge = make()
    last = [aiter_history.commit_of(clone, f"v{n}") for n in (4, 5, 6)]
    verdicts += ["pass", "refused"]
    assert [judge(commit, CaseLine("mla1:1q1s1")).verdict for commit in last] == ["pass"] * 3
    assert [judge(commit, CaseLine("mla1:1q1s1", "P31")).verdict
            for commit in last] == ["refused"] * 3
    verdicts += ["pass", "fail", "known-fail"]
    assert [judge(commit, TEST).verdict for commit in last] == ["pass", "fail", "known-fail"]
    assert not verdicts


def test_the_judges_sum_is_another_where_its_code_or_its_facts_are_others(tmp_path, monkeypatch):
    files = {name: tmp_path / name for name in ("run.py", "facts.json", "command", "library")}
    for file in files.values():
        file.write_text("before")
    files["command"].chmod(0o755)
    monkeypatch.setattr(aiter_kept, "__file__", str(files["run.py"]))
    monkeypatch.setattr(aiter_kept._library, "library_path", lambda: files["library"])
    monkeypatch.setattr(aiter_kept.cache, "stand_in", lambda: "one")
    monkeypatch.setenv("MLA_TESTBED_COMMAND", str(files["command"]))
    sum_of = aiter_kept.judge.__wrapped__
    sums = [sum_of()]
    assert sum_of() == sums[0]
    for file in files.values():
        file.write_text("after")
        sums.append(sum_of())
    assert len(set(sums)) == 5


@pytest.mark.parametrize(("words", "arch"), [
    (["mla1:1q1s9;arch=gfx950"], "gfx950"), (["mla1:1q1s9"], "gfx942"),
    (["mla1:1q1s9", "--arch", "gfx950"], "gfx950"), (["--test", "mla_reduce"], "gfx942")])
def test_bisect_asks_on_the_architecture_of_its_case(monkeypatch, tmp_path, words, arch):
    asked = []
    monkeypatch.setattr(aiter_command, "Questions", lambda _, named, __: asked.append(named))
    monkeypatch.setattr(aiter_command, "first_changed", lambda *_: [])
    line = ["bisect", "--aiter", str(tmp_path), "--good", "a", "--bad", "b", *words]
    assert aiter_command.main(line) == 0
    assert asked == [arch]


def test_bisect_refuses_a_case_of_another_architecture_than_the_one_that_is_named(capsys, tmp_path):
    line = ["bisect", "--aiter", str(tmp_path), "--good", "a", "--bad", "b", "--arch", "gfx942",
            "mla1:1q1s9;arch=gfx950"]
    assert aiter_command.main(line) == aiter_command.USAGE
    assert "the case names another architecture, and --arch is gfx942" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["--output=out", "-p", "--all"])
def test_a_commit_that_is_named_like_an_option_is_none(clone, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    for ask in (lambda: aiter_history.commit_of(clone, name),
                lambda: aiter_history.commits(clone, f"{name}..HEAD")):
        with pytest.raises(aiter_history.HistoryError, match="bad revision|is no commit of"):
            ask()
    assert not list(tmp_path.rglob("out*"))
