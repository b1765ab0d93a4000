"""Which kernel of a tree takes a decode step: the step is planned and launched, over few keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import decode, planner
from .lists import LISTS, USUAL_RUN
from .wire import Array, Message

_KEYS = 16  # of each request, and one more for each row: every row sees some


def support(arch: str, asked: dict[str, Any]) -> Message:
    """The kernels of stage 1, and of what follows it; heads of a row of Q there. Raises what AITER
    raises."""
    requests, rows, heads = asked["requests"], asked["rows"], asked["heads"]
    same = {name: asked[name] for name in ("compute_units", "heads", "q_dtype", "kv_dtype")}
    same |= {"max_seqlen_qo": rows, "causal": asked["causal"], "page_size": 1, "run": USUAL_RUN}
    arrays = lists_of(requests, rows)
    if asked["planned"]:
        same |= {"fast_mode": True, "intra_batch_mode": False, "max_split_per_batch": -1}
        words = planner.sizes(arch, {**same, "batch": requests, "is_sparse": False,
                                     "num_kv_splits": 32}).head["words"][1:]
        made = planner.plan(arch, {
            **same, "words": words, "uniform_qo_len": rows, "kv_granularity": 16, "topk": -1,
            "cp_round_robin": False}, arrays)
        arrays |= {name: made.arrays[name] for name in LISTS}
    slots = len(arrays["kv_indices"])
    arrays["q"] = np.zeros(requests * rows * heads * decode.key_bytes(arch, asked["q_dtype"]),
                           np.uint8)
    arrays["cache"] = np.zeros(slots * decode.key_bytes(arch, asked["kv_dtype"]), np.uint8)
    answer = decode.decode(arch, {
        **same, "rows": requests * rows, "return_lse": asked["lse"], "record_stages": False,
        "num_kv_splits": 0, "softmax_scale": 1.0, "q_scale": 1.0, "kv_scale": 1.0,
        "first_slot": 0, "slots": slots}, arrays)
    return Message({name: answer.head[name] for name in ("launched", "row_heads")})


def lists_of(requests: int, rows: int) -> dict[str, Array]:
    """Pages of one key, each used once."""
    keys = _KEYS + rows
    return {"qo_indptr": np.arange(requests + 1, dtype=np.int32) * rows,
            "kv_indptr": np.arange(requests + 1, dtype=np.int32) * keys,
            "kv_indices": np.arange(requests * keys, dtype=np.int32),
            "last_page_len": np.ones(requests, np.int32)}
