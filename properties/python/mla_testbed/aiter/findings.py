"""What AITER's own comparisons found, with the case that was running."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Any

from ..ported import Ported


@dataclasses.dataclass
class Finding:
    """One comparison of AITER's checkAllclose.

    case: the arguments of the benchmark that was running. message: what AITER calls the
    comparison. share: of elements outside the tolerance, 0 to 1. failed: AITER logs "failed!".
    """

    case: dict[str, str]
    message: str
    share: float
    failed: bool


class ComparisonError(AssertionError):
    """A comparison that AITER only logs as failed."""


@dataclasses.dataclass
class Findings:
    """The comparisons of a process.

    keep_going: collect failures and report them at the end, instead of raising at the first.
    """

    keep_going: bool = False
    found: list[Finding] = dataclasses.field(default_factory=list)
    refused: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    case: dict[str, str] = dataclasses.field(default_factory=dict)
    cases: int = 0

    def add(self, message: str, share: float, failed: bool) -> None:
        """Keeps one comparison; raises ComparisonError for a failed one unless keep_going."""
        self.found.append(Finding(dict(self.case), message, share, failed))
        if failed and not self.keep_going:
            raise ComparisonError(
                f"{message or 'checkAllclose'}: {share:.1%} of the elements are outside the "
                f"tolerance; case {self.case_text() or 'without a name'}")

    def case_text(self) -> str:
        """The arguments of the running benchmark, as name=value."""
        return " ".join(f"{name}={value}" for name, value in self.case.items())

    def failed(self) -> list[Finding]:
        """The comparisons that failed."""
        return [finding for finding in self.found if finding.failed]

    def write(self, path: pathlib.Path, ported: Ported) -> None:
        """Writes everything as JSON, with what ran in place of AITER's C++."""
        path.write_text(json.dumps({
            "cases": self.cases, "refused": self.refused, "ported": ported.as_json(),
            "comparisons": [dataclasses.asdict(finding) for finding in self.found],
        }, indent=1), encoding="utf-8")
