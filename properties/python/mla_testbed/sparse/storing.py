"""SP-01 to SP-05 of packed rows: what a writer of them, and a gather that unpacks them, must do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import rows
from .cache import scale_limits
from .findings import Finding, Sentences, first
from .inputs import Inputs
from .numbers import U32, of_bf16, rounded_bf16
from .rows import Layout, Stored
from .writing import SCALE_NEAR

#: Writes the tokens of the inputs to the slots that are given, into the cache.
Store = Callable[[Inputs, np.ndarray, np.ndarray], None]
STAGE, FETCH = "store", "fetch"


def tokens_of(inputs: Inputs, slots: np.ndarray) -> np.ndarray:
    """(tokens, width) uint16 of bf16: what a writer gets for slots; ones for a slot of -1."""
    made: np.ndarray = np.where(slots[:, None] < 0, np.uint16(0x3F80), inputs.latent[slots])
    return made


def check_store(inputs: Inputs, store: Store, *, divisor: float | None = None,
                floor: float = rows.FLOOR) -> list[Finding]:
    """SP-01 to SP-04 of a writer of packed rows.

    Args:
        divisor: it divides by this. floor: the least amax of a tile, for its scale.
    """
    before = inputs.noise(inputs.packed.size)
    padded, after = before.copy(), before.copy()
    store(inputs, np.full_like(inputs.slot_mapping, -1), padded)
    store(inputs, inputs.slot_mapping, after)
    divisor = rows.divisor_of(inputs.case) if divisor is None else divisor
    return first(STAGE, (_padding(inputs, before, padded), _tokens(inputs, after, divisor, floor),
                         _outside(inputs, before, after)))


def _padding(inputs: Inputs, before: np.ndarray, after: np.ndarray) -> Sentences:
    changed = np.flatnonzero(before != after)
    if changed.size:
        yield "SP-01", (f"tokens whose slot is -1 changed {changed.size} bytes, the first of them "
                        f"{_named(inputs, int(changed[0]))}")


def _outside(inputs: Inputs, before: np.ndarray, after: np.ndarray) -> Sentences:
    allowed = np.zeros(before.size, bool)
    at = rows.places(inputs.case, inputs.live)
    for part in (at.values, at.scales, at.rope, at.spare):
        allowed[part] = True
    changed = np.flatnonzero((before != after) & ~allowed)
    if changed.size:
        yield "SP-02", (f"{changed.size} bytes that belong to no slot of the batch changed, the "
                        f"first of them {_named(inputs, int(changed[0]))}")


def _tokens(inputs: Inputs, after: np.ndarray, divisor: float, floor: float) -> Sentences:
    case, slots = inputs.case, inputs.live
    found, right = rows.stored(case, after, slots), of_bf16(inputs.latent[slots])
    wrong = (found.rope != inputs.latent[slots, case.width[0]:]).any(axis=1)
    for at in np.flatnonzero(wrong)[:1]:
        d = int(np.argmax(found.rope[at] != inputs.latent[slots[at], case.width[0]:]))
        yield "SP-03", (f"slot {slots[at]} has {of_bf16(found.rope[at])[d]:.6g} for rope element "
                        f"{d}, the token {right[at, case.width[0] + d]:.6g}; so it is with "
                        f"{int(wrong.sum())} of {slots.size} slots")
    tiles = rows.tiles_of(case, right.astype(np.float64))
    kind = "ue8m0" if rows.power_of_two(case) else "f32"
    flat = tiles.reshape(-1, tiles.shape[2])
    least, most = (side.reshape(tiles.shape[:2])
                   for side in scale_limits(flat, divisor, kind, floor))
    scales = found.scales.astype(np.float64)
    # Without a floor a tile of zeros has no scale of its own: any number.
    none = (least == 0) & np.isfinite(scales)
    legal = none | ((least <= scales) & (scales <= most))
    if kind == "ue8m0":
        legal &= none | (np.frexp(scales)[0] == 0.5)  # noqa: PLR2004
    far = ~none & ~((scales >= least / SCALE_NEAR) & (scales <= most * SCALE_NEAR))
    for at, tile in np.argwhere(far)[:1]:
        yield "SP-03", (f"slot {slots[at]} has the scale {scales[at, tile]:.6g} for tile {tile}, "
                        f"whose amax is {np.abs(tiles[at, tile]).max():.6g}; so it is with "
                        f"{int(far.any(axis=1).sum())} of {slots.size} slots")
    away = ~(np.abs(found.latent(case) - right[:, :case.width[0]])
             <= np.maximum(np.abs(tiles).max(axis=2), floor).repeat(tiles.shape[2], axis=1) / 8)
    for at, d in np.argwhere(away & legal.repeat(tiles.shape[2], axis=1))[:1]:
        yield "SP-03", (f"slot {slots[at]} has {found.latent(case)[at, d]:.6g} for element {d}, "
                        f"the token {right[at, d]:.6g}; so it is with "
                        f"{int(away.any(axis=1).sum())} of {slots.size} slots")
    for at, tile in np.argwhere(~legal)[:1]:
        yield "SP-04", (f"the scale of tile {tile} in slot {slots[at]} is {scales[at, tile]:.9g}; "
                        f"amax {np.abs(tiles[at, tile]).max():.9g} over {divisor:g} allows "
                        f"{least[at, tile]:.9g} to {most[at, tile]:.9g}; wrong are "
                        f"{int((~legal).sum())} of {legal.size}")
    yield from _codes(inputs, slots, tiles, found)


def _codes(inputs: Inputs, slots: np.ndarray, tiles: np.ndarray, found: Stored) -> Sentences:
    """Nearest to element / scale; the kernel may multiply with a rounded reciprocal. With a scale
    of 0, which a tile of zeros may have, any number will do."""
    encoding, scales = inputs.encoding, found.scales[:, :, None].astype(np.float64)
    ratio = np.divide(tiles, scales, out=np.zeros_like(tiles), where=scales != 0)
    low, high = (encoding.decode(encoding.encode(ratio * (1 + side * 3 * U32)))
                 for side in (-1, 1))
    values = encoding.decode(found.codes).reshape(tiles.shape)
    right = (values == low) | (values == high) | ((scales == 0) & np.isfinite(values))
    if not right.all():
        at, tile, d = (int(n) for n in np.argwhere(~right)[0])
        yield "SP-04", (f"element {tile * tiles.shape[2] + d} in slot {slots[at]} is "
                        f"{values[at, tile, d]:g}; {ratio[at, tile, d]:.9g} rounds to "
                        f"{low[at, tile, d]:g}; wrong are {int((~right).sum())} of {right.size}")


def check_fetch(inputs: Inputs, slots: np.ndarray, found: np.ndarray, fence: np.ndarray,
                ) -> list[Finding]:
    """SP-05 of a gather that unpacks rows.

    Args:
        slots: (n,) that are asked for. found: (n, width) float32, numbers of bf16. fence: bytes
            after the last row of the output that changed.
    """
    return first(FETCH, [_fetched(inputs, slots, found, fence)])


def _fetched(inputs: Inputs, slots: np.ndarray, found: np.ndarray, fence: np.ndarray) -> Sentences:
    right = rows.read(inputs.case, inputs.packed, slots)
    exact = rows.stored(inputs.case, inputs.packed, slots).latent(inputs.case)
    once = right.copy()
    once[:, :inputs.case.width[0]] = rounded_bf16(exact)
    wrong = (found != right) & (found != once)
    for row, d in np.argwhere(wrong)[:1]:
        yield "SP-05", (f"row {row} has {found[row, d]:.6g} for element {d}; slot {slots[row]} "
                        f"holds {right[row, d]:.6g}; wrong are {int(wrong.any(axis=1).sum())} of "
                        f"{slots.size} rows")
    if fence.any():
        yield "SP-05", (f"{int(fence.sum())} bytes after the last of {slots.size} unpacked rows "
                        "were written")


def _named(inputs: Inputs, byte: int) -> str:
    case, at = inputs.case, Layout(inputs.case)
    block, inner = divmod(byte, at.block_bytes)
    if inner < case.block * at.row:
        return f"byte {byte} (block {block}: {inner % at.row} of its row {inner // at.row})"
    return f"byte {byte} (block {block}: {inner - case.block * at.row} after its rows)"
