"""Facts of a step that all kinds have: what ledgers put conditions on."""

from __future__ import annotations

from typing import Any

from .step import EngineStep


def facts_of(step: EngineStep) -> dict[str, Any]:
    """Names and values, of the types str, int and bool.

    `rows`, `fewest_rows`, `keys`, `fewest_keys` are those of the longest and shortest request;
    `keys_past_a_block` is how few keys a request has beyond its first block, which counts as 16
    tokens at least, and 0 if none has any. Each kind adds its own (Kind.facts).
    """
    past = (keys - max(16, step.block_size) for keys in step.seq_lens)
    return {
        "arch": step.arch, "cu": step.compute_units, "dtype": f"{step.dtype_q}/{step.dtype_kv}",
        "heads": step.heads, "block": step.block_size, "page": step.page_size,
        "requests": step.requests, "rows": max(step.query_lens),
        "fewest_rows": min(step.query_lens), "keys": max(step.seq_lens),
        "fewest_keys": min(step.seq_lens),
        "keys_past_a_block": min((keys for keys in past if keys > 0), default=0),
        "ragged": len(set(step.query_lens)) > 1, "graph": step.pad > 0, "step": step.number,
    }
