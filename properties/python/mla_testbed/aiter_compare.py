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
from .aiter_changes import Kind, differences, refused
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
    """One case whose answer changed, and how."""

    arch: str
    case: str
    what: str
    kind: Kind


@dataclasses.dataclass(frozen=True)
class Refused:
    """A case that the head does not take, and why. lost: the base takes it."""

    arch: str
    case: str
    why: str
    lost: bool

    def text(self) -> str:
        """One line."""
        which = "the head alone" if self.lost else "both commits"
        return f"NOT JUDGED: {which} refuse{'s' if self.lost else ''} {self.case}: {self.why}"


@dataclasses.dataclass(frozen=True)
class Comparison:
    """files: of the MLA that differ. unread: those of them that no case read, on either side.
    cases: how many were asked on each side. refused: those of them that the head does not take."""

    base: Commit
    head: Commit
    files: list[str]
    unread: list[str]
    cases: int
    changes: list[Change]
    refused: list[Refused]

    @property
    def worse(self) -> bool:
        """Whether anything is worse."""
        return any(change.kind.worse for change in self.changes)

    @property
    def judged(self) -> bool:
        """Whether nothing differs, or a case that the head takes ran something of what does; and no
        case that the base takes was lost."""
        if any(one.lost for one in self.refused):
            return False
        return not self.files or (len(self.unread) < len(self.files)
                                  and len(self.refused) < self.cases)

    def about(self) -> str:
        """What a pull request's page says first."""
        return (f"MLA of `{self.base.id[:10]}` and `{self.head.id[:10]}` ({self.head.title}), "
                "judged in an emulator of the instruction set with AITER's own planner, dispatch, "
                "code objects and reduce.")

    def below(self, change: Change) -> list[str]:
        """Further lines of a change."""
        return []

    def not_judged(self) -> list[str]:
        """A line for what no case judges, or the head refuses."""
        unread = [f"NOT JUDGED: no case uses {some(self.unread)}"] if self.unread else []
        return [*unread, *(one.text() for one in self.refused)]

    def _counted(self) -> str:
        told = (f"{len(self.changes)} answers changed, "
                f"{sum(change.kind.worse for change in self.changes)} for the worse")
        for kind, what in ((Kind.NEW_FAILURE, "not judged before"),
                           (Kind.NOT_JUDGED, "failed and not judged now")):
            count = sum(change.kind is kind for change in self.changes)
            told += f", {count} {what}" if count else ""
        return told

    def text(self) -> str:
        """For a terminal."""
        lines = [f"base {self.base.id[:10]} {self.base.date} {self.base.title}",
                 f"head {self.head.id[:10]} {self.head.date} {self.head.title}",
                 f"{len(self.files)} files of the MLA differ: {some(self.files)}"]
        for change in self.changes:
            lines += [f"{change.kind.value} {change.arch} {change.case}", f"  {change.what}",
                      *self.below(change)]
        return "\n".join([*lines, *self.not_judged(),
                          f"{self.cases} cases on each side, {self._counted()}"])

    def markdown(self) -> str:
        """For a pull request."""
        lines = [self.about(), "",
                 f"{len(self.files)} files differ; {self.cases} cases on each side, "
                 f"{self._counted()}.", ""]
        for line in self.not_judged():
            lines += [f"**{line}**", ""]
        if not self.changes:
            return "\n".join([*lines, "No verdict and no plan changed.", ""])
        lines += ["| | architecture | case | what changed |", "|---|---|---|---|"]
        for change in self.changes:
            what = change.what.replace("|", "\\|")
            kind = change.kind.value.lower()
            lines.append(f"| {f'**{kind}**' if change.kind.worse else kind} | {change.arch} | "
                         f"`{change.case}` | {what} |")
        again = [f"    {line.strip()}" for change in self.changes if change.kind.worse
                 for line in self.below(change)]
        return "\n".join([*lines, "", *again, *([""] if again else [])])


def compare(clone: pathlib.Path, base: Commit, head: Commit, cases: dict[str, Sequence[str]]) \
        -> Comparison:
    """Judges the cases of each architecture over both commits.

    Raises:
        MlaError: a tree cannot be imported, or a case is no case.
    """
    files = git(clone, "diff", "--name-only", base.id, head.id, "--", *SOURCES).splitlines()
    changes: list[Change] = []
    not_taken: list[Refused] = []
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
                changes += [Change(arch, sides.smallest(arch, case, one.name) if one.name else case,
                                   one.what, one.kind)
                            for one in differences(before[case], after[case])]
                if why := refused(after[case]):
                    not_taken.append(Refused(arch, case, why, lost=not refused(before[case])))
    return Comparison(base, head, files, [name for name in files if not _used(name, sides.read)],
                      count, changes, not_taken)


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


def some(names: Sequence[str]) -> str:
    """The first ones, and how many more."""
    shown = ", ".join(names[:4])
    return shown + (f" and {len(names) - 4} more" if len(names) > 4 else "")
