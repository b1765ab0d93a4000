"""The result of an engine's forward over an FA step, against dense attention in float64."""

from __future__ import annotations

import numpy as np

from .. import tensors
from ..dense import attention, of_requests, rounded
from ..elements import check_elements
from ..findings import Finding
from .built import FaBuilt, FaEngine
from .step import FaStep

#: Most (row, head, key) products, elements of the cache, and programs of the gather kernel.
MOST_PRODUCTS, MOST_ELEMENTS, MOST_PROGRAMS = 1 << 20, 1 << 23, 1 << 12


def affordable(step: FaStep, built: FaBuilt) -> bool:
    """Whether attention and its reference take less than about two seconds. Without a mask only
    metadata is judged: the engine has such steps for drafts, which are not drawn here."""
    requests = range(step.requests)
    products = sum(step.query_lens[i] * step.seq_lens[i] for i in requests) * step.heads
    gathered = sum(step.seq_lens[i] for i in requests if step.query_lens[i] > step.threshold)
    elements = step.pool_blocks * step.block_size * step.kv_heads * step.head_dim
    return (step.causal and products <= MOST_PRODUCTS and elements <= MOST_ELEMENTS
            and gathered * step.kv_heads <= MOST_PROGRAMS)


def check_result(engine: FaEngine, step: FaStep, built: FaBuilt) -> list[Finding]:
    """P05: every element is within its bound."""
    values = tensors.cache(step, "bf16", (step.kv_heads, step.head_dim), parts=(2,))
    q = tensors.query(step, built.order, step.head_dim)
    new = np.concatenate([step.new_slots(request) for request in built.order])
    before: np.ndarray = values.copy()
    before[:, new] = tensors.NAN  # what the rows of the step will write
    out = engine.attend(step, built, q, values[:, new], before)
    parts = {built.order[place]: name for name in ("decode", "extend", "prefill")
             for place in built.part(name) if place < len(built.order)}

    def attended(place: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        request = built.order[place]
        keys, vals = tensors.values_of(values[:, step.token_slots(request)], step.arch)
        one = attention(rows, keys, vals, scale_of(step), causal=step.causal, left=step.window)
        merges = int(built.numbers["num_chunks"]) if parts[request] == "extend" else 0
        return one.out, rounded(one, merges)

    return check_elements(step, built.order, out, *of_requests(step, built.order, q, attended),
                          named=lambda request: f"request {request} ({parts[request]})")


def scale_of(step: FaStep) -> float:
    """Of the softmax."""
    return float(step.head_dim) ** -0.5
