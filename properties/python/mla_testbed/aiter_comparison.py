"""What two commits of AITER come to beside each other, as text and Markdown."""

from __future__ import annotations

import dataclasses

from .aiter_changes import Kind
from .aiter_history import Commit, some


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
    cases: how many were asked on each side. refused: those of them that the head does not take.
    notes: what to know of the two."""

    base: Commit
    head: Commit
    files: list[str]
    unread: list[str]
    cases: int
    changes: list[Change]
    refused: list[Refused]
    notes: list[str]

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
        files = f"{len(self.files)} files of the MLA differ"
        lines = [f"base {self.base.id[:10]} {self.base.date} {self.base.title}",
                 f"head {self.head.id[:10]} {self.head.date} {self.head.title}",
                 *(f"NOTE: {note}" for note in self.notes),
                 f"{files}: {some(self.files)}" if self.files else files]
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
        for line in [*(f"NOTE: {note}" for note in self.notes), *self.not_judged()]:
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
