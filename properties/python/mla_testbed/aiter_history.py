"""AITER's history: the commits that decide about the MLA, taken out of git, judged and bisected.

Of a commit only what decides about the MLA is taken out: sources, code objects, Python, tests. What
the same files came to once is kept.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from . import __version__
from .aiter.own import cache
from .aiter.suite import ledger, runner
from .aiter.suite.tests import AiterTest

#: What decides about the MLA, below AITER's root; what a commit lacks is left out.
PATHS = ("aiter", "csrc", "op_tests", "hsa/codegen.py", "hsa/gfx942/mla", "hsa/gfx950/mla")
#: A commit that changes none of these is judged as the one before it.
WATCHED = ("aiter/mla.py", "aiter/ops/attention.py", "aiter/jit", "csrc/kernels/mla",
           "csrc/py_itfs_cu/asm_mla.cu", "csrc/include", "op_tests/test_mla_persistent.py",
           "op_tests/test_mla_reduce.py", "hsa/codegen.py", "hsa/gfx942/mla", "hsa/gfx950/mla")
#: The MLA of gfx942 and gfx950 without its tests, as git takes paths.
SOURCES = ("aiter/mla.py", "aiter/ops/attention.py", "csrc/kernels/mla",
           "csrc/py_itfs_cu/asm_mla*", "csrc/include/mla*", "csrc/pybind/mla*", "hsa/codegen.py",
           "hsa/gfx942/mla", "hsa/gfx950/mla", ":(glob)aiter/ops/triton/**/*mla*",
           ":(glob)aiter/ops/flydsl/**/*mla*", ":(exclude,glob)**/*.md",
           ":(exclude,glob)aiter/ops/triton/configs/**", ":(exclude,glob)**/gfx1250/**")
#: Of a case that AITER does not take.
REFUSED = "refused"
_WORSE = (runner.FAIL, runner.INCONCLUSIVE, REFUSED)


class HistoryError(RuntimeError):
    """git cannot answer; the text says what was asked."""


@dataclasses.dataclass(frozen=True)
class Commit:
    """One of the range. key: the same for commits whose watched files are the same."""

    id: str
    date: str
    title: str
    key: str


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Of one test over one commit."""

    verdict: str
    reason: str


class Question(Protocol):
    """What is asked of each commit: a test of the suite, or a case."""

    @property
    def name(self) -> str:
        """As a table shows it."""


Asked = TypeVar("Asked", bound=Question)


def git(clone: pathlib.Path, *words: str) -> str:
    """What git prints. HistoryError: it fails."""
    done = subprocess.run(["git", "-C", str(clone), *words], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise HistoryError(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def commits(clone: pathlib.Path, span: str) -> list[Commit]:
    """A and the commits of A..B that changed a watched path, oldest first.

    HistoryError: no range, or one that the clone does not have (it may be shallow)."""
    first, dots, last = span.partition("..")
    if not dots or not first:
        raise HistoryError(f"'{span}' is no range of commits; expected A..B")
    found = git(clone, "log", "--first-parent", "--reverse", "--format=%H%x09%cs%x09%s",
                f"{first}..{last or 'HEAD'}", "--", *WATCHED).splitlines()
    out = [commit_of(clone, first)]
    for line in found:
        name, date, title = line.split("\t", 2)
        out.append(Commit(name, date, title, _key(clone, name)))
    return out


def commit_of(clone: pathlib.Path, name: str) -> Commit:
    """One commit. HistoryError: the clone does not have it."""
    line = git(clone, "log", "-1", "--format=%H%x09%cs%x09%s", name, "--").strip()
    found, date, title = line.split("\t", 2)
    return Commit(found, date, title, _key(clone, found))


def _key(clone: pathlib.Path, commit: str) -> str:
    told = git(clone, "ls-tree", commit, *WATCHED)
    return hashlib.sha256(told.encode()).hexdigest()[:24]


def take_out(clone: pathlib.Path, commit: Commit, into: pathlib.Path) -> None:
    """Writes what belongs to the MLA of a commit."""
    there = [path for path in PATHS if git(clone, "ls-tree", commit.id, path)]
    with subprocess.Popen(["git", "-C", str(clone), "archive", commit.id, *there],
                          stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
            archive.extractall(into, filter="data")
    if process.returncode != 0:
        raise HistoryError(f"git archive {commit.id} ended with {process.returncode}")


def kept(told: Sequence[str], make: Callable[[], str]) -> str:
    """What was said of the same before; else what `make` says, which is kept unless it is empty."""
    text = "\0".join((*told, __version__, cache.stand_in()))
    place = cache.directory() / "history" / hashlib.sha256(text.encode()).hexdigest()
    with contextlib.suppress(OSError):
        return place.read_text(encoding="utf-8")
    said = make()
    if said:
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = place.with_suffix(f".{os.getpid()}")
        beside.write_text(said, encoding="utf-8")
        os.replace(beside, place)
    return said


def kept_verdict(told: Sequence[str], judge: Callable[[], Verdict]) -> Verdict:
    """The same of a verdict; one that ran out of time is not kept: it may end in time elsewhere."""
    fresh: list[Verdict] = []

    def make() -> str:
        fresh.append(judge())
        late = fresh[0].reason.startswith("time-out")
        return "" if late else json.dumps(dataclasses.asdict(fresh[0]))

    said = kept(told, make)
    return fresh[0] if fresh else Verdict(**json.loads(said))


class Suite:
    """Runs the suite's tests over commits."""

    def __init__(self, clone: pathlib.Path, arch: str, timeout: float) -> None:
        self._clone, self._arch, self._timeout = clone, arch, timeout
        self._known = ledger.read()

    def __call__(self, commit: Commit, test: AiterTest) -> Verdict:
        """The verdict, from the cache if the same files were judged before."""
        return kept_verdict((commit.key, test.name, self._arch), lambda: self._run(commit, test))

    def _run(self, commit: Commit, test: AiterTest) -> Verdict:
        with tempfile.TemporaryDirectory(prefix="mla-testbed-history-") as folder:
            tree = pathlib.Path(folder)
            take_out(self._clone, commit, tree)
            outcome = runner.run(test, runner.Plan(
                tree, self._arch, "aiter", False, self._timeout, modules="own"), self._known)
        return Verdict(outcome.verdict, " ".join(outcome.reason.split()))


def walk(found: Sequence[Commit], tests: Sequence[Asked],
         judge: Callable[[Commit, Asked], Verdict], say: Callable[[str], None]) -> int:
    """Judges all commits and says what changed; the number of changes for the worse."""
    worse = 0
    before: dict[str, Verdict] = {}
    for commit in found:
        say(f"{commit.id[:10]} {commit.date} {commit.title[:70]}")
        for test in tests:
            verdict = judge(commit, test)
            last = before.get(test.name)
            changed = last is not None and last.verdict != verdict.verdict
            mark = f"  <- was {last.verdict}" if changed and last is not None else ""
            say(f"  {test.name:<24} {verdict.verdict:<15} {verdict.reason[:100]}{mark}")
            worse += changed and verdict.verdict in _WORSE
            before[test.name] = verdict
    return worse


def bisect(found: Sequence[Commit], test: Asked, judge: Callable[[Commit, Asked], Verdict],
           say: Callable[[str], None]) -> Commit | None:
    """The first commit whose verdict is not that of the first one; None if the last has it too."""
    good, bad = 0, len(found) - 1
    as_first = judge(found[0], test).verdict
    say(f"{found[0].id[:10]} {as_first}")
    if judge(found[bad], test).verdict == as_first:
        return None
    while bad - good > 1:
        middle = (good + bad) // 2
        verdict = judge(found[middle], test).verdict
        say(f"{found[middle].id[:10]} {verdict}")
        good, bad = (middle, bad) if verdict == as_first else (good, middle)
    return found[bad]
