"""Turns any case into one that a serving engine can be asked to run."""

from __future__ import annotations

from ..errors import UsageError
from .adapted import on
from .line import CaseLine

#: Fields that an engine decides itself.
_UNASKED: dict[str, str] = {
    "gran": "16", "split": "-1", "planner": "auto", "sched": "0", "qpad": "0", "lse": "0",
    "splits": "0", "spare": "0.minus1", "causal": "1", "kind": "decode",
}
#: Fields that only some kinds of steps have; those of kind fa are all of them.
OTHER_KINDS = ("workspace", "kvheads", "dim", "window", "draft")
#: Compute units of a product: MI300X and MI308, MI355X.
_PRODUCTS = {"gfx942": (304, 80), "gfx950": (256,)}
_MOST_ORIGIN = 1 << 14
_MOST_PAD = 64
MOST_KEYS = 1 << 17


def expect_kind(line: CaseLine, kind: str) -> None:
    """Raises UsageError where the case is of another kind."""
    if line["kind"] != kind:
        raise UsageError(f"'{line}' is of kind {line['kind']}; expected kind={kind}")


def product(line: CaseLine) -> tuple[str, int]:
    """Architecture, and the compute units of the product that is nearest to the case's."""
    arch, units = line["arch"], int(line["cu"])
    return arch, min(_PRODUCTS[arch], key=lambda known: abs(known - units))


def common(line: CaseLine, arch: str | None = None) -> CaseLine:
    """What no engine can be asked is set aside, what every engine guarantees holds.

    Every request has a row and at least as many keys as rows. Compute units are a product's.
    Blocks have 1 token or a multiple of 16.

    Args:
        arch: replaces the case's.

    Raises:
        UsageError: no request of a step has a row.
    """
    steps = [[(rows, max(rows, keys)) for rows, keys in line.requests(number) if rows > 0]
             for number in range(len(line.steps))]
    steps = [step for step in steps if step]
    if not steps:
        raise UsageError(f"no request of '{line}' has rows: an engine schedules none")
    line = on(line, arch)
    block = int(line["block"])
    fields = tuple((n, v) for n, v in line.fields if n not in OTHER_KINDS)
    made = CaseLine(line.steps, fields).with_requests(steps).with_fields(
        **_UNASKED, cu=str(product(line)[1]), page="1",
        block=str(1 if block < 8 else -(-block // 16) * 16),
        origin=str(min(int(line["origin"]), _MOST_ORIGIN)),
        pad=str(min(int(line["pad"]), _MOST_PAD)))
    return CaseLine.parse(str(made))
