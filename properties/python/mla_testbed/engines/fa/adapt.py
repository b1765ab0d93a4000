"""Turns any case into one of kind fa that a serving engine can be asked to run."""

from __future__ import annotations

from .. import adapt
from ..line import CaseLine
from .step import WORKSPACE_TOKENS

#: Elements of a head that the backend advertises, and its block sizes.
HEAD_DIMS, BLOCKS = (64, 128, 256), (16, 32)
_OWN = ("workspace", "kvheads", "dim", "window", "draft")


def common(line: CaseLine, arch: str | None = None) -> CaseLine:
    """What no engine can be asked is set aside, what every engine guarantees holds.

    Beside what holds for decode cases: values are bf16, heads have 64, 128 or 256 elements, blocks
    16 or 32 tokens, a window is causal, and KV heads divide the heads. The workspace
    has a token for each request.

    Args:
        arch: replaces the case's.

    Raises:
        UsageError: the case is of another kind, or no request of a step has a row.
    """
    adapt.expect_kind(line, "fa")
    own = {name: line[name] for name in _OWN}
    made = adapt.common(line, arch)
    requests = max(len(made.requests(number)) for number in range(len(made.steps)))
    dim, block = int(own["dim"]), int(line["block"])
    heads, kv_heads = int(line["heads"]), int(own["kvheads"])
    own["heads"] = str(-(-heads // kv_heads) * kv_heads)
    own["dim"] = str(next((known for known in HEAD_DIMS if known >= dim), HEAD_DIMS[-1]))
    own["workspace"] = str(min(max(int(own["workspace"]), requests), WORKSPACE_TOKENS * 2))
    causal = "1" if int(own["window"]) >= 0 else line["causal"]
    return CaseLine.parse(str(made.with_fields(
        kind="fa", dtype="bf16/bf16", scale="1/1", causal=causal,
        block=str(BLOCKS[0] if block <= BLOCKS[0] else BLOCKS[1]), **own)))
