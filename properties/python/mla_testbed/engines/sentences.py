"""What does not hold of lists that an engine's builder made, in sentences."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from .findings import BUILD, Finding
from .step import EngineStep

#: Ids of properties that do not hold, each with a sentence.
Sentences = Iterator[tuple[str, str]]


def first(step: EngineStep, checks: Iterable[Sentences], stage: str = BUILD) -> list[Finding]:
    """The first sentence as a finding; no check runs after it."""
    for property_id, what in itertools.chain.from_iterable(checks):
        return [Finding(property_id, step.number, what, stage=stage)]
    return []


def check_sums(name: str, found: np.ndarray, lengths: Sequence[int]) -> Sentences:
    """P04: a list of running sums has int32, starts at 0, and has an entry more than lengths."""
    if found.dtype != np.int32:
        yield "P04", f"{name} has elements of {found.dtype}; kernels read int32"
    if found.size != len(lengths) + 1:
        yield "P04", f"{name} has {found.size} entries for {len(lengths)} requests"
        return
    expected = np.cumsum([0, *lengths])
    wrong = np.flatnonzero(found[:expected.size] != expected)
    if wrong.size:
        at = int(wrong[0])
        yield "P04", f"{name}[{at}] is {found[at]}; expected {expected[at]}"


def at_least(name: str, found: int, least: int, what: str) -> Sentences:
    """P04: a maximum that kernels take for a size of their grid or of a buffer."""
    if found < least:
        yield "P04", f"{name} is {found}; {what} has {least}"
