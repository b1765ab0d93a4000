"""What AITER's own comparisons found, with the case that was running."""

from __future__ import annotations

import collections
import dataclasses
import json
import pathlib
from collections.abc import Callable
from typing import Any

from ..ported import Ported


@dataclasses.dataclass
class Finding:
    """One comparison of AITER's checkAllclose.

    case: the arguments of the benchmark that was running. message: what AITER calls the
    comparison. share: of elements outside the tolerance, 0 to 1. failed: AITER logs "failed!".
    known: the entry of the ledger that explains it, or "".
    """

    case: dict[str, str]
    message: str
    share: float
    failed: bool
    known: str = ""

    def text(self) -> str:
        """What the ledger's patterns are about."""
        return f"{self.message} ({self.share:.1%} outside the tolerance)"


def _words(case: dict[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in case.items())


def _unknown(_case: dict[str, str], _text: str) -> str | None:
    return None


class ComparisonError(AssertionError):
    """A comparison that AITER only logs as failed."""


@dataclasses.dataclass
class Findings:
    """The comparisons of a process.

    keep_going: collect failures and report them at the end, instead of raising at the first.
    explain: the id of the ledger's entry that explains a failure of a case, or None; such a failure
    does not raise.
    """

    keep_going: bool = False
    explain: Callable[[dict[str, str], str], str | None] = _unknown
    found: list[Finding] = dataclasses.field(default_factory=list)
    refused: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    case: dict[str, str] = dataclasses.field(default_factory=dict)
    cases: int = 0

    def add(self, message: str, share: float, failed: bool) -> None:
        """Keeps one comparison; raises ComparisonError for a failed one unless keep_going or the
        ledger explains it."""
        found = Finding(dict(self.case), message, share, failed)
        if failed:
            found.known = self.explain(found.case, found.text()) or ""
        self.found.append(found)
        if failed and not self.keep_going and not found.known:
            raise ComparisonError(
                f"{message or 'checkAllclose'}: {share:.1%} of the elements are outside the "
                f"tolerance; case {self.case_text() or 'without a name'}")

    def refuse(self, error: Exception) -> bool:
        """Keeps what a case raised; whether the other cases go on."""
        text = str(error)
        known = self.explain(self.case, f"{type(error).__name__}: {text}") or ""
        if not known and not self.keep_going:
            return False
        self.refused.append({"case": dict(self.case), "error": type(error).__name__, "text": text,
                             "known": known})
        return True

    def case_text(self) -> str:
        """The arguments of the running benchmark, as name=value."""
        return _words(self.case)

    def failures(self) -> list[str]:
        """What failed and no entry of the ledger explains, a sentence each."""
        failed = [(f.text(), f.case) for f in self.found if f.failed and not f.known]
        failed += [(f"{r['error']}: {r['text']}", r["case"])
                   for r in self.refused if not r["known"]]
        return [f"{text} [{_words(case)}]" if case else text for text, case in failed]

    def known(self) -> dict[str, int]:
        """Entries of the ledger, with the number of failures that each explains."""
        ids = [found.known for found in self.found] + [r["known"] for r in self.refused]
        return dict(sorted(collections.Counter(filter(None, ids)).items()))

    def summary(self) -> str:
        """Comparisons in numbers."""
        failed = [found for found in self.found if found.failed]
        known = sum(bool(found.known) for found in failed)
        count = len(self.found)
        return (f"{count} comparison{'' if count == 1 else 's'}, {len(failed)} failed"
                + (f", {known} of them as known" if known else ""))

    def write(self, path: pathlib.Path, ported: Ported) -> None:
        """Writes everything as JSON, with what ran in place of AITER's C++."""
        path.write_text(json.dumps({
            "cases": self.cases, "refused": self.refused, "ported": ported.as_json(),
            "comparisons": [dataclasses.asdict(finding) for finding in self.found],
        }, indent=1), encoding="utf-8")
