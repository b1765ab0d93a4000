"""From selected positions to slots of the cache, and the pieces of a row: SP-14 to SP-16, SP-22."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from .findings import Finding, Sentences, first
from .inputs import Inputs
from .selection import NONE

STAGE, SPLIT = "convert", "split"


@dataclasses.dataclass(frozen=True)
class Lists:
    """The slots that each row attends to; rows of padding come last.

    indptr: (rows + pad + 1,). indices: the slots of all rows; there may be more room.
    """

    indptr: np.ndarray
    indices: np.ndarray

    def row(self, number: int) -> np.ndarray:
        """The list of a row."""
        found: np.ndarray = self.indices[self.indptr[number]:self.indptr[number + 1]]
        return found

    @classmethod
    def of_rows(cls, rows: Sequence[np.ndarray]) -> Lists:
        """From a list for each row."""
        flat = np.concatenate([*rows, np.zeros(0, np.int64)]).astype(np.int32)
        return cls(np.cumsum([0, *(len(row) for row in rows)]).astype(np.int32), flat)


def image(inputs: Inputs, number: int, selected: np.ndarray) -> np.ndarray:
    """The slots of a row's selected keys, without -1."""
    keys = selected[selected != NONE]
    slots: np.ndarray = inputs.slots(int(inputs.owners[number]))[keys]
    return slots


def positions(slots: np.ndarray, own: Iterable[np.ndarray], other: int) -> np.ndarray:
    """(rows, k): positions in each row's request of slots that a fused top-k gives.

    Args:
        own: for each row the slots of its request's keys. Rows after these are left as -1.
        other: what stands for a slot of another request.
    """
    made = np.full_like(slots, NONE)
    for row, of_row in enumerate(own):
        order = np.argsort(of_row, kind="stable")
        at = np.minimum(np.searchsorted(of_row[order], slots[row]), of_row.size - 1)
        made[row] = np.where(of_row[order][at] == slots[row], order[at], other)
        made[row][slots[row] == NONE] = NONE
    return made


def exact(inputs: Inputs, selection: np.ndarray) -> Lists:
    """The lists of a selection; padding has none."""
    rows = [image(inputs, number, selection[number]) for number in range(inputs.case.rows)]
    return Lists.of_rows([*rows, *[np.zeros(0, np.int64)] * inputs.case.pad])


def check_lists(inputs: Inputs, selection: np.ndarray, found: Lists, *, none: bool = False,
                ) -> list[Finding]:
    """SP-14, SP-15, and SP-22 of rows of padding.

    Args:
        none: the kernels that read the lists skip -1, which may stand anywhere.
    """
    sums = _sums(inputs, selection, found, none)
    return first(STAGE, (sums, *(_row(inputs, number, selection[number], found.row(number), none)
                                 for number in range(inputs.case.rows))))


def _sums(inputs: Inputs, selection: np.ndarray, found: Lists, none: bool) -> Sentences:
    rows, pad = inputs.case.rows, inputs.case.pad
    if found.indptr.size != rows + pad + 1 or found.indptr[0] != 0:
        yield "SP-15", (f"the sums have {found.indptr.size} entries from {found.indptr[0]}; "
                        f"expected {rows + pad + 1} from 0")
        return
    steps = np.diff(found.indptr.astype(np.int64))
    padded = np.flatnonzero(steps[rows:])
    if padded.size:
        at = rows + int(padded[0])
        yield "SP-22", f"row {at} is padding and has {steps[at]} keys; expected 0"
        return
    expected = (selection != NONE).sum(axis=1)
    wrong = np.flatnonzero(steps[:rows] < expected if none else steps[:rows] != expected)
    if wrong.size:
        at = int(wrong[0])
        yield "SP-15", (f"row {at} has {steps[at]} keys in its list; it selects {expected[at]} of "
                        f"the {inputs.visible[at]} that it sees; wrong are {wrong.size} of {rows}")
    elif found.indices.size < found.indptr[-1]:
        yield "SP-15", (f"the list has room for {found.indices.size} slots; its rows have "
                        f"{found.indptr[-1]}")


def _row(inputs: Inputs, number: int, selected: np.ndarray, found: np.ndarray, none: bool,
         ) -> Sentences:
    right = image(inputs, number, selected)
    chosen = found[found != NONE] if none else found
    if np.array_equal(np.sort(chosen), np.sort(right)):
        return
    request = int(inputs.owners[number])
    named = f"row {number} (request {request})"
    foreign = chosen[~np.isin(chosen, right)]
    if not foreign.size:
        values, times = np.unique(chosen, return_counts=True)
        lost = np.setdiff1d(right, chosen)
        what = (f"has slot {values[times > 1][0]} {times.max()} times" if (times > 1).any()
                else f"lacks slot {lost[0]}" if lost.size else "has another number of slots")
        yield "SP-14", f"{named} {what}"
        return
    slot, own = int(foreign[0]), inputs.slots(request)
    holes = int((selected == NONE).sum())
    if slot in own:
        key = int(np.flatnonzero(own == slot)[0])
        what = f", key {key} of its request, which is not selected"
    elif slot == 0 and holes:
        what = f", which no request has; its selection has -1 in {holes} places"
    else:
        owner = next((other for other in range(len(inputs.case.requests))
                      if slot in inputs.slots(other)), None)
        what = f", which is {'no request' if owner is None else f'request {owner}'}'s"
    yield "SP-14", (f"{named} reads slot {slot}{what}; wrong are {foreign.size} of {found.size}")


def check_splits(inputs: Inputs, lists: Lists, pieces: np.ndarray) -> list[Finding]:
    """SP-16: the pieces of each row cover its list once.

    pieces: (pieces, 3) int: row, begin, end in the row's list; in any order.
    """
    return first(SPLIT, [_pieces(inputs, lists, pieces)])


def _pieces(inputs: Inputs, lists: Lists, pieces: np.ndarray) -> Sentences:
    lengths = np.diff(lists.indptr)
    for row in range(inputs.case.rows):
        mine = pieces[pieces[:, 0] == row]
        covered = np.zeros(int(lengths[row]) + 1, int)
        for _, begin, end in mine:
            if not 0 <= begin <= end <= lengths[row]:
                yield "SP-16", (f"row {row} has a piece of keys {begin} to {end}; its list has "
                                f"{lengths[row]}")
                return
            covered[begin:end] += 1
        wrong = np.flatnonzero(covered[:-1] != 1)
        if wrong.size:
            yield "SP-16", (f"row {row}: key {wrong[0]} of its list is in {covered[wrong[0]]} "
                            f"pieces; expected 1; wrong are {wrong.size} of {lengths[row]}")
            return
    padding = pieces[pieces[:, 0] >= inputs.case.rows]
    if padding.size and (padding[:, 2] > padding[:, 1]).any():
        yield "SP-16", f"row {padding[0, 0]} is padding and has a piece of keys"
