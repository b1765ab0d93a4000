"""Dense grouped-query attention in float64: the reference, and the body of the served kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


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


def _rows(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    kv_heads, group, rows, _ = weights.shape
    out = np.einsum("hgrk,khd->rhgd", weights, values)
    return out.reshape(rows, kv_heads * group, values.shape[-1])
