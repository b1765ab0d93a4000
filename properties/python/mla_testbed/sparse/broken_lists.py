"""Conversions, pieces, attention and merges with a defect, for plants.py."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from . import model
from .inputs import Inputs
from .lists import Lists
from .numbers import rounded_bf16
from .selection import NONE


def next_table(inputs: Inputs, selection: np.ndarray, stale: Lists) -> Lists:
    """The table of the request after the row's own."""
    return model.convert(
        dataclasses.replace(inputs, tables=np.roll(inputs.tables, -1, axis=0)), selection, stale)


def none_is_row_0(inputs: Inputs, selection: np.ndarray, stale: Lists) -> Lists:
    """A -1 is an index like others."""
    return _each(inputs, selection, lambda row: row[:int((row != NONE).sum())],
                 lambda slots, keys: np.where(keys == NONE, 0, slots))


def first_columns(inputs: Inputs, selection: np.ndarray, stale: Lists) -> Lists:
    """As many first places as there are valid keys."""
    return _each(inputs, selection, lambda row: row[:int((row != NONE).sum())],
                 lambda slots, keys: np.where(keys == NONE, NONE, slots))


def own_token_missing(inputs: Inputs, selection: np.ndarray, stale: Lists) -> Lists:
    """min(position, k) keys instead of min(position + 1, k)."""
    rows = [model.convert(inputs, selection, stale).row(row)[:max(0, int(visible) - 1)]
            for row, visible in enumerate(inputs.visible)]
    return Lists.of_rows([*rows, *[np.zeros(0, np.int64)] * inputs.case.pad])


def tail_of_capture(inputs: Inputs, selection: np.ndarray, stale: Lists) -> Lists:
    """Only the sums of live rows are written."""
    made = model.convert(inputs, selection, stale)
    sums, rows = stale.indptr.copy(), inputs.case.rows
    sums[:rows + 1] = made.indptr[:rows + 1]
    return Lists(sums, np.resize(made.indices, max(int(sums.max()), 1)))


def old_selection() -> dict[str, Any]:
    """The lists of the batch before, if their sums are the same."""
    kept: list[Lists] = []

    def convert(inputs: Inputs, selection: np.ndarray, stale: Lists) -> Lists:
        made = model.convert(inputs, selection, stale)
        if not kept or not np.array_equal(kept[0].indptr, made.indptr):
            kept[:] = [made]
        return kept[0]

    return {"convert": convert}


def plan_by_least() -> dict[str, Any]:
    """Pieces of the batch before, if as many rows and the same min(longest, k)."""
    kept: dict[tuple[int, int], np.ndarray] = {}

    def split(inputs: Inputs, lists: Lists) -> np.ndarray:
        longest = int(inputs.visible.max(initial=0))
        key = len(lists.indptr), min(longest, inputs.case.k)
        if key not in kept:
            kept[key] = model.pieces_of(np.diff(lists.indptr))
        return kept[key]

    return {"split": split}


def width_576(inputs: Inputs, lists: Lists, pieces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the cache begin at multiples of 576 elements; past the end there is NaN."""
    width = inputs.case.row_width
    slots, flat = inputs.latent.shape[0], inputs.latent.reshape(-1)
    at = np.arange(slots)[:, None] * 576 + np.arange(width)
    seen = np.where(at < flat.size, flat[np.minimum(at, flat.size - 1)], 0x7FA5)
    other = dataclasses.replace(inputs)
    other.__dict__.update(latent=seen.astype(np.uint16), query=inputs.query)
    with np.errstate(invalid="ignore"):
        return model.attend(other, lists, pieces)


def last_piece_lost(inputs: Inputs, lists: Lists, pieces: np.ndarray, partials: np.ndarray,
                    lse: np.ndarray, sink: np.ndarray | None = None) -> np.ndarray:
    """Of rows with several pieces."""
    ends = np.diff(lists.indptr)[pieces[:, 0]]
    kept = (pieces[:, 2] < ends) | (pieces[:, 1] == 0)
    return model.merge(inputs, lists, pieces[kept], partials[kept], lse[kept], sink)


def sink_per_piece(inputs: Inputs, lists: Lists, pieces: np.ndarray, partials: np.ndarray,
                   lse: np.ndarray, sink: np.ndarray | None = None) -> np.ndarray:
    """The sink joins the log-sum-exp of each piece, and its result."""
    if sink is None:
        return model.merge(inputs, lists, pieces, partials, lse, None)
    joined = np.logaddexp(lse, sink.astype(np.float32))
    parts = partials * np.exp(lse - joined)[:, :, None]
    return rounded_bf16(model.merge(inputs, lists, pieces, parts, joined, None))


def _each(inputs: Inputs, selection: np.ndarray, taken: Any, slot_of: Any) -> Lists:
    rows = []
    for row, request in enumerate(inputs.owners):
        keys = taken(selection[row])
        block = inputs.tables[request, np.maximum(keys, 0) // inputs.case.block]
        rows.append(slot_of(block * inputs.case.block + keys % inputs.case.block, keys))
    return Lists.of_rows([*rows, *[np.zeros(0, np.int64)] * inputs.case.pad])


