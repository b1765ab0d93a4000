"""The indexer's cache: where its bytes lie, how keys are quantised, what a gather gives.

A block has the values of its tokens, then a float32 scale for each. `Case.gap` bytes lie between
two blocks.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .case import KEY, ROW, SCALE, TILE, Case
from .inputs import Inputs
from .numbers import U32

#: Keys that are written at a time.
_PART = 1 << 14
#: Least magnitude of a key, for its scale.
FLOOR = 1e-4
#: A scale of a power of two comes from log2, ceil and exp2 in f32. The scale before lies in
#: [2^-24, 2^9], so its logarithm is at most 24, whose unit in the last place is 2^-19. With two of
#: them for log2 and the division's rounding the exponent is off by less than 2^-17.
_EXPONENT_OFF = 2.0 ** -17


@dataclasses.dataclass(frozen=True)
class Places:
    """Bytes of the cache that belong to slots.

    values: (slots, KEY) int64. scales: (slots, SCALE) int64.
    """

    values: np.ndarray
    scales: np.ndarray


def places(case: Case, slots: np.ndarray) -> Places:
    """Where value and scale of slots lie."""
    slots = np.asarray(slots, np.int64)
    base, offset = slots // case.block * case.block_bytes, slots % case.block
    d = np.arange(KEY)
    if case.layout == "row":
        inner = offset[:, None] * KEY + d
    else:
        inner = (offset[:, None] // TILE * (TILE * KEY) + d // TILE * (TILE * TILE)
                 + offset[:, None] % TILE * TILE + d % TILE)
    scale = base + case.block * KEY + SCALE * offset
    return Places(base[:, None] + inner, scale[:, None] + np.arange(SCALE))


def _of_blocks(case: Case, cache: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bytes of a cache as values (blocks, block, 8, 16) and scales (blocks, block, SCALE): what
    `places` says, for so many slots that a list of their bytes would not fit into memory."""
    blocks = (cache.size + case.gap) // case.block_bytes
    if case.layout == "row":
        values = as_strided(cache, (blocks, case.block, KEY // TILE, TILE),
                            (case.block_bytes, KEY, TILE, 1))
    else:
        values = as_strided(cache, (blocks, case.block // TILE, TILE, KEY // TILE, TILE),
                            (case.block_bytes, TILE * KEY, TILE, TILE * TILE, 1))
    scales = as_strided(cache[case.block * KEY:], (blocks, case.block, SCALE),
                        (case.block_bytes, SCALE, 1))
    return values, scales


def _at(case: Case, slots: np.ndarray) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Indices of slots in what `_of_blocks` gives."""
    block, offset = np.divmod(np.asarray(slots, np.int64), case.block)
    if case.layout == "row":
        return (block, offset), (block, offset)
    return (block, *np.divmod(offset, TILE)), (block, offset)


def put(case: Case, cache: np.ndarray, slots: np.ndarray, codes: np.ndarray | bool,
        scales: np.ndarray | bool) -> None:
    """Puts codes (slots, KEY) and bytes of scales (slots, SCALE) into slots of a cache."""
    (values, of_scales), (at, at_scales) = _of_blocks(case, cache), _at(case, slots)
    values[at] = codes if isinstance(codes, bool) else codes.reshape(-1, KEY // TILE, TILE)
    of_scales[at_scales] = scales


def scale_limits(keys: np.ndarray, divisor: float, kind: str, floor: float = FLOOR,
                 ) -> tuple[np.ndarray, np.ndarray]:
    """(tokens,) least and largest legal scale of keys.

    "ue8m0": a power of two in these limits, the smallest that is not below amax / divisor, or its
    neighbour where the logarithm cannot tell. "f32": amax / divisor, with the roundings of a
    division, or of a multiplication with a rounded reciprocal.
    """
    exact = np.maximum(np.abs(keys).max(axis=1).astype(np.float64), floor) / divisor
    if kind == "f32":
        return exact * (1 - 3 * U32), exact * (1 + 3 * U32)
    off = 2.0 ** _EXPONENT_OFF
    return exact / off, 2 * exact * off


def quantise(inputs: Inputs, divisor: float) -> tuple[np.ndarray, np.ndarray]:
    """Codes (tokens, KEY) uint8 and scales (tokens,) float32 of all keys, as this module's own."""
    return quantised(inputs, inputs.keys, divisor)


def quantised(inputs: Inputs, keys: np.ndarray, divisor: float) -> tuple[np.ndarray, np.ndarray]:
    """The same of some keys."""
    exact = np.maximum(np.abs(keys).max(axis=1), np.float32(FLOOR)) / np.float32(divisor)
    scales = exact.astype(np.float32)
    if inputs.case.scale == "ue8m0":
        mantissa, exponent = np.frexp(scales)
        scales = np.ldexp(np.float32(1), exponent - (mantissa == 0.5)).astype(np.float32)  # noqa: PLR2004
    return inputs.encoding.encode(keys / scales[:, None]), scales


def divisor_of(inputs: Inputs) -> float:
    """What most writers divide by: 224 for fnuz, where 240 would be possible, and 448."""
    return 224.0 if inputs.case.fp8 == "fnuz" else inputs.encoding.most


def empty(inputs: Inputs) -> np.ndarray:
    """(bytes,) a cache that nobody wrote: noise."""
    return inputs.noise(inputs.blocks * inputs.case.block_bytes)


def unread(inputs: Inputs) -> np.ndarray:
    """(bytes,) a cache in which everything is NaN: what a reader must not use."""
    case = inputs.case
    made = np.full((inputs.blocks, case.block_bytes), inputs.encoding.nan[0], np.uint8)
    none = np.full(case.block, np.nan, np.float32).view(np.uint8)
    made[:, case.block * KEY:case.block * ROW] = none
    return made.reshape(-1)


def written(inputs: Inputs, divisor: float | None = None) -> np.ndarray:
    """A cache with all keys of the case; everything else is NaN."""
    cache, live = unread(inputs), np.flatnonzero(inputs.slot_mapping >= 0)
    keys, which = inputs.different_keys()
    codes, scales = quantised(inputs, keys, divisor or divisor_of(inputs))
    of_scales = scales.view(np.uint8).reshape(-1, SCALE)
    for begin in range(0, live.size, _PART):
        part = live[begin:begin + _PART]
        put(inputs.case, cache, inputs.slot_mapping[part], codes[which[part]],
            of_scales[which[part]])
    return cache


def stored(inputs: Inputs, cache: np.ndarray, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes (slots, KEY) uint8 and scales (slots,) float32 as they lie in a cache."""
    (values, scales), (at, at_scales) = _of_blocks(inputs.case, cache), _at(inputs.case, slots)
    return (values[at].reshape(-1, KEY),
            np.ascontiguousarray(scales[at_scales]).view(np.float32)[:, 0])


def gathered(inputs: Inputs, cache: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes (keys, KEY) and scales (keys,) of all requests, one after the other."""
    slots = [inputs.slots(request) for request in range(len(inputs.case.requests))]
    return stored(inputs, cache, np.concatenate(slots))
