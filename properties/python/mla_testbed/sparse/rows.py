"""Packed rows of the cache that is attended: where bytes lie, how they are quantised and read.

"ds" (fp8_ds_mla, 656 bytes for 512 + 64): the latent elements in fp8, a float32 scale for each 128
of them, the rope elements in bf16; rows follow each other.
"v4" (DeepSeek-V4, 584 bytes for 448 + 64): latent in fp8 and rope in bf16; the scales of a block
come after all of its rows, a byte for each 64 elements (2^(byte - 127)) and one that nobody reads;
a block is filled up to whole rows.
`Case.gap` bytes lie between two blocks.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from .case import CACHES, Case
from .numbers import ENCODINGS, of_bf16, rounded_bf16

#: Least amax of a tile, for its scale.
FLOOR = 1e-4
_NAN = 0x7FA5
#: 2^0 as a byte; NaN.
_BIAS, _E8M0_NAN = 127, 255


@dataclasses.dataclass(frozen=True)
class Layout:
    """Of one case's packed cache."""

    case: Case

    @property
    def tile(self) -> int:
        """Elements that share a scale."""
        return CACHES[self.case.cache]

    @property
    def tiles(self) -> int:
        """Of a row."""
        return self.case.width[0] // self.tile

    @property
    def bytes_of_scale(self) -> int:
        """Four, or one."""
        return 4 if self.case.cache == "ds" else 1

    @property
    def apart(self) -> bool:
        """Scales come after the rows of a block."""
        return self.case.cache == "v4"

    @property
    def row(self) -> int:
        """Bytes from one row to the next."""
        inside = 0 if self.apart else self.tiles * self.bytes_of_scale
        return self.case.width[0] + inside + 2 * self.case.width[1]

    @property
    def block_bytes(self) -> int:
        """From one block to the next."""
        rows = self.case.block
        if self.apart:
            rows = -(-self.case.block * (self.row + self.tiles + 1) // self.row)
        return rows * self.row + self.case.gap


@dataclasses.dataclass(frozen=True)
class Places:
    """Bytes of slots, each (slots, bytes) int64. spare: written or not, and read by nobody."""

    values: np.ndarray
    scales: np.ndarray
    rope: np.ndarray
    spare: np.ndarray


def places(case: Case, slots: np.ndarray) -> Places:
    """Where the parts of slots lie."""
    at, slots = Layout(case), np.asarray(slots, np.int64)
    latent, rope = case.width
    base, offset = slots // case.block * at.block_bytes, slots % case.block
    row = (base + offset * at.row)[:, None]
    count = at.tiles * at.bytes_of_scale
    values = row + np.arange(latent)
    if at.apart:
        scales = (base + case.block * at.row + offset * (at.tiles + 1))[:, None]
        return Places(values, scales + np.arange(count), row + latent + np.arange(2 * rope),
                      scales + count)
    return Places(values, row + latent + np.arange(count),
                  row + latent + count + np.arange(2 * rope), np.zeros((slots.size, 0), np.int64))


def power_of_two(case: Case) -> bool:
    """Whether scales are: a byte has no others."""
    return case.cache == "v4" or case.scale == "ue8m0"


def divisor_of(case: Case) -> float:
    """What writers divide by: 224 for fnuz, 448 for ocp."""
    return 224.0 if case.fp8 == "fnuz" else 448.0


def tiles_of(case: Case, latent: np.ndarray) -> np.ndarray:
    """(tokens, tiles, elements) of (tokens, latent width at least)."""
    tile = CACHES[case.cache]
    return latent[:, :case.width[0]].reshape(len(latent), case.width[0] // tile, tile)


def quantise(case: Case, tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes (tokens, latent) uint8 and scales (tokens, tiles) float32 of (tokens, width) floats."""
    tiles = tiles_of(case, tokens)
    largest = np.maximum(np.abs(tiles).max(axis=2), np.float32(FLOOR))
    scales = (largest / np.float32(divisor_of(case))).astype(np.float32)
    if power_of_two(case):
        mantissa, exponent = np.frexp(scales)
        scales = np.ldexp(np.float32(1), exponent - (mantissa == 0.5)).astype(np.float32)  # noqa: PLR2004
    codes = ENCODINGS[case.fp8].encode(tiles / scales[:, :, None])
    return codes.reshape(len(tokens), case.width[0]), scales


def as_bytes(values: np.ndarray) -> np.ndarray:
    """(n, bytes) uint8 of (n, elements)."""
    size = values.shape[1] * values.itemsize
    return np.ascontiguousarray(values).view(np.uint8).reshape(len(values), size)


def as_bf16(held: np.ndarray) -> np.ndarray:
    """(n, elements) uint16 of (n, bytes)."""
    return np.ascontiguousarray(held).view(np.uint16).reshape(len(held), held.shape[1] // 2)


def scale_bytes(case: Case, scales: np.ndarray) -> np.ndarray:
    """(tokens, bytes) uint8 of (tokens, tiles) float32."""
    if case.cache == "ds":
        return as_bytes(scales.astype(np.float32))
    made: np.ndarray = (np.log2(scales) + _BIAS).astype(np.uint8)
    return made


def empty(case: Case, slots: int) -> np.ndarray:
    """(bytes,) a cache of so many slots in which everything is NaN: what a reader must not use."""
    blocks = slots // case.block
    made = np.full(blocks * Layout(case).block_bytes, ENCODINGS[case.fp8].nan[0], np.uint8)
    at = places(case, np.arange(slots))
    if case.cache == "ds":
        made[at.scales] = np.full(at.scales.shape[1] // 4, np.nan, np.float32).view(np.uint8)
    else:
        made[at.scales] = _E8M0_NAN
    made[at.rope] = np.full(case.width[1], _NAN, np.uint16).view(np.uint8)
    return made


def store(case: Case, cache: np.ndarray, slots: np.ndarray, tokens: np.ndarray) -> None:
    """Writes tokens, (tokens, width) uint16 of bf16, to slots."""
    codes, scales = quantise(case, of_bf16(tokens))
    at = places(case, slots)
    cache[at.values], cache[at.scales], cache[at.spare] = codes, scale_bytes(case, scales), 0
    cache[at.rope] = as_bytes(tokens[:, case.width[0]:])


@dataclasses.dataclass(frozen=True)
class Stored:
    """What lies in slots. codes: (slots, latent) uint8. scales: (slots, tiles) float32. rope:
    (slots, rope) uint16."""

    codes: np.ndarray
    scales: np.ndarray
    rope: np.ndarray

    def latent(self, case: Case) -> np.ndarray:
        """(slots, latent) float64: each code times the scale of its tile, exactly."""
        tiles = tiles_of(case, ENCODINGS[case.fp8].decode(self.codes))
        made: np.ndarray = tiles * self.scales[:, :, None].astype(np.float64)
        return made.reshape(self.codes.shape)


def stored(case: Case, cache: np.ndarray, slots: np.ndarray) -> Stored:
    """The parts of slots as they lie in a cache."""
    at = places(case, slots)
    held = np.ascontiguousarray(cache[at.scales])
    if case.cache == "ds":
        scales = held.view(np.float32)
    else:
        scales = np.exp2(np.minimum(held, _E8M0_NAN - 1).astype(np.float32) - _BIAS)
        scales[held == _E8M0_NAN] = np.nan
    return Stored(cache[at.values], scales, as_bf16(cache[at.rope]))


def read(case: Case, cache: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """(slots, width) float64: what attention reads. A code has four significant bits, so that code
    times a power of two is a number of bf16; with another scale, readers round the product in
    float32, and that to bf16."""
    found = stored(case, cache, slots)
    with np.errstate(invalid="ignore"):
        parts = rounded_bf16(found.latent(case)), of_bf16(found.rope)
        return np.concatenate(parts, axis=1).astype(np.float64)
