"""Labels of AITER's history: the shipped list, what each means runs, the count of both sides."""

import json
import pathlib
import stat
import subprocess

import pytest

torch = pytest.importorskip("torch", reason="AITER's tests need torch, which is not installed")

from mla_testbed import aiter_labels  # noqa: E402

SHIPPED = pathlib.Path(__file__).parents[2] / "fixtures" / "aiter_labels.json"
ENTRY = {"id": "L1", "commit": "b", "parent": "a", "arch": "gfx942", "means": "replay",
         "case": "mla1:1q1s1", "property": "P05", "before": "fail", "after": "pass"}


def label(**changed):
    return aiter_labels._label({**ENTRY, **changed}, "list")


def test_the_shipped_list_has_60_labels_of_45_commits_with_full_ids_and_both_known_fixes():
    labels = aiter_labels.read(SHIPPED)
    assert len(labels) == len({found.id for found in labels}) == 60
    assert len({found.commit for found in labels}) == 45
    assert all(len(found.commit) == len(found.parent) == 40 for found in labels)
    assert all(found.after == "pass" and found.before in ("fail", "refused") for found in labels)
    starts = {found.commit[:10] for found in labels}
    assert {"664a7b0bb4", "44146e6ef2"} <= starts


@pytest.mark.parametrize(("text", "said"), [
    ("{", "Expecting"), ("[]", "schema"), ('{"schema": "other"}', "schema"),
    (json.dumps({"schema": aiter_labels.SCHEMA, "labels": []}), "has no 'labels'"),
    (json.dumps({"schema": aiter_labels.SCHEMA, "labels": [{**ENTRY, "arch": 7}]}),
     "'arch' is 7"),
    (json.dumps({"schema": aiter_labels.SCHEMA, "labels": [{**ENTRY, "case": ""}]}),
     "no case to replay"),
])
def test_what_is_no_list_is_named(tmp_path, text, said, capsys):
    path = tmp_path / "list.json"
    path.write_text(text)
    assert aiter_labels.main(["--aiter", str(tmp_path), str(path)]) == aiter_labels.USAGE
    assert said in capsys.readouterr().err


def counted(labels, answers):
    said = []
    agreed = aiter_labels.table(
        labels, lambda asked, commit: aiter_labels.Answer(answers[asked.id, commit], "why"),
        said.append)
    return agreed, said


def test_both_sides_are_counted_and_what_history_says_otherwise_is_marked():
    both = [label(), label(id="L2"), label(id="L3", means="planner")]
    agreed, said = counted(both, {("L1", "a"): "fail", ("L1", "b"): "pass",
                                  ("L2", "a"): "pass", ("L2", "b"): "fail"})
    assert not agreed
    assert said[-1] == "2 of 3 labels ran; 1 seen before, 1 called right after"
    assert [line for line in said if "<- history: fail" in line][0].startswith("L2 before pass")
    assert [line for line in said if "<- history: pass" in line][0].startswith("L2 after  fail")
    assert "L3 not run: planner" in said
    assert counted([label()], {("L1", "a"): "fail", ("L1", "b"): "pass"})[0]
    assert not counted([label(means="v4")], {})[0], "nothing ran"


@pytest.fixture
def clone(tmp_path):
    """Two commits of an object, and a command that says what the object says."""
    root = tmp_path / "clone"
    (root / "hsa" / "gfx942" / "mla").mkdir(parents=True)

    def git(*words):
        return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", root,
                               *words], check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q", "-b", "main")
    for text in ("wrong", "right"):
        (root / "hsa" / "gfx942" / "mla" / "k.co").write_text(text)
        git("add", "-A")
        git("commit", "-q", "-m", text)
    command = tmp_path / "command"
    command.write_text('#!/bin/sh\nfor last; do :; done\n'
                       '[ -d "$last" ] && last=$last/gfx942/mla/k.co\n'
                       'echo "case of $1"\necho "  it is $(cat "$last")"\n'
                       'grep -q right "$last"\n')
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    return root, str(command), git("rev-parse", "HEAD~"), git("rev-parse", "HEAD")


@pytest.mark.parametrize("means", ["replay", "waits"])
def test_the_objects_of_both_commits_are_judged(clone, means, tmp_path, capsys):
    root, command, parent, commit = clone
    path = tmp_path / "list.json"
    entry = {**ENTRY, "means": means, "commit": commit, "parent": parent, "objects": ["k.co"]}
    path.write_text(json.dumps({"schema": aiter_labels.SCHEMA, "labels": [entry]}))
    asked = ["--aiter", str(root), "--command", command, str(path)]
    assert aiter_labels.main(asked) == 0
    out = capsys.readouterr().out
    assert out.startswith("L1 before fail     it is wrong\nL1 after  pass     it is right\n")
    assert aiter_labels.main(["--label", "L9", *asked]) == aiter_labels.USAGE
    assert "no label L9" in capsys.readouterr().err
    entry["commit"] = "0" * 40
    path.write_text(json.dumps({"schema": aiter_labels.SCHEMA, "labels": [entry]}))
    assert aiter_labels.main(asked) == aiter_labels.ENVIRONMENT
    assert "0" * 40 in capsys.readouterr().err
