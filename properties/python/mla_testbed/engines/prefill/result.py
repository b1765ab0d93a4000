"""The result of an engine's prefill, against dense attention in float64."""

from __future__ import annotations

import numpy as np

from .. import tensors
from ..dense import attention, of_requests, rounded
from ..elements import check_elements
from ..findings import Finding
from .built import PrefillBuilt, PrefillEngine
from .projection import KEY, SCALE, Projection, heads_of
from .step import PrefillStep

#: Most (row, head, key) products, fewer where AITER's FP8 kernel is emulated; slots of the cache.
MOST_PRODUCTS, MOST_EMULATED, MOST_SLOTS = 1 << 20, 1 << 17, 1 << 15
#: Relative error of rounding to fp8; the rest is for sums in float32.
_FP8 = 1.05 * 2.0 ** -4
#: Half of the smallest step of fp8: what a weight of a key may lose entirely.
_SMALLEST = {"gfx942": 2.0 ** -11, "gfx950": 2.0 ** -10}


def affordable(step: PrefillStep, built: PrefillBuilt) -> bool:
    """Whether attention and its reference take about two seconds."""
    products = sum(step.query_lens[i] * step.seq_lens[i] for i in built.order) * step.heads
    return (products <= (MOST_EMULATED if built.quantised else MOST_PRODUCTS)
            and step.pool_blocks * step.block_size <= MOST_SLOTS)


def check_result(engine: PrefillEngine, step: PrefillStep, built: PrefillBuilt) -> list[Finding]:
    """P05: every element is within its bound."""
    project = Projection(step.heads, step.data_seed)
    q, cache = tensors.query(step, built.order, KEY), tensors.cache(step, step.dtype_kv)
    out = engine.attend(step, built, q, cache, project)
    return check_elements(step, built.order, out, *_reference(step, built, q, cache, project))


def _reference(
    step: PrefillStep, built: PrefillBuilt, q: np.ndarray, cache: np.ndarray, project: Projection,
) -> tuple[np.ndarray, np.ndarray]:
    """The result and its bound. An FP8 prefill rounds query, keys and values first, and the weights
    of the keys."""
    values = tensors.values_of(cache, step.arch)  # exact in bf16: the scale of the cache is 1

    def attended(place: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        keys, vals = heads_of(project, values[step.token_slots(built.order[place])])
        if built.quantised:
            rows, keys, vals = (_fp8(a, step.arch) for a in (rows, keys, vals))
        one = attention(rows, keys, vals, SCALE, causal=True)
        allowed = rounded(one, _pieces(built, place))
        if built.quantised:
            lost = _SMALLEST[step.arch] * np.abs(vals.astype(np.float64)).sum(axis=0)
            allowed = allowed + _FP8 * one.absolute + lost
        return one.out, allowed

    return of_requests(step, built.order, q, attended)


def _pieces(built: PrefillBuilt, place: int) -> int:
    """Chunks that have keys of the request, each merged once; a whole one is not merged."""
    if built.whole:
        return 0
    at = [(chunk, place - chunk.first) for chunk in built.chunks
          if 0 <= place - chunk.first < chunk.starts.size]
    return sum(bool(chunk.sums[i + 1] > chunk.sums[i]) for chunk, i in at)


def _fp8(values: np.ndarray, arch: str) -> np.ndarray:
    return tensors.fp8_values(arch)[tensors.fp8_bits(values, arch)]
