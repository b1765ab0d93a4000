"""DeepSeek-V4's two lists of a row, and layers that share a selection: SP-21 and SP-23.

A row at position p attends to the last tokens of a sliding window, at most `window` of them and
its own among them, and to compressed keys: of r = 4 to selected ones, of r = 128 to all. A
compressed key is visible when its group is whole: keys 0 to (p + 1) // r - 1.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from .findings import Finding, Sentences, first
from .inputs import Inputs
from .lists import Lists, check_lists
from .selection import NONE

STAGE, SHARE = "window", "share"


def window_of(inputs: Inputs, row: int) -> np.ndarray:
    """The positions of a row's window."""
    visible = int(inputs.visible[row])
    return np.arange(max(0, visible - inputs.case.window), visible)


def compressed_of(inputs: Inputs, row: int) -> int:
    """How many compressed keys a row sees."""
    return int(inputs.visible[row]) // inputs.case.ratio


def windows(inputs: Inputs) -> Lists:
    """The slots of the windows of all rows."""
    made = [inputs.slots(int(inputs.owners[row]))[window_of(inputs, row)]
            for row in range(inputs.case.rows)]
    return Lists.of_rows([*made, *[np.zeros(0, np.int64)] * inputs.case.pad])


def check_windows(inputs: Inputs, found: Lists) -> list[Finding]:
    """SP-21 of the window lists, in any order; rows of padding have none."""
    return first(STAGE, (_window(inputs, row, found.row(row))
                         for row in range(inputs.case.rows + inputs.case.pad)))


def _window(inputs: Inputs, row: int, found: np.ndarray) -> Sentences:
    if row >= inputs.case.rows:
        if (found != NONE).any():
            yield "SP-21", f"row {row} is padding; its window has slot {found[found != NONE][0]}"
        return
    own, at = inputs.slots(int(inputs.owners[row])), window_of(inputs, row)
    if np.array_equal(np.sort(found), np.sort(own[at])):
        return
    named = f"row {row} at position {int(inputs.visible[row]) - 1}"
    foreign, lost = np.setdiff1d(found, own[at]), np.setdiff1d(own[at], found)
    if foreign.size:
        where = np.flatnonzero(own == foreign[0])
        what = (f"position {where[0]} of its request" if where.size else "none of its request's")
        yield "SP-21", (f"{named} has slot {foreign[0]}, {what}, in its window of positions "
                        f"{at[0]} to {at[-1]}; wrong are {foreign.size} of {found.size}")
    else:
        yield "SP-21", (f"{named} has {found.size} slots in its window of positions {at[0]} to "
                        f"{at[-1]}" + (f", without slot {lost[0]}" if lost.size else ""))


def check_compressed(inputs: Inputs, selection: np.ndarray, found: Lists) -> list[Finding]:
    """SP-21 of the compressed lists: the image of a selection, no key of which is a group that is
    not whole at the row.

    selection: (rows, k) compressed keys, -1 for none; where there is no indexer, all that are
    visible.
    """
    moved = [Finding("SP-21", STAGE, one.what) for one in check_lists(inputs, selection, found)]
    return first(STAGE, (_visible(inputs, row, found.row(row))
                         for row in range(inputs.case.rows))) or moved


def _visible(inputs: Inputs, row: int, found: np.ndarray) -> Sentences:
    own, count = inputs.slots(int(inputs.owners[row])), compressed_of(inputs, row)
    early = np.isin(found, own[count:])
    for slot in found[early][:1]:
        key = int(np.flatnonzero(own == slot)[0])
        yield "SP-21", (f"row {row} at position {int(inputs.visible[row]) - 1} has compressed key "
                        f"{key}; it sees keys 0 to {count - 1} of {inputs.case.ratio} tokens each")


def all_compressed(inputs: Inputs) -> np.ndarray:
    """(rows, most) int32: every compressed key that a row sees, then -1."""
    counts = [compressed_of(inputs, row) for row in range(inputs.case.rows)]
    made = np.full((inputs.case.rows, max([1, *counts])), NONE, np.int32)
    for row, count in enumerate(counts):
        made[row, :count] = np.arange(count)
    return made


def of_layer(inputs: Inputs, layer: int) -> Inputs:
    """The same batch in the cache of another layer group: its blocks lie elsewhere."""
    draw = np.random.default_rng([inputs.case.seed, 11, layer])
    moved = np.concatenate([[0], 1 + draw.permutation(inputs.blocks - 1)]).astype(np.int32)
    return dataclasses.replace(inputs, tables=moved[inputs.tables])


def check_shared(layer: Inputs, selection: np.ndarray, found: Lists) -> list[Finding]:
    """SP-23 of a layer without an indexer: the selection of this step by its own table."""
    return [Finding("SP-23", SHARE, one.what) for one in check_lists(layer, selection, found)]
