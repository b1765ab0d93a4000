"""AITER's history: the commits that decide about the MLA, taken out of git, judged and bisected.

Of a commit only what decides about the MLA is taken out: sources, code objects, Python, tests.
"""

from __future__ import annotations

import dataclasses
import pathlib
import subprocess
import tarfile
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from .aiter.suite import runner
from .errors import MlaError

#: What decides about the MLA, below AITER's root; what a commit lacks is left out.
PATHS = ("aiter", "csrc", "op_tests", "hsa/codegen.py", "hsa/gfx942/mla", "hsa/gfx950/mla")
#: The MLA itself: most commits that change a verdict change one of these.
WATCHED = ("aiter/mla.py", "aiter/ops/attention.py", "aiter/jit", "csrc/kernels/mla",
           "csrc/py_itfs_cu/asm_mla.cu", "csrc/include", "op_tests/test_mla_persistent.py",
           "op_tests/test_mla_reduce.py", "hsa/codegen.py", "hsa/gfx942/mla", "hsa/gfx950/mla")
#: The MLA of gfx942 and gfx950 without its tests, as git takes paths.
SOURCES = ("aiter/mla.py", "aiter/ops/attention.py", "csrc/kernels/mla",
           "csrc/py_itfs_cu/asm_mla*", "csrc/include/mla*", "csrc/pybind/mla*",
           "csrc/include/ps.h", "csrc/pybind/ps_metadata*", "csrc/kernels/cache_kernels.cu",
           "csrc/pybind/cache*", "hsa/codegen.py", "hsa/gfx942/mla", "hsa/gfx950/mla",
           ":(glob)aiter/ops/triton/**/*mla*",
           ":(glob)aiter/ops/flydsl/**/*mla*", ":(exclude,glob)**/*.md",
           ":(exclude,glob)aiter/ops/triton/configs/**", ":(exclude,glob)**/gfx1250/**")
_FORMAT = "--format=%H%x09%cs%x09%s"
#: Of a case that AITER does not take.
REFUSED = "refused"
_WORSE = (runner.FAIL, runner.INCONCLUSIVE, REFUSED)


class HistoryError(RuntimeError):
    """git cannot answer; the text says what was asked."""


@dataclasses.dataclass(frozen=True)
class Commit:
    """One of the range."""

    id: str
    date: str
    title: str


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


def commits(clone: pathlib.Path, span: str, paths: Sequence[str] = WATCHED) -> list[Commit]:
    """A, the commits of A..B that changed one of the paths, oldest first, and B.

    HistoryError: no range, or one that the clone does not have (it may be shallow)."""
    first, dots, last = span.partition("..")
    if not dots or not first:
        raise HistoryError(f"'{span}' is no range of commits; expected A..B")
    last = last or "HEAD"
    found = git(clone, "log", "--first-parent", "--reverse", _FORMAT, "--end-of-options",
                f"{first}..{last}", "--", *paths).splitlines()
    out = [commit_of(clone, first), *map(_commit, found)]
    end = commit_of(clone, last)
    return out if out[-1] == end else [*out, end]


def commit_of(clone: pathlib.Path, name: str) -> Commit:
    """One commit. HistoryError: the clone does not have it, or the name is that of no commit."""
    shallow = git(clone, "rev-parse", "--is-shallow-repository").strip() == "true"
    try:
        found = git(clone, "rev-parse", "--verify", "--quiet", "--end-of-options",
                    f"{name}^{{commit}}").strip()
    except HistoryError as e:
        why = ", which is shallow: git fetch --unshallow gets the rest" if shallow else ""
        raise HistoryError(f"'{name}' is no commit of '{clone}'{why}") from e
    return _commit(git(clone, "log", "-1", _FORMAT, found, "--").strip())


def notes_on(clone: pathlib.Path, base: Commit, head: Commit, paths: Sequence[str]) -> list[str]:
    """What to know of the two before they are compared by these paths: a base that is no ancestor
    of the head, and changes of the clone that are in no commit."""
    return [note for note in (_apart(clone, base, head), _uncommitted(clone, head, paths)) if note]


def _uncommitted(clone: pathlib.Path, head: Commit, paths: Sequence[str]) -> str:
    try:
        if git(clone, "rev-parse", "HEAD").strip() != head.id:
            return ""
        changed = git(clone, "diff", "--name-only", "HEAD", "--", *paths).splitlines()
    except HistoryError:  # a clone without files
        return ""
    return f"changes in no commit are not judged: {some(changed)}" if changed else ""


def some(names: Sequence[str]) -> str:
    """The first ones, and how many more."""
    shown = ", ".join(names[:4])
    return shown + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _apart(clone: pathlib.Path, base: Commit, head: Commit) -> str:
    try:
        common = commit_of(clone, git(clone, "merge-base", base.id, head.id).strip())
    except HistoryError:
        return "the clone has no common ancestor of base and head"
    if common == base:
        return ""
    if common == head:
        return "the head is older than the base: what was added since counts as taken back"
    return (f"the base is no ancestor of the head: what it alone has since {common.id[:10]} counts "
            f"as taken back; --base {common.id[:10]} asks for the head's own changes")


def _commit(line: str) -> Commit:
    return Commit(*line.split("\t", 2))


def take_out(clone: pathlib.Path, commit: Commit, into: pathlib.Path,
             paths: Sequence[str] = PATHS) -> None:
    """Writes what belongs to the MLA of a commit, or other paths.

    Raises:
        HistoryError: it has none of them.
    """
    there = [path for path in paths if git(clone, "ls-tree", commit.id, path)]
    if not there:
        raise HistoryError(f"commit {commit.id[:10]} of '{clone}' has no {paths[0]}")
    with subprocess.Popen(["git", "-C", str(clone), "archive", commit.id, *there],
                          stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
            archive.extractall(into, filter="data")
    if process.returncode != 0:
        raise HistoryError(f"git archive {commit.id} ended with {process.returncode}")


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
           say: Callable[[str], None]) -> list[Commit]:
    """The last commit with the verdict of the first one, those after it that have none, and the
    first one with another verdict; no commit if the last has it too.

    Raises:
        MlaError: one of both ends has no verdict.
    """
    def verdict_of(at: int) -> str:
        said = judge(found[at], test)
        say(f"{found[at].id[:10]} {said.verdict:<12} {said.reason[:100]}".rstrip())
        return said.verdict

    good, bad = 0, len(found) - 1
    as_first, as_last = verdict_of(good), verdict_of(bad)
    for at, verdict in ((good, as_first), (bad, as_last)):
        if verdict == runner.INCONCLUSIVE:
            raise MlaError(f"{found[at].id[:10]} has no verdict")
    if as_last == as_first:
        return []
    left = set(range(good + 1, bad))
    while left:
        at = min(left, key=lambda n: (abs(2 * n - good - bad), n))
        verdict = verdict_of(at)
        if verdict == as_first:
            good = at
        elif verdict != runner.INCONCLUSIVE:
            bad = at
        left = {n for n in left if good < n < bad and n != at}
    return list(found[good:bad + 1])


def first_changed(clone: pathlib.Path, span: str, test: Asked,
                  judge: Callable[[Commit, Asked], Verdict], say: Callable[[str], None]) \
        -> list[Commit]:
    """The commits of which the first changed the verdict: one, unless others before it have none;
    no commit if both ends have one verdict. It halves the commits of the MLA, then those between
    two of them that changed anything that is taken out. Each verdict is said once."""
    told: set[str] = set()

    def say_once(line: str) -> None:  # the second halving begins with verdicts of the first
        if line not in told:
            told.add(line)
            say(line)

    between = bisect(commits(clone, span), test, judge, say_once)
    if between:
        between = bisect(commits(clone, f"{between[0].id}..{between[-1].id}", PATHS), test, judge,
                         say_once)
    return between[1:]
