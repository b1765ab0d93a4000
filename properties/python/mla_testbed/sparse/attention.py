"""Sparse attention over lists of slots: reference, bound, SP-17 to SP-19.

The bound. u = 2^-24, c the softmax scale, s_j = c q k_j, m = max s_j, p_j = e^(s_j - m) / W.

A kernel's weight of key j is w_j e^d (1 + h), |d| <= D_j, |h| <= 2^-8 where weights are rounded to
bf16. D_j is the sum of
  gamma(width + 2) c sum |q k|     the dot product, as in logits.py
  2^-8 c sum |q k|                 only of kernels that round q * scale to bf16, if it is not known
                                   how; where it is, the rounded query is an exact input
  gamma(8) |s_j|                   scale, log2 e, their product
  gamma(2) (m - s_j)               differences to running maxima, which only grow
  4u (n + 3)                       an exponential for the weight, one for each tile's rescale (a
                                   tile has a key at least), two for the merge
A sink is a term e^(sink - m) of the denominator, whose weight of W is z, with an error of
F = e^(gamma(2) |m - sink| + gamma(16) (|lse| + |sink| + 1)) - 1: kernels that know no sink scale
their result with the two logarithms afterwards, and round once more.
Sums over n keys take at most 3n + 8 additions, rescales, divisions: g = gamma(3n + 8). With
A_j = e^D_j (1 + 2^-8) (1 + g) - 1 and B = sum p_j A_j, which also bounds a denominator with or
without rounded weights,
  |out - exact| <= (sum p_j A_j |v_j| + |exact| (B + z F)) / (1 - B - z F)
and each rounding to bf16 adds 2^-8 of the result.
The logarithm of the denominator is off by max D_j + 2^-8 + g at most, and it, the maximum that it
is added to and the sum are rounded: gamma(8) (|lse| + |m| + 1).
Nothing is left out as of second order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from .findings import Finding, Sentences, first
from .inputs import Inputs
from .lists import Lists
from .numbers import U32, UBF16, gamma, of_bf16, product, rounded_bf16
from .selection import NONE

STAGE = "attend"
#: Of a row without keys: what its output is.
EMPTY = ("zero", "nan", "any")
#: (slots, width) float64 of slots.
Keys = Callable[[np.ndarray], np.ndarray]
LOG2E = 1.4426950408889634


@dataclasses.dataclass(frozen=True)
class Attended:
    """out, bound: (heads, value width) float64. lse: (heads,), natural log; -inf without keys.
    lse_bound: (heads,), of a kernel that knows no sink."""

    out: np.ndarray
    bound: np.ndarray
    lse: np.ndarray
    lse_bound: np.ndarray


def attended(inputs: Inputs, number: int, slots: np.ndarray, *, query: str = "exact",
             sink: np.ndarray | None = None, keys: Keys | None = None) -> Attended:
    """A row's attention over slots; -1 is skipped.

    Args:
        query: "exact"; "base2": the kernel rounds q times scale times log2 e to bf16, in f32
            before; "rounded": it rounds q times the scale to bf16 in some way.
        keys: the rows of slots, where they are not those of the inputs' cache.
        sink: (heads,) a score that takes part in the denominator alone; -inf: none.
    """
    width, slots = inputs.case.value_width, slots[slots != NONE]
    heads, count = inputs.case.qheads, slots.size
    if count == 0:
        nothing = np.zeros((heads, width))
        return Attended(nothing, nothing, np.full(heads, -np.inf), np.zeros(heads))
    q = of_bf16(inputs.query[number]).astype(np.float64)
    k = (keys or inputs.attended_rows)(slots)
    scale = inputs.softmax_scale
    if query == "base2":
        rounded = of_bf16(inputs.query[number]) * np.float32(scale * LOG2E)
        q, scale = rounded_bf16(rounded).astype(np.float64), 1 / LOG2E
    s = scale * product(q, k.T)
    size = scale * product(np.abs(q), np.abs(k).T)
    top = s.max(axis=1, keepdims=True)
    if sink is not None:
        top = np.maximum(top, sink[:, None])
    w = np.exp(s - top)
    total = w.sum(axis=1, keepdims=True)
    if sink is not None:
        total = total + np.exp(sink[:, None] - top)
    p = w / total
    d = (gamma(inputs.case.row_width + 2) + (UBF16 if query == "rounded" else 0)) * size \
        + gamma(8) * np.abs(s) + gamma(2) * (top - s) + 4 * U32 * (count + 3)
    a = np.exp(d) * (1 + UBF16) * (1 + gamma(3 * count + 8)) - 1
    v = k[:, :width]
    out = product(p, v)
    b = (p * a).sum(axis=1, keepdims=True)
    if sink is not None:
        b = b + _of_sink(sink, top[:, 0], total[:, 0])[:, None]
    raw = np.divide(product(p * a, np.abs(v)) + np.abs(out) * b, 1 - b,
                    out=np.full(out.shape, np.inf), where=b < 1)
    for _ in range(1 if sink is None else 2):
        raw = raw + UBF16 * (np.abs(out) + raw)
    lse = (np.log(total) + top)[:, 0]
    of_lse = d.max(axis=1) + UBF16 + gamma(3 * count + 8) \
        + gamma(8) * (np.abs(lse) + np.abs(top[:, 0]) + 1)
    return Attended(out, raw + 2.0 ** -126, lse, of_lse)


def _of_sink(sink: np.ndarray, top: np.ndarray, total: np.ndarray) -> np.ndarray:
    """z F of each head; 0 where there is no sink."""
    there = np.isfinite(sink)
    score = np.where(there, sink, top)
    lse = np.log(total) + top
    power = gamma(2) * np.abs(top - score) + gamma(16) * (np.abs(lse) + np.abs(score) + 1)
    made: np.ndarray = np.where(there, np.exp(score - lse) * np.expm1(power), 0)
    return made


def check_attention(inputs: Inputs, lists: Lists, found: np.ndarray, *, empty: str = "zero",
                    query: str = "exact", sink: np.ndarray | None = None,
                    keys: Keys | None = None) -> list[Finding]:
    """SP-17 and SP-18 of the output of all rows; with a sink SP-19.

    Args:
        found: (rows + pad, heads, value width) float. empty: one of EMPTY, the kernel's contract
            for a row without keys. query, keys: as for attended.
    """
    fails = "SP-17" if sink is None else "SP-19"
    rows = range(inputs.case.rows + inputs.case.pad)
    return first(STAGE, (
        _row(inputs, number, lists.row(number), found[number], empty, fails, query, sink, keys)
        for number in rows))


def _row(inputs: Inputs, number: int, slots: np.ndarray, found: np.ndarray, empty: str, fails: str,
         query: str, sink: np.ndarray | None, keys: Keys | None) -> Sentences:
    if not (slots != NONE).any():
        if empty == "zero" and not (found == 0).all():
            yield "SP-18", (f"row {number} has no keys; its output is "
                            f"{found.flat[np.flatnonzero(found != 0)[0]]:.6g}, expected 0")
        elif empty == "nan" and not np.isnan(found).all():
            yield "SP-18", f"row {number} has no keys; its output is {found.flat[0]:.6g}, not NaN"
        return
    right = attended(inputs, number, slots, query=query, sink=sink, keys=keys)
    away = np.abs(found.astype(np.float64) - right.out)
    wrong = ~(away <= right.bound)
    if wrong.any():
        worst = np.where(np.isfinite(away), away, np.inf) - right.bound
        head, dim = (int(n) for n in np.unravel_index(int(np.argmax(worst)), wrong.shape))
        yield fails, (f"row {number} ({(slots != NONE).sum()} keys) head {head} dim {dim} is "
                      f"{found[head, dim]:.6g}; the reference has {right.out[head, dim]:.6g} and "
                      f"allows {right.bound[head, dim]:.3g}; wrong are {int(wrong.sum())} of "
                      f"{wrong.size}")
