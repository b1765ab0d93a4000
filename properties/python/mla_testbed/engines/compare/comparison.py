"""What two commits of an engine differ in: the report of `aiter compare`, with commands that
judge each failure again."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from ...aiter_comparison import Change, Comparison
from ...aiter_history import some
from ..report import repro


@dataclasses.dataclass(frozen=True)
class EngineChange(Change):
    """A change that some cases have in common, on the smallest case that was found.

    Attributes:
        times: how many of the cases have it. drawn: the first of them.
        at: which commit shows it, for a command.
    """

    times: int = 1
    drawn: str = ""
    at: str = ""


@dataclasses.dataclass(frozen=True)
class EngineComparison(Comparison):
    """unrun: changed lines that no case ran, of files that are used. options: of replay.
    ports: what ran in place of AITER's own C++. outside: files that differ elsewhere."""

    engine: str
    aiter: str
    unrun: list[str]
    options: str
    ports: list[str]
    outside: int

    def about(self) -> str:
        """What a pull request's page says first."""
        return (f"MLA of {self.engine} `{self.base.id[:10]}` and `{self.head.id[:10]}` "
                f"({self.head.title}), judged without a GPU: each commit's own builder and forward "
                f"over AITER {self.aiter}.")

    def not_judged(self) -> list[str]:
        """Files and lines that no case runs, then cases that the head alone does not take."""
        lost = [one for one in self.refused if one.lost]
        lines = [f"NOT JUDGED: no case runs what changed in {some(self.unread)}"] \
            if self.unread else []
        lines += [f"NOT JUDGED: no case runs {some(self.unrun)}"] if self.unrun else []
        if lost:
            lines.append(f"NOT JUDGED: {len(lost)} cases over the head alone, such as "
                         f"{lost[0].case}: {lost[0].why}")
        return lines

    def below(self, change: Change) -> list[str]:
        """How many cases have it, and the command that shows it."""
        assert isinstance(change, EngineChange)
        lines = [f"  {change.times} cases, the first drawn as {change.drawn}"]
        if change.kind.worse:
            lines.append(f"REPRO: {repro(change.case, f'{self.options} --rev {change.at}')}")
        return lines

    def text(self) -> str:
        """For a terminal."""
        lines = [f"engine {self.engine}, aiter {self.aiter}", super().text(), *self.ports]
        both = len([one for one in self.refused if not one.lost])
        if both:
            lines.append(f"{both} cases are refused, or not judged, over both")
        if self.outside:
            lines.append(f"{self.outside} other files differ; no case runs a function of them")
        return "\n".join(lines)

    def as_json(self) -> str:
        """For programs."""
        told: dict[str, Any] = {
            "format": "mla-testbed engines comparison 1", "engine": self.engine,
            "aiter": self.aiter, "base": dataclasses.asdict(self.base),
            "head": dataclasses.asdict(self.head), "files": self.files, "unread": self.unread,
            "unrun": self.unrun, "outside": self.outside, "cases": self.cases,
            "worse": self.worse, "judged": self.judged,
            "changes": [{**dataclasses.asdict(one), "kind": one.kind.name.lower(),
                         "worse": one.kind.worse} for one in self.changes],
            "refused": [dataclasses.asdict(one) for one in self.refused]}
        return json.dumps(told, indent=1) + "\n"
