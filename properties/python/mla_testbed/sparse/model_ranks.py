"""Stages of ranks that share a context, in float32 as kernels compute them."""

from __future__ import annotations

import numpy as np

from . import model
from .inputs import Inputs
from .lists import Lists
from .numbers import rounded_bf16
from .selection import NONE


def deal(inputs: Inputs, selection: np.ndarray, rank: int) -> Lists:
    """Keeps the rank's keys, in their order; an entry of the table is a block of each rank."""
    case, rows = inputs.case, []
    for row, request in enumerate(inputs.owners):
        keys = selection[row][selection[row] != NONE]
        keys = keys[keys // case.interleave % case.dcp == rank]
        local = (keys // (case.interleave * case.dcp) * case.interleave + keys % case.interleave)
        block = inputs.tables[request, ::case.dcp][local // case.block]
        rows.append(block * case.block + local % case.block)
    return Lists.of_rows([*rows, *[np.zeros(0, np.int64)] * case.pad])


def attend_part(inputs: Inputs, lists: Lists) -> tuple[np.ndarray, np.ndarray]:
    """One piece a row; a row without keys is 0, and its lse is -inf."""
    ends = np.diff(lists.indptr)
    pieces = np.stack([np.arange(ends.size), np.zeros(ends.size, int), ends], axis=1)
    out, lse = model.attend(inputs, lists, pieces)
    return rounded_bf16(out), lse


def join(inputs: Inputs, parts: np.ndarray, lse: np.ndarray) -> np.ndarray:  # noqa: ARG001
    """Each rank scales its part and rounds it to bf16; their sum is rounded once more."""
    top = lse.max(axis=0)
    top = np.where(np.isfinite(top), top, 0)
    total = np.exp(lse - top).sum(axis=0)
    weights = np.divide(np.exp(lse - top), total, out=np.zeros_like(lse), where=total > 0)
    scaled = np.where(weights[..., None] > 0, weights[..., None] * parts, np.float32(0))
    return rounded_bf16(rounded_bf16(scaled).sum(axis=0))
