"""Dense grouped-query attention in float64: a reference, and the body of the served kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .step import EngineStep
from .tensors import values_of

#: Relative error of rounding to bf16 is 2**-8; the rest is for sums in float32.
_ROUNDING = 1.05 * 2.0 ** -8


class Attended(NamedTuple):
    """out, absolute: (rows, heads, dim), absolute is the sum of weight times |value|.
    lse: (rows, heads), natural log; -inf for a row without keys, whose output is 0."""

    out: np.ndarray
    absolute: np.ndarray
    lse: np.ndarray


def attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, *, causal: bool,
    left: int = -1,
) -> Attended:
    """Rows are aligned with the end of the keys.

    Args:
        q: (rows, heads, dim). k: (keys, kv_heads, dim); kv_heads divides heads.
        v: (keys, kv_heads, elements); they may be another number.
        causal: a row sees no key after its own.
        left: how many keys before its own a row sees; negative: all.
    """
    rows, heads, dim = q.shape
    keys, kv_heads, _ = k.shape
    if keys == 0 or rows == 0:
        nothing = np.zeros((rows, heads, v.shape[-1]))
        return Attended(nothing, nothing, np.full((rows, heads), -np.inf))
    q64 = q.astype(np.float64).reshape(rows, kv_heads, heads // kv_heads, dim)
    scores = np.einsum("rhgd,khd->hgrk", q64, k.astype(np.float64)) * scale
    distance = np.arange(keys)[None, :] - (np.arange(rows)[:, None] + keys - rows)
    seen: np.ndarray = np.ones((rows, keys), bool)
    if causal:
        seen = seen & (distance <= 0)
    if left >= 0:
        seen = seen & (distance >= -left)
    scores = np.where(seen, scores, -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    total = weights.sum(axis=-1, keepdims=True)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total != 0)
    with np.errstate(divide="ignore"):
        lse = (np.log(total) + np.where(np.isfinite(top), top, 0.0))[..., 0]
    # A key that no row sees is not read: a NaN in it does no harm.
    read: np.ndarray = np.asarray(seen.any(axis=0))
    values = np.where(read[:, None, None], v.astype(np.float64), 0.0)
    return Attended(_rows(weights, values), _rows(weights, np.abs(values)),
                    lse.transpose(2, 0, 1).reshape(rows, heads))


def rounded(one: Attended, merges: int) -> np.ndarray:
    """How far each element may be away: it is rounded to bf16 once in its part, and once more by
    each merge of parts."""
    bound: np.ndarray = _ROUNDING * (1 + merges) * one.absolute + 1e-6
    return bound


def of_requests(
    step: EngineStep, order: Sequence[int], q: np.ndarray,
    attended: Callable[[int, np.ndarray], tuple[np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray]:
    """The result and its bound, of one request after the other.

    Args:
        order: the requests.
        q: (rows, heads, width) bits of their rows.
        attended: result and bound of the request at a place, from its rows as float32.
    """
    ends = np.cumsum([step.query_lens[request] for request in order])
    made = [attended(place, values_of(rows, step.arch))
            for place, rows in enumerate(np.split(q, ends[:-1]))]
    right, bound = zip(*made, strict=True)
    return np.concatenate(right), np.concatenate(bound)


def _rows(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    kv_heads, group, rows, _ = weights.shape
    out = np.einsum("hgrk,khd->rhgd", weights, values)
    return out.reshape(rows, kv_heads * group, values.shape[-1])
