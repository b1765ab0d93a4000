"""Judge both sides of each fix in AITER's history: is what was wrong seen, is what is right passed?

    python -m mla_testbed.aiter_labels --aiter DIR fixtures/aiter_labels.json
    python -m mla_testbed.aiter_labels --aiter DIR --label L03 fixtures/aiter_labels.json

DIR is a git clone of AITER with its history. Of each fix, the code objects of the commit and of
its parent are taken out of git. Labels whose means is `replay` are judged by `mla-testbed replay`,
those with `waits` by `mla-testbed gfx check`; the others are counted as not run.
docs/findings/aiter-history.md has the rules and what came of it.

Exit code: 0 where each label that ran was seen before and called right after, 1 where one was not,
2 for wrong options or a list that cannot be read, 3 where something is missing.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from .aiter_history import HistoryError, git

USAGE, ENVIRONMENT = 2, 3
SCHEMA = "mla-testbed/aiter-labels"
PASS, FAIL, REFUSED = "pass", "fail", "refused"
_BY_CODE = {0: PASS, 1: FAIL, 10: REFUSED}


class LabelError(ValueError):
    """The list is not one; the text names file and entry."""


@dataclasses.dataclass(frozen=True)
class Label:
    """One fix. before, after: what its own history says of the two trees."""

    id: str
    commit: str
    parent: str
    arch: str
    means: str
    objects: tuple[str, ...]
    case: str
    property: str
    before: str
    after: str


@dataclasses.dataclass(frozen=True)
class Answer:
    """What was said of one tree."""

    verdict: str
    reason: str


Judge = Callable[[Label, str], Answer]
_TEXTS = ("id", "commit", "parent", "arch", "means", "before", "after")


def _label(entry: Any, where: str) -> Label:
    if not isinstance(entry, dict):
        raise LabelError(f"{where}: an entry of 'labels' is no object")
    name = f"{where}, label {entry.get('id')!r}"
    for key in _TEXTS:
        if not isinstance(entry.get(key), str):
            raise LabelError(f"{name}: {key!r} is {entry.get(key)!r}; expected text")
    objects = entry.get("objects", [])
    if not isinstance(objects, list) or not all(isinstance(o, str) for o in objects):
        raise LabelError(f"{name}: 'objects' is {objects!r}; expected names of files")
    if entry["means"] == "replay" and not entry.get("case"):
        raise LabelError(f"{name}: has no case to replay")
    return Label(objects=tuple(objects), case=str(entry.get("case", "")),
                 property=str(entry.get("property", "")), **{key: entry[key] for key in _TEXTS})


def read(path: pathlib.Path) -> list[Label]:
    """The labels of a file. LabelError: it has none, or one that lacks something."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise LabelError(f"{path}: {e}") from e
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise LabelError(f"{path}: 'schema' is not '{SCHEMA}'")
    entries = document.get("labels")
    if not isinstance(entries, list) or not entries:
        raise LabelError(f"{path}: has no 'labels'")
    return [_label(entry, str(path)) for entry in entries]


class Objects:
    """Judges the code objects of a commit, which are taken out of git once."""

    def __init__(self, clone: pathlib.Path, command: str, folder: pathlib.Path) -> None:
        self._clone, self._command, self._folder = clone, command, folder

    def __call__(self, label: Label, commit: str) -> Answer:
        """The answer of the means that the label names."""
        hsa = self._take_out(commit)
        if label.means == "replay":
            return self._run("replay", label.case, "--property", label.property, "--backend",
                             "aiter", "--device", f"emulated:{label.arch}", "--aiter-hsa", str(hsa))
        answers = [self._run("gfx", "check", str(hsa / label.arch / "mla" / name))
                   for name in label.objects]
        return max(answers, key=lambda a: a.verdict == FAIL)

    def _take_out(self, commit: str) -> pathlib.Path:
        tree = self._folder / commit
        if tree.exists():
            return tree / "hsa"
        paths = [p for p in ("hsa/gfx942/mla", "hsa/gfx950/mla")
                 if git(self._clone, "ls-tree", commit, p)]
        if not paths:
            raise HistoryError(f"commit {commit} has no code objects of the MLA below hsa")
        with subprocess.Popen(["git", "-C", str(self._clone), "archive", commit, *paths],
                              stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                archive.extractall(tree, filter="data")
        return tree / "hsa"

    def _run(self, *words: str) -> Answer:
        done = subprocess.run([self._command, *words], capture_output=True, text=True, check=False)
        verdict = _BY_CODE.get(done.returncode, f"exit {done.returncode}")
        return Answer(verdict, _reason(done.stdout + done.stderr))


def _reason(text: str) -> str:
    """The first line that says what was found, not what was asked."""
    for line in text.splitlines():
        words = line.strip()
        asked = words.startswith(("FAIL ", "REPRO", "case ", "backend", "seed ", "qlen_sweep",
                                  "causal_mutation"))
        if words and not asked:
            return words
    return ""


def table(labels: Sequence[Label], judge: Judge, say: Callable[[str], None]) -> bool:
    """Judges and says each; whether all that ran agree with their history."""
    seen = right = ran = 0
    for label in labels:
        if label.means not in ("replay", "waits"):
            say(f"{label.id} not run: {label.means}")
            continue
        ran += 1
        before, after = judge(label, label.parent), judge(label, label.commit)
        for name, answer, history in (("before", before, label.before),
                                      ("after ", after, label.after)):
            mark = "" if answer.verdict == history else f"  <- history: {history}"
            say(f"{label.id} {name} {answer.verdict:<8} {answer.reason[:100]}{mark}")
        seen += before.verdict == label.before
        right += after.verdict == label.after
    say(f"{ran} of {len(labels)} labels ran; {seen} seen before, {right} called right after")
    return seen == right == ran > 0


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        prog="python -m mla_testbed.aiter_labels", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("labels", metavar="FILE", type=pathlib.Path, help="the list of fixes")
    made.add_argument("--aiter", metavar="DIR", default=os.environ.get("AITER_SRC"),
                      help="a git clone of AITER (AITER_SRC)")
    made.add_argument("--command", default=os.environ.get("MLA_TESTBED_COMMAND", "mla-testbed"),
                      help="the command mla-testbed (MLA_TESTBED_COMMAND)")
    made.add_argument("--label", action="append", metavar="ID", help="only this one; repeatable")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    options = parser().parse_args(arguments)
    try:
        labels = read(options.labels)
    except LabelError as e:
        print(f"aiter_labels: {e}", file=sys.stderr)
        return USAGE
    unknown = set(options.label or ()) - {label.id for label in labels}
    if unknown:
        print(f"aiter_labels: {options.labels} has no label {min(unknown)}", file=sys.stderr)
        return USAGE
    if options.aiter is None:
        print("aiter_labels: --aiter or AITER_SRC names a git clone of AITER", file=sys.stderr)
        return ENVIRONMENT
    chosen = [label for label in labels if not options.label or label.id in options.label]
    try:
        with tempfile.TemporaryDirectory(prefix="mla-testbed-labels-") as folder:
            judge = Objects(pathlib.Path(options.aiter), options.command, pathlib.Path(folder))
            return 0 if table(chosen, judge, lambda line: print(line, flush=True)) else 1
    except (HistoryError, OSError) as e:
        print(f"aiter_labels: {e}", file=sys.stderr)
        return ENVIRONMENT


if __name__ == "__main__":
    sys.exit(main())
