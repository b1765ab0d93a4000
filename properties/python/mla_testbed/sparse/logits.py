"""The indexer's logits: reference, bound, and SP-06 to SP-09.

s[t, j] = sum over heads of w[t, h] * max(0, ks[j] * sum over d of q[t, h, d] * k[j, d])

The bound. Stored bytes are exact, and so is the product of two of them in f32. A dot product takes
at most KEY additions in sequence, or a matrix unit's steps of at least 4 products with two units
each, which are fewer: E_h = gamma(KEY + 2) * sum |q k|. max(0, x) does not enlarge an error. One
multiplication each with ks and w, in either order, and a sum over H heads in any order:
gamma(H + 3) of the sum of magnitudes. Where ks is applied after the sum over heads the count is the
same.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from . import cache
from .case import KEY
from .findings import Finding, Sentences, first
from .inputs import Inputs
from .numbers import gamma, product

STAGE = "logits"
#: Columns after a row's last one that no kernel may write.
FENCE = 8
#: Keys that are scored at a time: their numbers stay in the processor's cache.
_PART = 1 << 11
#: What lies in a buffer before a kernel writes it: a finite number that no logit is.
BEFORE = np.float32(-3.0e38)


@dataclasses.dataclass(frozen=True)
class Row:
    """values, bound: (keys,) float64, of the keys of the row's request: also of those it must not
    see."""

    values: np.ndarray
    bound: np.ndarray


def row_of(inputs: Inputs, codes: np.ndarray, scales: np.ndarray, row: int) -> Row:
    """A row's exact logits for stored keys: (keys, KEY) uint8 and (keys,) float32."""
    return row_of_values(inputs, inputs.encoding.decode(codes), scales, row)


def row_of_values(inputs: Inputs, k: np.ndarray, scales: np.ndarray, row: int) -> Row:
    """The same for keys that are decoded: (keys, KEY) float64."""
    heads, q = inputs.case.heads, inputs.encoding.decode(inputs.q[row])
    w, ks = inputs.weights[row].astype(np.float64), scales.astype(np.float64)
    dots = product(q, k.T)
    # In float32, which is faster: it is off by gamma(KEY) at most, both up and down.
    sizes = gamma(KEY + 2) * (1 + 2 * gamma(KEY)) * product(
        np.abs(q).astype(np.float32), np.abs(k).astype(np.float32).T).astype(np.float64)
    values = product(w[None], np.maximum(dots, 0))[0] * ks
    error = gamma(heads + 3)
    weighed = product(np.abs(w)[None], np.maximum(dots, 0) * error + sizes * (1 + error))[0]
    size = weighed * np.abs(ks)
    # A product that is flushed to zero, and what float64 loses itself.
    bound = size * (1 + 2.0 ** -40) + (2 * heads + 2) * 2.0 ** -126
    return Row(values, bound)


def rows_of(inputs: Inputs, held: np.ndarray) -> list[Row]:
    """Of all rows, for the keys that lie in a cache."""
    made: list[Row] = []
    for request, (rows, keys) in enumerate(inputs.case.requests):
        own = [Row(np.empty(keys), np.empty(keys)) for _ in range(rows)]
        slots, first_row = inputs.slots(request), int(inputs.starts[request])
        for begin in range(0, keys, _PART):
            part = np.s_[begin:begin + _PART]
            codes, scales = cache.stored(inputs, held, slots[part])
            decoded = inputs.encoding.decode(codes)
            for number, row in enumerate(own):
                some = row_of_values(inputs, decoded, scales, first_row + number)
                row.values[part], row.bound[part] = some.values, some.bound
        made += own
    return made


def columns(inputs: Inputs) -> int:
    """W: columns of a row's logits, a multiple of 256 as the engines have it."""
    return -(-int(inputs.lengths.max()) // 256) * 256


def exact_logits(inputs: Inputs, rows: list[Row]) -> np.ndarray:
    """(rows, W + FENCE) float32: the exact ones, rounded."""
    made = np.full((inputs.case.rows, columns(inputs) + FENCE), -np.inf, np.float32)
    for number, row in enumerate(rows):
        made[number, :inputs.visible[number]] = row.values[:inputs.visible[number]]
    return made


def check_logits(inputs: Inputs, rows: list[Row], found: np.ndarray, after: str,
                 ) -> list[Finding]:
    """SP-06 to SP-09.

    Args:
        rows: of rows_of.
        found: (rows, W + FENCE) float32, BEFORE everywhere before the kernel wrote. W may be less
            than `columns`: as many as the longest request has keys.
        after: what the kernel's contract has in columns that a row does not see: "masked" (-inf),
            "masked or left" (-inf, or as they were), "any".
    """
    return first(STAGE, (_fence(found), *(
        _row(inputs, number, row, found[number, :-FENCE], after)
        for number, row in enumerate(rows))))


def _fence(found: np.ndarray) -> Sentences:
    hit = np.argwhere(found[:, -FENCE:] != BEFORE)
    if len(hit):
        row, column = (int(n) for n in hit[0])
        width = found.shape[1] - FENCE
        yield "SP-08", (f"row {row} was written at column {width + column}; it has {width}")


def _row(inputs: Inputs, number: int, row: Row, found: np.ndarray, after: str) -> Sentences:
    visible, request = int(inputs.visible[number]), int(inputs.owners[number])
    named = f"row {number} (request {request})"
    away = np.abs(found[:visible].astype(np.float64) - row.values[:visible])
    wrong = ~(away <= row.bound[:visible])
    rest = found[visible:]
    if after != "any":
        legal = rest == -np.inf
        if after == "masked or left":
            legal |= rest == BEFORE
        keys = row.values.size - visible
        seen = ~legal[:keys] & ~np.isnan(rest[:keys])
        for at in np.flatnonzero(seen)[:1]:
            yield "SP-09", (f"{named} has {rest[at]:.6g} for key {visible + at}; it sees keys 0 to "
                            f"{visible - 1}; so it is with {int(seen.sum())} later keys")
    for at in np.flatnonzero(wrong)[:1]:
        what = "was not written" if found[at] == BEFORE else f"is {found[at]:.9g}"
        yield "SP-06", (f"{named} key {at}: the logit {what}; exact is {row.values[at]:.9g}, which "
                        f"allows {row.bound[at]:.3g}; wrong are {int(wrong.sum())} of {visible}")
    if after != "any" and not legal.all():
        at = int(np.argmin(legal))
        yield "SP-07", (f"{named} column {visible + at} is {rest[at]:.6g}; expected -inf after its "
                        f"{visible} keys; wrong are {int((~legal).sum())} of {legal.size}")
