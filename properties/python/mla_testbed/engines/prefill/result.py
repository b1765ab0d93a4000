"""The result of an engine's prefill, against dense attention in float64."""

from __future__ import annotations

import numpy as np

from .. import tensors as bits
from ..elements import check_elements
from ..fa.dense import attention
from ..findings import Finding
from . import tensors
from .built import PrefillBuilt, PrefillEngine
from .step import PrefillStep

#: Most (row, head, key) products, fewer where AITER's FP8 kernel is emulated; slots of the cache.
MOST_PRODUCTS, MOST_EMULATED, MOST_SLOTS = 1 << 20, 1 << 17, 1 << 15
#: Relative errors of rounding to bf16 and to fp8; the rest is for sums in float32.
_BF16, _FP8 = 1.05 * 2.0 ** -8, 1.05 * 2.0 ** -4
#: Half of the smallest step of fp8: what a weight of a key may lose entirely.
_SMALLEST = {"gfx942": 2.0 ** -11, "gfx950": 2.0 ** -10}


def affordable(step: PrefillStep, built: PrefillBuilt) -> bool:
    """Whether attention and its reference take about two seconds."""
    products = sum(step.query_lens[i] * step.seq_lens[i] for i in built.order) * step.heads
    return (products <= (MOST_EMULATED if built.quantised else MOST_PRODUCTS)
            and step.pool_blocks * step.block_size <= MOST_SLOTS)


def check_result(engine: PrefillEngine, step: PrefillStep, built: PrefillBuilt) -> list[Finding]:
    """P05: every element is within its bound."""
    project = tensors.Projection(step.heads, step.data_seed)
    q, cache = tensors.query(step, built.order), bits.cache(step)
    out = engine.attend(step, built, q, cache, project)
    return check_elements(step, built.order, out, *_reference(step, built, q, cache, project))


def _reference(
    step: PrefillStep, built: PrefillBuilt, q: np.ndarray, cache: np.ndarray,
    project: tensors.Projection,
) -> tuple[np.ndarray, np.ndarray]:
    """The result and its bound. Each part of a row is rounded to bf16 once, and once more by each
    merge. An FP8 prefill rounds query, keys and values first, and the weights of the keys."""
    right, bound, first = [], [], 0
    values = tensors.latents(step, cache)
    for place, request in enumerate(built.order):
        rows = bits.values_of(q[first:first + step.query_lens[request]], step.arch)
        first += rows.shape[0]
        keys, vals = tensors.heads_of(project, values[step.token_slots(request)])
        if built.quantised:
            rows, keys, vals = (_fp8(a, step.arch) for a in (rows, keys, vals))
        one = attention(rows, keys, vals, tensors.SCALE, causal=True)
        allowed = _BF16 * (1 + _pieces(built, place)) * one.absolute + 1e-6
        if built.quantised:
            lost = _SMALLEST[step.arch] * np.abs(vals.astype(np.float64)).sum(axis=0)
            allowed = allowed + _FP8 * one.absolute + lost
        right.append(one.out)
        bound.append(allowed)
    return np.concatenate(right), np.concatenate(bound)


def _pieces(built: PrefillBuilt, place: int) -> int:
    """Chunks that have keys of the request, each merged once; a whole one is not merged."""
    if built.whole:
        return 0
    at = [(chunk, place - chunk.first) for chunk in built.chunks
          if 0 <= place - chunk.first < chunk.starts.size]
    return sum(bool(chunk.sums[i + 1] > chunk.sums[i]) for chunk, i in at)


def _fp8(values: np.ndarray, arch: str) -> np.ndarray:
    return bits.fp8_values(arch)[bits.fp8_bits(values, arch)]
