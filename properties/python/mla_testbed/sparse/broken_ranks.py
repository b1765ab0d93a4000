"""Ranks that share a context, with a defect, for plants.py."""

from __future__ import annotations

import dataclasses

import numpy as np

from . import model, model_ranks
from .inputs import Inputs
from .lists import Lists
from .numbers import rounded_bf16
from .selection import NONE


def _kept(inputs: Inputs, selection: np.ndarray, mine: np.ndarray) -> np.ndarray:
    """A selection of the keys that are `mine`, with -1 in place of others."""
    made: np.ndarray = np.where(mine & (selection != NONE), selection, NONE)
    return made


def _owner(inputs: Inputs, selection: np.ndarray, run: int) -> np.ndarray:
    made: np.ndarray = np.maximum(selection, 0) // run % inputs.case.dcp
    return made


def blocks_dealt(inputs: Inputs, selection: np.ndarray, rank: int) -> Lists:
    """The rank of a key is that of its block."""
    other = dataclasses.replace(inputs, case=dataclasses.replace(
        inputs.case, interleave=inputs.case.block))
    return model_ranks.deal(other, selection, rank)


def runs_of_one(inputs: Inputs, selection: np.ndarray, rank: int) -> Lists:
    """The interleave is taken for 1."""
    other = dataclasses.replace(inputs, case=dataclasses.replace(inputs.case, interleave=1))
    return model_ranks.deal(other, selection, rank)


def places_of_all(inputs: Inputs, selection: np.ndarray, rank: int) -> Lists:
    """A rank's own keys, by their positions among all."""
    mine = _owner(inputs, selection, inputs.case.interleave) == rank
    return model.convert(inputs, _kept(inputs, selection, mine), Lists.of_rows([]))


def not_compacted(inputs: Inputs, selection: np.ndarray, rank: int) -> Lists:
    """Keys of other ranks leave a -1, and the first entries are read."""
    right, rows = model_ranks.deal(inputs, selection, rank), []
    mine = _owner(inputs, selection, inputs.case.interleave) == rank
    for row in range(inputs.case.rows):
        wide = np.full(selection.shape[1], NONE, np.int64)
        wide[mine[row] & (selection[row] != NONE)] = right.row(row)
        rows.append(wide[:right.row(row).size])
    return Lists.of_rows([*rows, *[np.zeros(0, np.int64)] * inputs.case.pad])


def lse_of_base_2(inputs: Inputs, lists: Lists) -> tuple[np.ndarray, np.ndarray]:
    """As kernels with exp2 have it."""
    out, lse = model_ranks.attend_part(inputs, lists)
    return out, lse * np.float32(1.4426950408889634)


def lse_of_nothing(inputs: Inputs, lists: Lists) -> tuple[np.ndarray, np.ndarray]:
    """What lies in the buffer of rows that are skipped."""
    out, lse = model_ranks.attend_part(inputs, lists)
    return out, np.where(np.isneginf(lse), np.float32(0), lse)


def equal_ranks(inputs: Inputs, parts: np.ndarray, lse: np.ndarray) -> np.ndarray:
    """The weight of a rank is one over how many there are."""
    return model_ranks.join(inputs, parts, np.where(np.isneginf(lse), lse, np.float32(0)))


def empty_ranks_count(inputs: Inputs, parts: np.ndarray, lse: np.ndarray) -> np.ndarray:
    """-inf becomes the least logarithm of the others."""
    least = np.where(np.isneginf(lse), np.inf, lse).min(axis=0)
    least = np.where(np.isfinite(least), least, -np.inf)
    return model_ranks.join(inputs, parts, np.where(np.isneginf(lse), least, lse))


def last_rank_lost(inputs: Inputs, parts: np.ndarray, lse: np.ndarray) -> np.ndarray:
    """Its weight counts, its part does not."""
    kept = parts.copy()
    kept[-1] = 0
    return rounded_bf16(model_ranks.join(inputs, kept, lse))
