"""Writers, gathers and attention over packed rows with a defect, for plants.py."""

from __future__ import annotations

import dataclasses

import numpy as np

from . import model, rows
from .inputs import Inputs
from .lists import Lists
from .numbers import ENCODINGS, of_bf16, rounded_bf16


def padding_stored(inputs: Inputs, slot_mapping: np.ndarray, held: np.ndarray) -> None:
    """A slot of -1 is taken for slot 0, where a token of ones goes."""
    other = dataclasses.replace(inputs)
    other.__dict__["latent"] = inputs.latent.copy()
    other.latent[0] = 0x3F80
    model.store(other, np.where(slot_mapping < 0, 0, slot_mapping), held)


def row_too_long(inputs: Inputs, slot_mapping: np.ndarray, held: np.ndarray) -> None:
    """The two bytes after the rope part of a block's last row become 0."""
    last = slot_mapping[(slot_mapping >= 0) & (slot_mapping % inputs.case.block
                                               == inputs.case.block - 1)]
    after = rows.places(inputs.case, last).rope[:, -1:] + np.arange(1, 3)
    held[after[after < held.size]] = 0
    model.store(inputs, slot_mapping, held)


def dense_rows(inputs: Inputs, slot_mapping: np.ndarray, held: np.ndarray) -> None:
    """As if nothing lay between two blocks."""
    other = dataclasses.replace(inputs, case=dataclasses.replace(inputs.case, gap=0))
    other.__dict__["latent"] = inputs.latent
    model.store(other, slot_mapping, held)


def one_scale(inputs: Inputs, slot_mapping: np.ndarray, held: np.ndarray) -> None:
    """Each tile is quantised with the scale of the first one, which all of them store."""
    model.store(inputs, slot_mapping, held)
    case, live = inputs.case, slot_mapping[slot_mapping >= 0]
    at, found = rows.places(case, live), rows.stored(case, held, live)
    scales = np.repeat(found.scales[:, :1], rows.Layout(case).tiles, axis=1)
    tiles = rows.tiles_of(case, of_bf16(inputs.latent[live]))
    held[at.values] = inputs.encoding.encode(tiles / scales[:, :, None]).reshape(
        live.size, case.width[0])
    held[at.scales] = rows.scale_bytes(case, scales)


def scales_shifted(inputs: Inputs, held: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """The scale of the tile before, but for the first one."""
    case, found = inputs.case, rows.stored(inputs.case, held, slots)
    scales = np.concatenate([found.scales[:, :1], found.scales[:, :-1]], axis=1)
    latent = dataclasses.replace(found, scales=scales).latent(case)
    return np.concatenate([rounded_bf16(latent), of_bf16(found.rope)], axis=1)


def other_encoding(inputs: Inputs, slots: np.ndarray) -> np.ndarray:
    """Reads the bytes of one encoding as the other one; what is no number there is 0."""
    other = "ocp" if inputs.case.fp8 == "fnuz" else "fnuz"
    found = rows.stored(inputs.case, inputs.packed, slots)
    values = np.nan_to_num(ENCODINGS[other].decode(found.codes))
    tiles = rows.tiles_of(inputs.case, values) * found.scales[:, :, None]
    latent = rounded_bf16(tiles.reshape(slots.size, inputs.case.width[0]))
    return np.concatenate([latent, of_bf16(found.rope)], axis=1)


def scales_of_first(inputs: Inputs, slots: np.ndarray) -> np.ndarray:
    """The scales of a block's first row; 1 where nobody wrote them."""
    case = inputs.case
    found = rows.stored(case, inputs.packed, slots)
    first = rows.stored(case, inputs.packed, slots // case.block * case.block)
    latent = dataclasses.replace(found, scales=np.nan_to_num(first.scales, nan=1)).latent(case)
    return np.concatenate([rounded_bf16(latent), of_bf16(found.rope)], axis=1)


def latent_values(inputs: Inputs, lists: Lists, pieces: np.ndarray,
                  ) -> tuple[np.ndarray, np.ndarray]:
    """The rope part is no value; its elements of the output are 0."""
    out, lse = model.attend(inputs, lists, pieces)
    out[:, :, inputs.case.width[0]:] = 0
    return out, lse
