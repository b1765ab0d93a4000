"""What judging a case of an engine ends in."""

from __future__ import annotations

import dataclasses
from typing import Any

from .adapted import Change

PASS, FAIL, REFUSED, INCONCLUSIVE = "pass", "fail", "refused", "inconclusive"
#: A failure that a ledger explains.
KNOWN = "known-fail"
#: What a finding is about: the builder and its lists, a plan, the result.
BUILD, PLAN, ATTEND = "build", "plan", "attend"


@dataclasses.dataclass(frozen=True)
class Finding:
    """One property that does not hold.

    Attributes:
        property: its id, such as "P05" (docs/reference/properties.md).
        step: number of the step.
        what: a sentence with the values.
        details: more of them, such as further violations.
        stage: BUILD, PLAN or ATTEND.
    """

    property: str
    step: int
    what: str
    details: tuple[str, ...] = ()
    stage: str = BUILD


@dataclasses.dataclass(frozen=True)
class Judgement:
    """One case, judged.

    Attributes:
        case: as the engine was asked to run it, canonical.
        verdict: PASS, FAIL, REFUSED or INCONCLUSIVE.
        findings: what failed.
        reason: why it was refused or is inconclusive.
        facts: of the first step that failed, or of the first step, for ledgers and tables.
        opinions: what our core decides differently, in sentences.
        built, planned, attended, replayed: how many steps the engine built, planned, attended and
            built for a graph.
        fresh_lines, covered: lines of the builder that no case of this worker ran before, and all;
            0 if they are not watched.
        adapted: in what the case differs from the one that was given.
        words: what was built, by step and name, if that was asked for (kind.words_of).
        ran: of each watched file that was used the lines that ran.
    """

    case: str
    verdict: str
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)
    opinions: tuple[str, ...] = ()
    built: int = 0
    planned: int = 0
    attended: int = 0
    replayed: int = 0
    fresh_lines: int = 0
    covered: int = 0
    adapted: tuple[Change, ...] = ()
    words: dict[str, list[Any]] = dataclasses.field(default_factory=dict)
    ran: dict[str, list[int]] = dataclasses.field(default_factory=dict)

    @property
    def properties(self) -> tuple[str, ...]:
        """Ids of the properties that fail, each once, in order."""
        return tuple(sorted({finding.property for finding in self.findings}))

    def as_json(self) -> dict[str, Any]:
        """For the line between worker and command."""
        return dataclasses.asdict(self)

    @classmethod
    def of_json(cls, found: dict[str, Any]) -> Judgement:
        """The other direction."""
        findings = tuple(Finding(**{**f, "details": tuple(f["details"])})
                         for f in found["findings"])
        return cls(**{**found, "findings": findings, "opinions": tuple(found["opinions"]),
                      "adapted": tuple(Change(**change) for change in found["adapted"])})
