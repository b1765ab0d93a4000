"""Which failures of whole engines are known ones: the entries of a ledger of kind e2e."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable

from ..findings import FAIL, KNOWN, PASS, Finding
from ..ledger import WHOLE, Known
from .judged import Result
from .scenario import Scenario

_FOUND = re.compile(r"(?:rank \d+: )?(P\d+ )?(.*)", re.DOTALL)


def explain(result: Result, entries: Iterable[Known]) -> None:
    """A failure becomes a known one if an entry explains each of its findings."""
    if result.verdict != FAIL:
        return
    facts = dataclasses.asdict(Scenario.parse(result.scenario))
    known: dict[str, None] = {}
    for sentence in result.findings:
        found = _finding(sentence)
        entry = next((one for one in _of(result, entries) if one.explains(found, facts)), None)
        if entry is None:
            return
        known[f"{entry.id}: {entry.why} ({entry.link})"] = None
    result.verdict, result.known = KNOWN, list(known)


def witnessed(result: Result, entries: Iterable[Known]) -> list[str]:
    """Entries of which this scenario is the witness, and which it does not show any more."""
    return [one.id for one in _of(result, entries) if result.verdict == PASS and one.witness
            and Scenario.parse(one.witness) == Scenario.parse(result.scenario)]


def _of(result: Result, entries: Iterable[Known]) -> list[Known]:
    return [one for one in entries
            if one.kind == WHOLE and one.concerns(result.engine, result.version, result.aiter)]


def _finding(sentence: str) -> Finding:
    """A sentence of a result, such as "rank 1: P05 step 3: ...". An exception has no property."""
    parts = _FOUND.fullmatch(sentence)
    assert parts is not None  # everything has this form
    return Finding((parts[1] or "").strip(), 0, parts[2])
