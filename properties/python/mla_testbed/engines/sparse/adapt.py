"""Turns any case into one that an engine's sparse MLA backend can be asked to run."""

from __future__ import annotations

from ...errors import UsageError
from .. import adapt
from ..line import CaseLine

#: Rows of a step. Each has a list of up to 2,048 keys.
MOST_ROWS = 1 << 12


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
