"""SP-01 to SP-05: what a writer of the indexer's cache and a gather from it must do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from . import cache
from .case import KEY
from .findings import Finding, Sentences, first
from .inputs import Inputs
from .numbers import U32

#: Writes all tokens of the inputs to the slots that are given, into the cache.
Write = Callable[[Inputs, np.ndarray, np.ndarray], None]
STAGE, GATHER = "write", "gather"
#: Scales that are further off are no scale of the key.
SCALE_NEAR = 4
#: Tokens that are compared at a time.
_PART = 1 << 14


def check_write(inputs: Inputs, write: Write, divisors: Sequence[float],
                floor: float = cache.FLOOR) -> list[Finding]:
    """SP-01 to SP-04 of a writer that divides by one of these; floor: see cache.FLOOR."""
    before = cache.empty(inputs)
    padded, after = before.copy(), before.copy()
    write(inputs, np.full_like(inputs.slot_mapping, -1), padded)
    write(inputs, inputs.slot_mapping, after)
    return first(STAGE, (_padding(inputs, before, padded), _tokens(inputs, after, divisors, floor),
                         _outside(inputs, before, after)))


def check_written(inputs: Inputs, before: np.ndarray, after: np.ndarray,
                  divisors: Sequence[float], floor: float = cache.FLOOR) -> list[Finding]:
    """SP-02 to SP-04 of one step of a writer, whose slots may have -1 among them.

    Args:
        before, after: the cache.
    """
    return first(STAGE, (_tokens(inputs, after, divisors, floor),
                         _outside(inputs, before, after)))


def _padding(inputs: Inputs, before: np.ndarray, after: np.ndarray) -> Sentences:
    changed = np.flatnonzero(before != after)
    if changed.size:
        yield "SP-01", (f"tokens whose slot is -1 changed {changed.size} bytes, the first of them "
                        f"{_named(inputs, int(changed[0]))}")


def _outside(inputs: Inputs, before: np.ndarray, after: np.ndarray) -> Sentences:
    allowed = np.zeros(before.size, bool)
    slots = inputs.slot_mapping[inputs.slot_mapping >= 0]
    cache.put(inputs.case, allowed, slots, codes=True, scales=True)
    changed = np.flatnonzero((before != after) & ~allowed)
    if changed.size:
        yield "SP-02", (f"{changed.size} bytes that belong to no slot of the batch changed, the "
                        f"first of them {_named(inputs, int(changed[0]))}")


def _tokens(inputs: Inputs, after: np.ndarray, divisors: Sequence[float], floor: float,
            ) -> Sentences:
    live = np.flatnonzero(inputs.slot_mapping >= 0)
    codes, scales = cache.stored(inputs, after, inputs.slot_mapping[live])
    different, which = inputs.different_keys()
    judged, like = _judged(which[live], codes, scales)
    slots, keys = inputs.slot_mapping[live[judged]], different[which[live[judged]]]
    keys, codes, scales = keys.astype(np.float64), codes[judged], scales[judged]
    limits = [cache.scale_limits(keys, divisor, inputs.case.scale, floor) for divisor in divisors]
    legal = np.any([(least <= scales) & (scales <= most) for least, most in limits], axis=0)
    if inputs.case.scale == "ue8m0":
        legal &= np.frexp(scales)[0] == 0.5  # noqa: PLR2004
    values = inputs.encoding.decode(codes) * scales[:, None].astype(np.float64)
    away = np.abs(values - keys)
    room = np.maximum(np.abs(keys).max(axis=1, keepdims=True), floor) / 8
    # A scale that is far off, or a legal one whose values are: other bytes lie there.
    near = (scales >= limits[0][0] / SCALE_NEAR) & (scales <= limits[0][1] * SCALE_NEAR)
    misplaced = ~near | (legal & ~(away <= room).all(axis=1))
    for at in np.flatnonzero(misplaced)[:1]:
        d = int(np.argmax(~(away[at] <= room[at])))
        yield "SP-03", (f"slot {slots[at]} has {values[at, d]:.6g} for element {d}, the token "
                        f"{keys[at, d]:.6g}; so it is with {int(misplaced[like].sum())} of "
                        f"{like.size} slots in the layout '{inputs.case.layout}'")
    for at in np.flatnonzero(~legal)[:1]:
        least, most = limits[0][0][at], limits[0][1][at]
        yield "SP-04", (f"the scale in slot {slots[at]} is {scales[at]:.9g}; amax "
                        f"{np.abs(keys[at]).max():.9g} over {divisors[0]:g} allows {least:.9g} to "
                        f"{most:.9g}; wrong are {int((~legal)[like].sum())} of {like.size}")
    yield from _codes(inputs, slots, keys, codes, scales, like)


def _judged(which: np.ndarray, codes: np.ndarray, scales: np.ndarray,
            ) -> tuple[np.ndarray, np.ndarray]:
    """Tokens that are judged, ascending, and for each token the place of the one that has its key
    and its bytes: what is right of one is right of all."""
    tokens = np.arange(which.size)
    lead = np.zeros(int(which.max(initial=-1)) + 1, np.int64)
    lead[which[::-1]] = tokens[::-1]
    like = lead[which]
    bits, words = scales.view(np.uint32), codes.view(np.uint64)
    same = bits == bits[like]
    for begin in range(0, tokens.size, _PART):
        part = np.s_[begin:begin + _PART]
        same[part] &= (words[part] == words[like[part]]).all(axis=1)
    like = np.where(same, like, tokens)
    judged = np.flatnonzero(like == tokens)
    return judged, np.searchsorted(judged, like)


def _codes(inputs: Inputs, slots: np.ndarray, keys: np.ndarray, codes: np.ndarray,
           scales: np.ndarray, like: np.ndarray) -> Sentences:
    """Nearest to key / scale; the kernel may multiply with a rounded reciprocal."""
    encoding = inputs.encoding
    ratio = keys / scales[:, None].astype(np.float64)
    found = encoding.decode(codes)
    low, high = (encoding.decode(encoding.encode(ratio * (1 + side * 3 * U32)))
                 for side in (-1, 1))
    right = (found == low) | (found == high)
    if not right.all():
        at, d = (int(n) for n in np.argwhere(~right)[0])
        wrong = int((~right).sum(axis=1)[like].sum())
        yield "SP-04", (f"element {d} in slot {slots[at]} is {found[at, d]:g}; {ratio[at, d]:.9g} "
                        f"rounds to {low[at, d]:g}; wrong are {wrong} of {like.size * KEY}")


def check_gather(inputs: Inputs, held: np.ndarray, codes: np.ndarray, scales: np.ndarray,
                 fence: np.ndarray) -> list[Finding]:
    """SP-05 of a gather of all requests' keys.

    Args:
        held: the cache. codes, scales: (keys, KEY) uint8 and (keys,) float32, as gathered.
        fence: bool: bytes after the last row of the outputs that changed.
    """
    return first(GATHER, [_gathered(inputs, held, codes, scales, fence)])


def _gathered(inputs: Inputs, held: np.ndarray, codes: np.ndarray, scales: np.ndarray,
              fence: np.ndarray) -> Sentences:
    right, right_scales = cache.gathered(inputs, held)
    bits, right_bits = scales.view(np.uint32), right_scales.view(np.uint32)
    wrong = (codes != right).any(axis=1) | (bits != right_bits)
    for row in np.flatnonzero(wrong)[:1]:
        request = int(np.searchsorted(inputs.key_starts, row, side="right")) - 1
        key = int(row) - int(inputs.key_starts[request])
        yield "SP-05", (f"row {row} is not key {key} of request {request}, which lies in slot "
                        f"{inputs.slots(request)[key]}; wrong are {int(wrong.sum())} of "
                        f"{wrong.size}, {int((bits != right_bits).sum())} of their scales")
    if fence.any():
        yield "SP-05", (f"{int(fence.sum())} bytes after the last of {wrong.size} gathered rows "
                        "were written")


def _named(inputs: Inputs, byte: int) -> str:
    """A byte of the cache, by block and what lies there."""
    case = inputs.case
    block, inner = divmod(byte, case.block_bytes)
    if inner < case.block * KEY:
        what = f"of its values, {inner}"
    elif inner < case.block_bytes - case.gap:
        what = f"of the scale of its token {(inner - case.block * KEY) // 4}"
    else:
        what = f"{inner - case.block_bytes + case.gap} after its end"
    return f"byte {byte} (block {block}: {what})"


__all__ = ["GATHER", "SCALE_NEAR", "STAGE", "Write", "check_gather", "check_write",
           "check_written"]
