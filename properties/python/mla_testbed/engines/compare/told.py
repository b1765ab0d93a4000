"""Two judgements of one case as what `aiter compare` compares: one rule says what is worse."""

from __future__ import annotations

from typing import Any

from ...aiter_cases import OF_THE_STEP, Failure, Judged
from ...aiter_changes import Difference, Kind, differences
from ..findings import FAIL, INCONCLUSIVE, PASS, REFUSED, Judgement

#: Stands for all properties of a case of which none was asked.
CASE = "the case"


def changed(before: Judgement, after: Judgement) -> list[Difference]:
    """What changed."""
    found = differences(_judged(before, after), _judged(after, before))
    if before.facts and after.facts and before.case != after.case:
        found.append(Difference(Kind.OTHER, f"the engine is asked another case: {after.case}, was "
                                f"{before.case}"))
    return found


def _judged(own: Judgement, other: Judgement) -> Judged:
    """One side. Of a case that fails only what fails is known: the judge stops there. What fails on
    the other side, and was not asked here, is not judged."""
    failures: dict[str, Failure] = {}
    for finding in own.findings:
        failures.setdefault(finding.property,
                            Failure(own.case, f"step {finding.step}: {finding.what}"))
    skipped: dict[str, str] = {}
    if own.verdict != PASS:
        why = _why(own)
        skipped = {name: why for name in other.properties if name not in failures}
        if own.verdict in (REFUSED, INCONCLUSIVE) and other.verdict != FAIL:
            skipped[CASE] = why
    elif other.verdict == PASS and other.attended and not own.attended:
        skipped[OF_THE_STEP] = "nothing of the case is attended"
    return Judged(failures, skipped, _words(own, other))


def _why(own: Judgement) -> str:
    if own.verdict == FAIL:
        return f"{own.findings[0].property} fails, and ends the case"
    return f"{own.verdict}: {own.reason}"


def _words(own: Judgement, other: Judgement) -> dict[str, list[Any]]:
    """Of the steps that both sides came to: one that fails ends its case."""
    if PASS == own.verdict == other.verdict:
        return own.words
    reached = {name.partition(":")[0] for name in other.words}
    return {name: words for name, words in own.words.items()
            if name.partition(":")[0] in reached}
