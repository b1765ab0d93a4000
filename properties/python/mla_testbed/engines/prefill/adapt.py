"""Turns any case into one of kind prefill that a serving engine can be asked to run."""

from __future__ import annotations

from ...errors import UsageError
from .. import adapt
from ..line import CaseLine
from .step import MOST_WORKSPACE


def common(line: CaseLine, arch: str | None = None) -> CaseLine:
    """What no engine can be asked is set aside, what every engine guarantees holds.

    Beside what holds for decode cases: the query is bf16, there are no graphs, each step has a
    request of several rows, and the workspace has a whole block for each request.

    Args:
        arch: replaces the case's.

    Raises:
        UsageError: the case is of another kind, or a step has no request of several rows.
    """
    adapt.expect_kind(line, "prefill")
    made = adapt.common(line, arch)
    steps = [made.requests(number) for number in range(len(made.steps))]
    if any(max(rows for rows, _ in step) < 2 for step in steps):  # noqa: PLR2004
        raise UsageError(f"a step of '{line}' has no request of 2 rows: an engine decodes them all")
    block = int(made["block"])
    least = block * max(len(step) for step in steps)
    workspace = min(max(int(line["workspace"]), least), max(MOST_WORKSPACE, least))
    return CaseLine.parse(str(made.with_fields(
        kind="prefill", dtype=f"bf16/{line['dtype'].partition('/')[2]}", scale="1/1", pad="0",
        workspace=str(-(-workspace // block) * block))))
