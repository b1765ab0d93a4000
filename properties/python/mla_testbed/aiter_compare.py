"""Two commits of AITER beside each other: which cases, plans and code objects changed."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import tempfile
from collections.abc import Callable, Sequence

from .aiter.suite.runner import FAIL
from .aiter_cases import (
    Judged,
    full_case,
    judge_tree,
    read_judged,
    replayed,
    smallest,
)
from .aiter_history import SOURCES, Commit, git, take_out
from .aiter_kept import Kept

#: Shapes that meet each family of kernels: heads, rows, dtypes, cut and whole, with a plan and
#: without, prefill steps and chunks of their context.
CASES = {
    "gfx942": (
        "mla1:2q1s600;heads=16;cu=8;gran=1", "mla1:1q2s64_2q2s300;heads=16;cu=8;gran=1",
        "mla1:1q4s300;heads=16;cu=4;gran=1", "mla1:2q1s90;heads=128;cu=8;gran=1",
        "mla1:2q1s300;heads=16;cu=8;gran=1;dtype=fp8/fp8",
        "mla1:1q2s200;heads=16;cu=8;gran=1;dtype=fp8/fp8",
        "mla1:1q1s200;heads=128;cu=8;gran=1;dtype=fp8/fp8", "mla1:2q1s300;heads=16;planner=none"),
    "gfx950": (
        "mla1:2q1s600;heads=16;cu=8;gran=1", "mla1:1q4s300;heads=16;cu=4;gran=1",
        "mla1:2q1s90;heads=128;cu=8;gran=1", "mla1:1q2s200;heads=32;cu=8;gran=1;dtype=fp8/fp8",
        "mla1:2q1s300;heads=16;cu=8;gran=1;dtype=fp8/fp8",
        "mla1:1q1s200;heads=128;cu=8;gran=1;dtype=fp8/fp8", "mla1:2q1s300;heads=16;planner=none",
        "mla1:1q300s300_1q40s40;heads=16;cu=64;dtype=bf16/fp8;kind=prefill",
        "mla1:1q40s100;heads=16;cu=32;block=16;dtype=bf16/fp8;kind=prefill;planner=v12;workspace=64"),
}


@dataclasses.dataclass(frozen=True)
class Change:
    """One case whose answer changed. worse: it fails, or is not planned, and did not before."""

    arch: str
    case: str
    what: str
    worse: bool


@dataclasses.dataclass(frozen=True)
class Comparison:
    """files: of the MLA that differ. unread: those of them that no case read, on either side.
    cases: how many were judged on each side."""

    base: Commit
    head: Commit
    files: list[str]
    unread: list[str]
    cases: int
    changes: list[Change]

    @property
    def worse(self) -> bool:
        """Whether anything is worse."""
        return any(change.worse for change in self.changes)

    @property
    def judged(self) -> bool:
        """Whether a case ran something of what differs, or nothing differs."""
        return len(self.unread) < len(self.files) or not self.files

    def _not_judged(self) -> str:
        return f"NOT JUDGED: no case uses {_some(self.unread)}"

    def text(self) -> str:
        """For a terminal."""
        lines = [f"base {self.base.id[:10]} {self.base.date} {self.base.title}",
                 f"head {self.head.id[:10]} {self.head.date} {self.head.title}",
                 f"{len(self.files)} files of the MLA differ: {_some(self.files)}"]
        for change in self.changes:
            lines += [f"{'WORSE' if change.worse else 'other'} {change.arch} {change.case}",
                      f"  {change.what}"]
        lines += [self._not_judged()] if self.unread else []
        lines.append(f"{self.cases} cases on each side, {len(self.changes)} answers changed, "
                     f"{sum(c.worse for c in self.changes)} for the worse")
        return "\n".join(lines)

    def markdown(self) -> str:
        """For a pull request."""
        lines = [f"MLA of `{self.base.id[:10]}` and `{self.head.id[:10]}` ({self.head.title}), "
                 "judged in an emulator of the instruction set with AITER's own planner, dispatch, "
                 "code objects and reduce.", "",
                 f"{len(self.files)} files differ; {self.cases} cases on each side.", ""]
        lines += [f"**{self._not_judged()}**", ""] if self.unread else []
        if not self.changes:
            return "\n".join([*lines, "No verdict and no plan changed.", ""])
        lines += ["| | architecture | case | what changed |", "|---|---|---|---|"]
        for change in self.changes:
            what = change.what.replace("|", "\\|")
            lines.append(f"| {'**worse**' if change.worse else 'other'} | {change.arch} | "
                         f"`{change.case}` | {what} |")
        return "\n".join([*lines, ""])


def compare(clone: pathlib.Path, base: Commit, head: Commit, cases: dict[str, Sequence[str]]) \
        -> Comparison:
    """Judges the cases of each architecture over both commits.

    Raises:
        MlaError: a tree cannot be imported, or a case is no case.
    """
    files = git(clone, "diff", "--name-only", base.id, head.id, "--", *SOURCES).splitlines()
    changes: list[Change] = []
    count = 0
    with tempfile.TemporaryDirectory(prefix="mla-testbed-compare-") as folder:
        sides = _Sides(clone, base, head, pathlib.Path(folder))
        for arch, lines in cases.items():
            full = [case for line in lines if (case := full_case(line, arch)) is not None]
            if not full:
                continue
            before, after = (sides.judged(commit, arch, full) for commit in (base, head))
            count += len(full)
            for case in full:
                changes += [Change(arch, sides.smallest(arch, case, name) if name else case, what,
                                   worse)
                            for what, worse, name in differences(before[case], after[case])]
    return Comparison(base, head, files, [name for name in files if not _used(name, sides.read)],
                      count, changes)


def _used(name: str, read: set[str]) -> bool:
    """A file that was read, or one of a folder of which any may have been."""
    return name in read or any(str(parent) in read for parent in pathlib.PurePath(name).parents)


class _Sides:
    """Both trees, taken out when a question has no answer yet. read: what they used."""

    def __init__(self, clone: pathlib.Path, base: Commit, head: Commit,
                 folder: pathlib.Path) -> None:
        self._clone, self._base, self._head, self._folder = clone, base, head, folder
        self._kept = Kept(clone)
        self.read: set[str] = set()

    def judged(self, commit: Commit, arch: str, cases: Sequence[str]) -> dict[str, Judged]:
        """What is said of each case over a commit."""

        def make() -> str:
            found = judge_tree(self._tree(commit), arch, cases)
            return json.dumps({case: dataclasses.asdict(one) for case, one in found.items()})

        told = json.loads(self._ask(commit, arch, cases, make))
        return {case: read_judged(one) for case, one in told.items()}

    def smallest(self, arch: str, case: str, name: str) -> str:
        """The smallest case on which a property fails over the head, and does not over the base."""
        found = self._ask(self._head, arch, ("smallest", case, name), lambda: smallest(
            self._tree(self._head), arch, case, name))
        if not found or found == case:
            return case
        over_base = self._ask(self._base, arch, ("property", found, name), lambda: next(
            one["verdict"] for one in replayed(self._tree(self._base), arch, found,
                                               ["--property", name])))
        return case if over_base == FAIL else found

    def _ask(self, commit: Commit, arch: str, told: Sequence[str], make: Callable[[], str]) -> str:
        said, names = self._kept.ask(commit, arch, told, make)
        self.read |= names
        return said

    def _tree(self, commit: Commit) -> pathlib.Path:
        tree = self._folder / commit.id
        if not tree.exists():
            take_out(self._clone, commit, tree)
        return tree


def differences(before: Judged, after: Judged) -> list[tuple[str, bool, str]]:
    """What changed between two answers to one case: a sentence, whether it is worse, and the
    property that fails or ""."""
    out: list[tuple[str, bool, str]] = []
    for name in sorted(before.failures.keys() | before.skipped.keys() | after.failures.keys()
                       | after.skipped.keys()):
        out += _of_property(name, before, after)
    if bool(before.planless) != bool(after.planless):
        out.append((f"no plan: {after.planless}" if after.planless else
                    f"is planned, and was not: {before.planless}", bool(after.planless), ""))
    elif before.plan != after.plan:
        out.append((f"another plan: {first_word(before.plan, after.plan)}", False, ""))
    return out


def _of_property(name: str, before: Judged, after: Judged) -> list[tuple[str, bool, str]]:
    if name in after.failures:
        now = after.failures[name]
        return [] if name in before.failures else [(f"{name} fails: {now.message}", True, name)]
    if name in after.skipped:  # what is not judged holds as little as what fails
        why = after.skipped[name]
        return [] if name in before.skipped else [(f"{name} is not judged: {why}", True, "")]
    was = "did not" if name in before.failures else "was not judged"
    return [(f"{name} holds, and {was}", False, "")]


def first_word(before: dict[str, list[int]], after: dict[str, list[int]]) -> str:
    """Where two plans that differ differ first."""
    for name, words in after.items():
        old = before.get(name, [])
        if len(old) != len(words):
            return f"{name} has {len(words)} words, of {len(old)} before"
        for at, (was, now) in enumerate(zip(old, words, strict=True)):
            if was != now:
                count = sum(a != b for a, b in zip(old, words, strict=True))
                return f"{name}[{at}] is {now}, was {was} ({count} of {len(words)} differ)"
    return "a list is missing"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:4])
    return shown + (f" and {len(names) - 4} more" if len(names) > 4 else "")
