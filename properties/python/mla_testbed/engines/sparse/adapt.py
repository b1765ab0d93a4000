"""Turns any case into one that an engine's sparse MLA backend can be asked to run."""

from __future__ import annotations

import random

from ...errors import UsageError
from .. import adapt
from ..line import CaseLine
from .step import model_of

#: Rows of a step. Each has a list of up to 2,048 keys.
MOST_ROWS = 1 << 12
#: Requests of a drawn step whose contexts may be made longer.
_MOST_LONGER = 32


def common(line: CaseLine, arch: str | None = None) -> CaseLine:
    """As for decode. The case remains one of that kind; its seed says how many keys a row selects.

    Args:
        arch: replaces the case's.

    Raises:
        UsageError: no request of a step has a row, or a step has more rows than MOST_ROWS.
    """
    made = adapt.common(line, arch)
    rows = max(sum(rows for rows, _ in made.requests(number))
               for number in range(len(made.steps)))
    if rows > MOST_ROWS:
        raise UsageError(f"a step of '{line}' has {rows} rows; at most {MOST_ROWS} are judged here")
    return made


def longer(case: str) -> str:
    """A drawn case, or one with contexts about as long as a row selects, and longer: half of them.

    Drawn contexts are mostly shorter, and there a row has all of its keys.
    """
    line, source = CaseLine.parse(case), random.Random(case)
    topk, _ = model_of(line)
    steps = [line.requests(number) for number in range(len(line.steps))]
    if source.random() < 0.5 or max(map(len, steps)) > _MOST_LONGER:  # noqa: PLR2004
        return case
    return str(line.with_requests([
        [(rows, max(keys, _about(topk, rows, source))) for rows, keys in step] for step in steps]))


def _about(topk: int, rows: int, source: random.Random) -> int:
    return source.choice((0, topk - 1, topk, topk + 1, topk + rows - 1, topk + rows,
                          source.randint(topk, 3 * topk)))
