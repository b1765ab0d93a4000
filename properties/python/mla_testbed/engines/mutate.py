"""Changes cases at random: what fuzzing does with the cases that reached new code."""

from __future__ import annotations

import random

from ..errors import UsageError
from .kinds import KINDS
from .line import CaseLine

_FIELDS = ("heads", "block", "dtype", "layout", "origin", "scale", "data")
_MOST_REQUESTS, _MOST_STEPS = 64, 4


def mutated(case: str, other: str, source: random.Random) -> str:
    """A case between two others, or near the first; the first itself where that is none.

    Args:
        other: where fields and requests are taken from.
    """
    line, giver = CaseLine.parse(case), CaseLine.parse(other)
    for _ in range(source.randint(1, 3)):
        line = source.choice((_field, _pad, _request, _request, _step))(line, giver, source)
    try:
        return str(line)
    except UsageError:
        return case


def _field(line: CaseLine, giver: CaseLine, source: random.Random) -> CaseLine:
    name = source.choice(_FIELDS + KINDS[line["kind"]].fields)
    return line.with_fields(**{name: giver[name]})


def _pad(line: CaseLine, giver: CaseLine, source: random.Random) -> CaseLine:
    return line.with_fields(pad=str(source.choice((0, 1, 2, 3, 7, 16))))


def _request(line: CaseLine, giver: CaseLine, source: random.Random) -> CaseLine:
    """One request more, fewer, or of other lengths."""
    steps = [line.requests(number) for number in range(len(line.steps))]
    step = source.choice(steps)
    at = source.randrange(len(step))
    rows, keys = step[at]
    changed = source.choice((
        [(rows, max(0, keys + source.choice((-1, 1))))], [(max(1, rows + source.choice((-1, 1))),
                                                           keys)],
        [(rows, keys * 2)], [(rows, keys // 2)], [(rows, keys)] * 2, [],
        [source.choice(giver.requests(0))], [(source.choice(step)[0], keys)]))
    step[at:at + 1] = [(min(r, 4096), min(max(k, r), 1 << 16)) for r, k in changed]
    if not step or len(step) > _MOST_REQUESTS:
        return line
    return line.with_requests(steps)


def _step(line: CaseLine, giver: CaseLine, source: random.Random) -> CaseLine:
    """One step more, or one less."""
    steps = [line.requests(number) for number in range(len(line.steps))]
    if len(steps) > 1 and source.random() < 0.5:  # noqa: PLR2004
        del steps[source.randrange(len(steps))]
    elif len(steps) < _MOST_STEPS:
        steps.append(giver.requests(0)[:_MOST_REQUESTS])
    return line.with_requests(steps)
