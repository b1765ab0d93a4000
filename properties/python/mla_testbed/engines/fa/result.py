"""The result of an engine's forward over an FA step, against dense attention in float64."""

from __future__ import annotations

import numpy as np

from ..elements import check_elements
from ..findings import Finding
from ..tensors import values_of
from . import tensors
from .built import FaBuilt, FaEngine
from .dense import attention
from .step import FaStep

#: Most (row, head, key) products, elements of the cache, and programs of the gather kernel.
MOST_PRODUCTS, MOST_ELEMENTS, MOST_PROGRAMS = 1 << 20, 1 << 23, 1 << 12
#: Relative error of a rounding to bf16 is 2**-8; the rest is for sums in float32.
_ROUNDING = 1.05 * 2.0 ** -8


def affordable(step: FaStep) -> bool:
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
    values = tensors.slots(step)
    q = tensors.query(step, built.order)
    new = values[:, np.concatenate([step.new_slots(request) for request in built.order])]
    out = engine.attend(step, built, q, new, tensors.before(step, values))
    parts = {built.order[place]: name for name in ("decode", "extend", "prefill")
             for place in built.part(name) if place < len(built.order)}
    return check_elements(step, built.order, out, *_reference(step, built, q, values),
                          named=lambda request: f"request {request} ({parts[request]})")


def _reference(
    step: FaStep, built: FaBuilt, q: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The result and its bound: each element is rounded to bf16 once in its part, and once more by
    each merge of an extend's chunks."""
    extends = {built.order[place] for place in built.part("extend")}
    right, bound, first = [], [], 0
    for request in built.order:
        rows = values_of(q[first:first + step.query_lens[request]], step.arch)
        keys, vals = values_of(values[:, step.token_slots(request)], step.arch)
        one = attention(rows, keys, vals, scale_of(step), causal=step.causal, left=step.window)
        merges = int(built.numbers["num_chunks"]) if request in extends else 0
        right.append(one.out)
        bound.append(_ROUNDING * (1 + merges) * one.absolute + 1e-6)
        first += rows.shape[0]
    return np.concatenate(right), np.concatenate(bound)


def scale_of(step: FaStep) -> float:
    """Of the softmax."""
    return float(step.head_dim) ** -0.5
