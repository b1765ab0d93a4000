"""Dense attention in float64, and the number formats, for tests."""

from __future__ import annotations

import numpy as np


def bf16(values: np.ndarray) -> np.ndarray:
    """Nearest even, as 16-bit words."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(words: np.ndarray) -> np.ndarray:
    return (words.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def fp8_table(encoding: str) -> np.ndarray:
    """The 256 values of e4m3fn or e4m3fnuz."""
    bits = np.arange(256)
    exponent, fraction = (bits >> 3) & 15, bits & 7
    bias = 7 if encoding == "e4m3fn" else 8
    size = np.where(exponent == 0, fraction * 2.0 ** (1 - bias - 3),
                    (8 + fraction) * 2.0 ** (exponent - bias - 3.0))
    values = np.where(bits >= 128, -size, size)
    if encoding == "e4m3fn":
        values[[0x7F, 0xFF]] = np.nan
    else:
        values[0x80] = np.nan
    return values


def to_fp8(values: np.ndarray, encoding: str) -> np.ndarray:
    """The nearest value, as bytes; ties go to either."""
    table = fp8_table(encoding)
    order = np.argsort(np.where(np.isnan(table), np.inf, table), kind="stable")
    order = order[: np.count_nonzero(~np.isnan(table))]
    known = table[order]
    right = np.clip(np.searchsorted(known, values), 1, known.size - 1)
    nearer_left = values - known[right - 1] < known[right] - values
    return order[np.where(nearer_left, right - 1, right)].astype(np.uint8)


def dense(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float,
          causal: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """(out, lse) of rows [rows, heads, d] over keys [keys, heads, d], right-aligned."""
    weights, top = _weights(q, k, scale, causal)
    total = weights.sum(-1, keepdims=True)
    return np.einsum("rhk,khd->rhd", weights / total, v), (top + np.log(total))[..., 0]


def rounding_bound(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float,
                   fp8: str | None) -> np.ndarray:
    """How far a kernel's output may be from dense(): the rounding of the probabilities and of the
    output (docs/reference/numerics.md). The roundings of f32 are below 2^-12 here; 1 % covers them.

    `fp8`: the encoding of fp8 probabilities; None: they are bf16.
    """
    weights, _ = _weights(q, k, scale, True)
    lost = 2.0**-8 * weights
    if fp8 is not None:
        half_smallest = 2.0**-10 if fp8 == "e4m3fn" else 2.0**-11
        lost = np.maximum(2.0**-4 * weights, np.minimum(half_smallest, weights))
    total = weights.sum(-1, keepdims=True)
    of_weights: np.ndarray = np.einsum("rhk,khd->rhd", lost / total, np.abs(v))
    return 1.01 * (of_weights + 2.0**-7 * np.abs(dense(q, k, v, scale)[0]))


def _weights(q: np.ndarray, k: np.ndarray, scale: float,
             causal: bool) -> tuple[np.ndarray, np.ndarray]:
    """Softmax weights before they are divided by their sum, and the largest score."""
    rows, keys = q.shape[0], k.shape[0]
    scores = np.einsum("rhd,khd->rhk", q, k) * scale
    if causal:
        hidden = np.arange(keys)[None, :] > keys - rows + np.arange(rows)[:, None]
        scores = np.where(hidden[:, None, :], -np.inf, scores)
    top = scores.max(-1, keepdims=True)
    return np.exp(scores - top), top
