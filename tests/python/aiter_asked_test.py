"""mla-testbed aiter, asked wrongly, and ended early: one sentence, never the 1 of "worse"."""

import json
import os
import signal
import subprocess
import sys
import time
import types

import pytest

pytest.importorskip("torch", reason="AITER's suite needs torch, which is not installed")

from mla_testbed import (  # noqa: E402
    aiter_calls,
    aiter_cases,
    aiter_command,
    aiter_compare,
    aiter_comparison,
    aiter_history,
)
from mla_testbed.aiter_cases import Judged  # noqa: E402
from mla_testbed.aiter_changes import Kind  # noqa: E402
from mla_testbed.aiter_history import Commit  # noqa: E402
from mla_testbed.errors import MlaError  # noqa: E402

LINE = "mla1:1q1s9;heads=16;cu=4;arch=gfx942"
USAGE, ENVIRONMENT, UNDECIDED = 2, 3, 4


@pytest.fixture
def git(tmp_path, monkeypatch):
    """git in a clone of three commits, of which `side` is beside `two`."""
    monkeypatch.setenv("MLA_TESTBED_CACHE", str(tmp_path / "cache"))
    place = tmp_path / "clone"
    place.mkdir()

    def call(*words):
        subprocess.run(["git", "-C", place, "-c", "user.name=a", "-c", "user.email=a@b", *words],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    call("init", "-q", "-b", "main")
    (place / "aiter").mkdir()
    for name in ("one", "two", "side"):
        if name == "side":
            call("checkout", "-q", "one")
        (place / "aiter/mla.py").write_text(name)
        call("add", ".")
        call("commit", "-q", "-m", name)
        call("tag", name)
    return call


@pytest.fixture
def clone(git, tmp_path):  # noqa: ARG001 makes it
    return tmp_path / "clone"


def run(capsys, *words):
    code = aiter_command.main([str(word) for word in words])
    return code, capsys.readouterr().err.replace("mla-testbed aiter: ", "", 1)


def compare(capsys, clone, *words, base="one", head="two"):
    return run(capsys, "compare", "--aiter", clone, "--base", base, "--head", head, *words)


def test_what_is_missing_or_asked_wrongly_is_one_sentence(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv("AITER_SRC", raising=False)
    assert run(capsys, "judge", "--rev", "A..B") == (
        ENVIRONMENT, "--aiter or AITER_SRC names a git clone of AITER\n")
    place = ("--aiter", tmp_path)
    assert run(capsys, "bisect", "--good", "A", "--bad", "B", *place) == (
        USAGE, "bisect takes a case or --test NAME\n")
    code, error = run(capsys, "judge", "--rev", "A..B", "--test", "none", *place)
    assert code == USAGE
    assert "no test 'none'" in error
    code, error = compare(capsys, tmp_path)
    assert code == ENVIRONMENT
    assert "not a git repository" in error


@pytest.mark.parametrize(("text", "why"), [
    (b"# nothing\n", "'{}' has no case\n"),
    (b"ok\xff\xfe", "'{}' is no text in UTF-8: byte 2 is 0xff\n"),
    (b"mla1:1q1s9\0", "a NUL is in 'mla1:1q1s9\\x00;arch=gfx942'\n"),
    (b"--help arch=gfx942", "'--help arch=gfx942' is no case\n"),
    (b"hello", "mla-testbed plan: case field 'version' has value 'hello;arch=gfx942': expected "
               "mla1:<requests>;<fields>\n")])
def test_a_file_of_cases_that_has_none_is_named(capsys, clone, tmp_path, text, why):
    file = tmp_path / "cases.txt"
    file.write_bytes(text)
    assert compare(capsys, clone, "--arch", "gfx942", "--cases", file) == (
        USAGE, why.format(file))


def test_a_file_of_cases_may_begin_with_a_byte_order_mark_and_has_each_case_once(
        clone, tmp_path, monkeypatch):
    asked = []

    def judge(_, __, cases):
        asked.extend(cases)
        return dict.fromkeys(cases, Judged({}, {}, {}))

    monkeypatch.setattr(aiter_compare, "judge_tree", judge)
    file = tmp_path / "cases.txt"
    file.write_bytes(f"\ufeff{LINE}\r\n  {LINE}\n".encode())
    told = aiter_command._cases(file)
    assert told == (LINE, LINE)
    found = aiter_compare.compare(clone, *(aiter_history.commit_of(clone, name) for name in (
        "one", "two")), {"gfx942": told})
    assert found.cases == 1
    assert len(asked) == 2


@pytest.mark.parametrize("name", ["", "nothing", "one..two", "one:aiter", "one^{tree}", "--all",
                                  "HEAD~9", "one\ttwo"])
def test_what_is_no_commit_is_named(capsys, clone, name):
    for which in ("base", "head"):
        assert run(capsys, "compare", "--aiter", clone, f"--{which}={name}",
                   f"--{'head' if which == 'base' else 'base'}=one") == (
            ENVIRONMENT, f"'{name}' is no commit of '{clone}'\n")


def test_a_shallow_clone_says_that_it_is(capsys, clone, tmp_path):
    subprocess.run(["git", "clone", "-q", "--depth", "1", "-b", "two", f"file://{clone}",
                    tmp_path / "shallow"], check=True, stderr=subprocess.DEVNULL)
    code, error = compare(capsys, tmp_path / "shallow", base="HEAD~1", head="HEAD")
    assert code == ENVIRONMENT
    assert error == (f"'HEAD~1' is no commit of '{tmp_path}/shallow', which is shallow: git fetch "
                     "--unshallow gets the rest\n")


def test_one_commit_beside_itself_is_no_comparison(capsys, clone):
    code, error = compare(capsys, clone, base="two", head="main")
    assert code == UNDECIDED
    assert error.startswith("base and head are one commit, ")


def test_a_base_that_is_no_ancestor_of_the_head_is_told(git, clone):
    one, two, side = (aiter_history.commit_of(clone, name) for name in ("one", "two", "side"))
    def notes(base, head):
        return aiter_history.notes_on(clone, base, head, aiter_history.SOURCES)

    assert notes(one, two) == []
    assert notes(two, one) == [
        "the head is older than the base: what was added since counts as taken back"]
    for pair in ((two, side), (side, two)):
        assert notes(*pair) == [
            f"the base is no ancestor of the head: what it alone has since {one.id[:10]} counts as "
            f"taken back; --base {one.id[:10]} asks for the head's own changes"]
    git("checkout", "-q", "--orphan", "alone")
    git("commit", "-q", "-m", "alone")
    alone = aiter_history.commit_of(clone, "alone")
    (note,) = notes(one, alone)
    assert note == "the clone has no common ancestor of base and head"
    found = aiter_compare.compare(clone, one, alone, {})
    for told in (found.text(), found.markdown()):
        assert f"NOTE: {note}" in told


def test_changes_that_are_in_no_commit_are_told_where_the_head_is_what_lies_in_the_clone(
        git, clone):
    one, two = (aiter_history.commit_of(clone, name) for name in ("one", "two"))
    git("checkout", "-q", "two")

    def notes(base, head):
        return aiter_history.notes_on(clone, base, head, ["aiter"])

    (clone / "aiter/mla.py").write_text("edited")
    told = ["changes in no commit are not judged: aiter/mla.py"]
    assert notes(one, two) == told
    git("add", "aiter/mla.py")
    assert notes(one, two) == told
    assert len(notes(two, one)) == 1  # of the order alone
    assert aiter_history.notes_on(clone, one, two, ["hsa"]) == []
    git("reset", "-q", "--hard")
    assert notes(one, two) == []
    git("clone", "-q", "--bare", ".", "bare")
    assert aiter_history.notes_on(clone / "bare", one, two, ["aiter"]) == []


def test_a_report_that_cannot_be_written_is_refused_before_anything_is_judged(
        capsys, clone, tmp_path, monkeypatch):
    monkeypatch.setattr(aiter_command, "compare", lambda *_: pytest.fail("judged"))
    place = tmp_path / "none" / "report.md"
    assert compare(capsys, clone, "--report-md", place) == (
        USAGE, f"--report-md: there is no folder for '{place}'\n")


def test_a_defect_of_ours_is_not_the_exit_code_of_what_is_worse(capsys, clone, monkeypatch):
    monkeypatch.setattr(aiter_command, "compare", lambda *_: 1 // 0)
    code, error = compare(capsys, clone)
    assert code == ENVIRONMENT
    assert "ZeroDivisionError" in error
    assert error.endswith("this is a defect of mla-testbed\n")


HOLDS = [{"id": "P05", "name": "p05", "verdict": "pass", "message": ""}]
INTERRUPTED = [*HOLDS, {"id": "P09", "verdict": "inconclusive", "message": "interrupted"}]
FULL = [*HOLDS, {"id": "P09", "verdict": "inconclusive", "message": "not enough memory"}]


@pytest.fixture
def said(tmp_path, monkeypatch):
    """Stands for the command over a tree: `replay` does what the function was last told."""
    real = os.environ["MLA_TESTBED_COMMAND"]
    (tmp_path / "plan.json").write_text(json.dumps({"decisions": {"route": "split"}}))
    file = tmp_path / "command"
    file.write_text(f"""#!/bin/sh
cd {tmp_path}
case "$1 $*" in
  plan*--aiter*) cat plan.json;;
  plan*) exec {real} "$@";;
  *) echo $$ >> asked; echo aiter/mla.py > "${{MLA_TESTBED_READ-.}}/1"; . ./replay;;
esac
""")
    file.chmod(0o755)
    monkeypatch.setenv("MLA_TESTBED_COMMAND", str(file))

    def say(what):
        line = what if isinstance(what, str) else \
            f"echo '{json.dumps({'backends': [{'properties': what}]})}'"
        (tmp_path / "replay").write_text(line)

    return say


@pytest.mark.parametrize(("what", "why"), [
    (INTERRUPTED, "mla-testbed replay was interrupted"),
    ("kill -9 $$", "mla-testbed replay ended with -9"),
    ("echo 'mla-testbed replay: no memory' >&2; exit 3", "mla-testbed replay: no memory"),
    ("echo 'mla-testbed replay: mla.py: SyntaxError' >&2; exit 2", "mla-testbed replay: mla.py: "
     "SyntaxError")])
def test_a_replay_without_an_answer_is_none_and_is_not_kept(
        capsys, clone, said, tmp_path, what, why):
    file = tmp_path / "cases.txt"
    file.write_text(LINE)
    said(what)
    base = aiter_history.commit_of(clone, "one").id[:10]
    assert compare(capsys, clone, "--arch", "gfx942", "--cases", file) == (
        UNDECIDED, f"{base} comes to no answer: {why}\n")
    said(HOLDS)
    assert compare(capsys, clone, "--arch", "gfx942", "--cases", file) == (0, "")


@pytest.mark.parametrize(("text", "told"), [
    (f"AITER: /tmp/mla-testbed-compare-a_1/{'0a' * 20}/csrc/a.cu:9 no", "AITER: csrc/a.cu:9 no"),
    ("in /var/tmp/mla-testbed-history-a_1/csrc/a.cu: no", "in csrc/a.cu: no"),
    (f"of '/tmp/mla-testbed-report-a/{'0a' * 20}' is", f"of '{'0a' * 20}' is"),
    ("of '/tmp/mla-testbed-history-a' is", "of 'the tree' is"),
    ("/home/me/aiter/csrc/a.cu", "/home/me/aiter/csrc/a.cu")])
def test_what_is_said_of_a_tree_does_not_tell_where_it_was_taken_out(said, tmp_path, text, told):
    assert aiter_calls.below_tree(text) == told
    text, told = (word.replace("'", "") for word in (text, told))  # the shell quotes with it
    said([{**HOLDS[0], "message": text}])
    assert aiter_cases.replayed(tmp_path, "gfx942", LINE)[0]["message"] == told
    said(f'echo "mla-testbed replay: {text}" >&2; exit 3')
    with pytest.raises(MlaError) as error:
        aiter_cases.replayed(tmp_path, "gfx942", LINE)
    assert str(error.value) == f"mla-testbed replay: {told}"


def test_a_call_that_takes_too_long_is_ended(said, tmp_path):
    said("exec sleep 300")
    began = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        aiter_cases.replayed(tmp_path, "gfx942", LINE, timeout=5)
    assert time.monotonic() - began < 200
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "asked").read_text()), 0)


def test_a_case_that_replay_refuses_is_a_wrong_one(said, tmp_path):
    said("echo 'mla-testbed replay: no such case' >&2; exit 2")
    with pytest.raises(aiter_cases.UsageError, match="no such case"):
        aiter_cases.replayed(tmp_path, "gfx942", LINE)
    said("kill -9 $$")
    with pytest.raises(MlaError) as error:
        aiter_cases.replayed(tmp_path, "gfx942", LINE)
    assert not isinstance(error.value, aiter_cases.UsageError)


def test_what_was_inconclusive_is_judged_again(clone, said, tmp_path):
    sides = [aiter_history.commit_of(clone, name) for name in ("one", "two")]
    for what, count in ((FULL, 2), (FULL, 4), (HOLDS, 6), (FULL, 6)):
        said(what)
        aiter_compare.compare(clone, *sides, {"gfx942": [LINE]})
        assert len((tmp_path / "asked").read_text().split()) == count


def test_the_answer_that_fails_ends_the_others(clone, said, tmp_path):
    said("[ $(head -1 asked) = $$ ] && exec sleep 300; exit 4")
    began = time.monotonic()
    with pytest.raises(MlaError, match="ended with 4"):
        aiter_cases.judge_tree(clone, "gfx942", [LINE, LINE.replace("s9", "s8")])
    assert time.monotonic() - began < 200
    for number in (tmp_path / "asked").read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(number), 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_all_and_what_was_judged_whole_is_kept(clone, said, tmp_path, number):
    file = tmp_path / "cases.txt"
    file.write_text(LINE)
    (tmp_path / "tmp").mkdir()
    words = [sys.executable, "-c", "import signal; from mla_testbed import aiter_command as c; "
             "signal.signal(signal.SIGINT, signal.default_int_handler); raise SystemExit(c.main())",
             "compare", "--aiter", clone, "--base", "one", "--head", "two", "--arch", "gfx942",
             "--cases", file]
    env = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    answer = f"echo '{json.dumps({'backends': [{'properties': HOLDS}]})}'"
    said(f"[ $(wc -l < asked) = 2 ] && exec sleep 300; {answer}")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=env) as process:
        asked = tmp_path / "asked"
        while process.poll() is None and not (
                asked.exists() and len(asked.read_text().split()) == 2):
            time.sleep(0.05)
        process.send_signal(number)
        out, error = process.communicate(timeout=100)
    assert (process.returncode, out) == (UNDECIDED, "")
    assert error == ("mla-testbed aiter: interrupted; a commit that was judged whole is kept\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int(asked.read_text().split()[1]), 0)
    assert list((tmp_path / "tmp").iterdir()) == []
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(asked.read_text().split()) == 3  # the base was kept


COMMIT = Commit("0123456789abcdef", "2026-08-22", "title")
PAGE = types.SimpleNamespace(markdown=lambda: "shown")


def test_a_report_is_refused_for_a_step_that_is_no_decode(capsys, clone):
    for kind in ("prefill", "fa;block=16"):
        code, error = run(capsys, "report", "--aiter", str(clone), "--rev", "one",
                          f"mla1:1q9s9;arch=gfx950;kind={kind}")
        assert code == 2
        assert f"is of kind {kind.split(';')[0]}: mla-testbed replay judges it" in error


def test_a_page_of_a_comparison_shows_the_first_decode_step_that_is_worse(
        monkeypatch, tmp_path, clone):
    step = "mla1:1q9s9;arch=gfx950"
    changes = [aiter_comparison.Change("gfx950", f"{step};kind=prefill", "P05 fails", Kind.WORSE),
               aiter_comparison.Change("gfx950", step, "P14 fails", Kind.WORSE)]
    shown = []
    monkeypatch.setattr(aiter_command, "compare", lambda *_: aiter_comparison.Comparison(
        COMMIT, COMMIT, ["aiter/mla.py"], [], 2, changes, [], ""))
    monkeypatch.setattr(aiter_command, "_shown", lambda *of: shown.append(of[2]) or PAGE)
    assert aiter_command.main(("compare", "--aiter", str(clone), "--base", "one", "--head", "two",
                               "--report-md", str(tmp_path / "page.md"))) == 1
    assert shown == [step]


@pytest.mark.parametrize("line", ["mla1:1q1s9", "mla1:1q9s9;kind=prefill"])
def test_the_architecture_of_a_bisected_case_is_its_own(monkeypatch, clone, line):
    asked = []
    monkeypatch.setattr(aiter_command, "first_changed", lambda *of: asked.append(of[2]) or [])
    assert aiter_command.main(("bisect", "--aiter", str(clone), "--good", "one", "--bad", "two",
                               f"{line};arch=gfx950")) == 0
    assert "arch=gfx950" in asked[0].name
