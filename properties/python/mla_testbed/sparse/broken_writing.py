"""Writers and gathers with a defect, for plants.py."""

from __future__ import annotations

import dataclasses

import numpy as np

from . import cache, model
from .inputs import Inputs


def padding_written(inputs: Inputs, slot_mapping: np.ndarray, held: np.ndarray) -> None:
    """A slot of -1 is taken for the last slot of the cache."""
    last = inputs.blocks * inputs.case.block - 1
    model.write(inputs, np.where(slot_mapping < 0, last, slot_mapping), held)


def past_the_scales(inputs: Inputs, slot_mapping: np.ndarray, held: np.ndarray) -> None:
    """The four bytes after the scale of a block's last token become 0."""
    block = inputs.case.block
    last = slot_mapping[(slot_mapping >= 0) & (slot_mapping % block == block - 1)]
    after = cache.places(inputs.case, last).scales[:, -1:] + np.arange(1, 5)
    held[after[after < held.size]] = 0
    model.write(inputs, slot_mapping, held)


def dense_blocks(inputs: Inputs, slot_mapping: np.ndarray, held: np.ndarray) -> None:
    """As if nothing lay between two blocks."""
    model.write(_as(inputs, gap=0), slot_mapping, held)


def row_for_shuffle(inputs: Inputs, slot_mapping: np.ndarray, held: np.ndarray) -> None:
    """In rows, whatever the layout."""
    model.write(_as(inputs, layout="row"), slot_mapping, held)


def nearest_power(inputs: Inputs, slot_mapping: np.ndarray, held: np.ndarray) -> None:
    """The nearest power of two, which may be below amax / divisor."""
    for token in np.flatnonzero(slot_mapping >= 0):
        key = inputs.keys[token]
        least = max(float(np.abs(key).max()), cache.FLOOR) / cache.divisor_of(inputs)
        scale = np.float32(2.0 ** np.round(np.log2(least)))
        _put(inputs, held, int(slot_mapping[token]), inputs.encoding.encode(key / scale), scale)


def truncated_codes(inputs: Inputs, slot_mapping: np.ndarray, held: np.ndarray) -> None:
    """The code below instead of the nearest one."""
    model.write(inputs, slot_mapping, held)
    codes, scales = cache.quantise(inputs, cache.divisor_of(inputs))
    exact = np.abs(inputs.keys.astype(np.float64) / scales[:, None].astype(np.float64))
    for token in np.flatnonzero(slot_mapping >= 0):
        up = np.abs(inputs.encoding.decode(codes[token])) > exact[token]
        _put(inputs, held, int(slot_mapping[token]), codes[token] - up.astype(np.uint8),
             scales[token])


def gather_neighbour(inputs: Inputs, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first key of each request but the first comes from the table of the one before."""
    codes, scales = model.gather(inputs, held)
    for request in range(1, len(inputs.lengths)):
        row, before = int(inputs.key_starts[request]), inputs.slots(request - 1)[:1]
        if inputs.lengths[request] and before.size:
            found = cache.stored(inputs, held, before)
            codes[row], scales[row] = found[0][0], found[1][0]
    return codes, scales


def _as(inputs: Inputs, **fields: object) -> Inputs:
    """The same keys under another case."""
    made = dataclasses.replace(inputs, case=dataclasses.replace(inputs.case, **fields))  # type: ignore[arg-type]
    made.__dict__["keys"] = inputs.keys
    return made


def _put(inputs: Inputs, held: np.ndarray, slot: int, codes: np.ndarray, scale: np.float32) -> None:
    at = cache.places(inputs.case, np.array([slot]))
    held[at.values[0]] = codes
    held[at.scales[0]] = np.frombuffer(np.float32(scale).tobytes(), np.uint8)
