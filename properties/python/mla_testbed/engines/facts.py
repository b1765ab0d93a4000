"""Facts of a step and of what was built for it: what ledgers put conditions on."""

from __future__ import annotations

from typing import Any

from .engine import PADDING, Built
from .step import EngineStep


def facts_of(step: EngineStep, built: Built | None) -> dict[str, Any]:
    """Names and values, of the types str, int and bool.

    `rows`, `fewest_rows`, `keys`, `fewest_keys` are those of the longest and shortest request;
    `keys_past_a_block` is how few keys a request has beyond its first block, which counts as 16
    tokens at least, and 0 if none has any; `planned` and `padding` (requests made up for a graph)
    are there once something was built.
    """
    past = (keys - max(16, step.block_size) for keys in step.seq_lens)
    facts: dict[str, Any] = {
        "arch": step.arch, "cu": step.compute_units, "dtype": f"{step.dtype_q}/{step.dtype_kv}",
        "heads": step.heads, "block": step.block_size, "page": step.page_size,
        "requests": step.requests, "rows": max(step.query_lens),
        "fewest_rows": min(step.query_lens), "keys": max(step.seq_lens),
        "fewest_keys": min(step.seq_lens),
        "keys_past_a_block": min((keys for keys in past if keys > 0), default=0),
        "ragged": len(set(step.query_lens)) > 1, "graph": step.pad > 0, "step": step.number,
    }
    if built is not None:
        facts["planned"] = built.planned
        facts["padding"] = sum(request == PADDING for request in built.requests)
        facts["elsewhere"] = len(built.elsewhere)
    return facts
