"""Logits and selections with a defect, for plants.py."""

from __future__ import annotations

import dataclasses

import numpy as np

from . import model
from .inputs import Inputs
from .logits import FENCE
from .numbers import rounded_bf16
from .selection import NONE


def window_of_zeros(inputs: Inputs, held: np.ndarray) -> np.ndarray:
    """A cache of which loads from the second half return 0."""
    near = held.copy()
    near[held.size // 2:] = 0
    return model.logits(inputs, near)


def stale_columns(inputs: Inputs, held: np.ndarray) -> np.ndarray:
    """A number of an earlier step after a row's keys."""
    made = model.logits(inputs, held)
    for row, visible in enumerate(inputs.visible):
        made[row, inputs.lengths[inputs.owners[row]]:-FENCE] = made[row, visible - 1]
    return made


def chunk_past_row(inputs: Inputs, held: np.ndarray) -> np.ndarray:
    """The row's width is not a limit."""
    made = model.logits(inputs, held)
    made[:, -FENCE] = -np.inf
    return made


def rows_reversed(inputs: Inputs, held: np.ndarray) -> np.ndarray:
    """Row n sees all but the last n keys."""
    visible = inputs.visible.copy()
    for request, (rows, keys) in enumerate(inputs.case.requests):
        first = int(inputs.starts[request])
        visible[first:first + rows] = keys - np.arange(rows)
    return model.logits(dataclasses.replace(inputs, visible=visible), held)


def fixed_width(inputs: Inputs, logits: np.ndarray, rank: int) -> np.ndarray:
    """64 keys."""
    made = model.select(inputs, logits, rank)
    made[:, 64:] = NONE
    return made


def whole_row(inputs: Inputs, logits: np.ndarray, rank: int) -> np.ndarray:
    """All columns are keys."""
    whole = np.full_like(inputs.visible, logits.shape[1])
    made = np.full((inputs.case.rows, inputs.case.k), NONE, np.int32)
    for row, count in enumerate(whole):
        order = np.argsort(-logits[row, :count], kind="stable")[:inputs.case.k]
        made[row, :order.size] = order
    return made


def ties_first(inputs: Inputs, logits: np.ndarray, rank: int) -> np.ndarray:
    """Of all keys from the threshold on, the first k."""
    made = model.select(inputs, logits, rank)
    for row, visible in enumerate(inputs.visible):
        chosen = made[row][made[row] != NONE]
        values = logits[row, :visible]
        made[row, :chosen.size] = np.flatnonzero(values >= values[chosen].min())[:chosen.size]
    return made


def bf16_logits(inputs: Inputs, held: np.ndarray, rank: int) -> np.ndarray:
    """Computes logits and rounds them."""
    made = model.logits(inputs, held)
    return model.select(inputs, rounded_bf16(np.where(np.isfinite(made), made, -3e38)), rank)


def ties_by_rank(inputs: Inputs, logits: np.ndarray, rank: int) -> np.ndarray:
    """The first of equal keys on rank 0, the last on others."""
    if rank == 0:
        return model.select(inputs, logits, rank)
    made = np.full((inputs.case.rows, inputs.case.k), NONE, np.int32)
    for row, visible in enumerate(inputs.visible):
        order = np.argsort(logits[row, :visible], kind="stable")[::-1][:inputs.case.k]
        made[row, :order.size] = order
    return made
