"""What does not hold of a stage."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator

#: Ids of properties, each with a sentence.
Sentences = Iterator[tuple[str, str]]


@dataclasses.dataclass(frozen=True)
class Finding:
    """A property that does not hold.

    Attributes:
        property: "SP-01" ... (docs/reference/sparse.md).
        stage: the stage whose result it is about.
        what: a sentence with the values.
    """

    property: str
    stage: str
    what: str


def first(stage: str, checks: Iterable[Sentences]) -> list[Finding]:
    """The first sentence as a finding; no check runs after it."""
    for property_id, what in itertools.chain.from_iterable(checks):
        return [Finding(property_id, stage, what)]
    return []
