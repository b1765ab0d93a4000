"""Top-k: which sets are legal, and SP-10 to SP-13.

The columns whose logit is greater than the k-th are in every legal selection. Of those that are
equal to it, any may be. The order is free. +0 and -0 are equal.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from .findings import Finding, Sentences, first
from .inputs import Inputs
from .logits import Row

STAGE = "select"
NONE = -1


@dataclasses.dataclass(frozen=True)
class Legal:
    """must, may: (columns,) bool: in every legal selection, and in some. count: its size."""

    must: np.ndarray
    may: np.ndarray
    count: int


def legal(values: np.ndarray, k: int) -> Legal:
    """The legal selections of k columns of these, or of all where there are fewer. No NaN."""
    count = min(k, values.size)
    if count == 0:
        nothing = np.zeros(values.size, bool)
        return Legal(nothing, nothing, 0)
    threshold = np.partition(values, values.size - count)[values.size - count]
    return Legal(values > threshold, values >= threshold, count)


def check_selection(inputs: Inputs, logits: np.ndarray | None, found: np.ndarray,
                    rows: list[Row] | None = None) -> list[Finding]:
    """SP-10; SP-11 by the logits that were handed in; SP-12 by exact ones. Either may be missing.

    Args:
        logits: (rows, columns at least) float32. found: (rows, k) int32.
        rows: of logits.rows_of.
    """
    return first(STAGE, (_row(inputs, number, None if logits is None else logits[number],
                              found[number], None if rows is None else rows[number])
                         for number in range(inputs.case.rows)))


def _row(inputs: Inputs, number: int, logits: np.ndarray | None, found: np.ndarray,
         exact: Row | None) -> Sentences:
    visible = int(inputs.visible[number])
    named = f"row {number} ({visible} keys)"
    count = min(inputs.case.k, visible)
    valid = found != NONE
    if int(valid.sum()) != count or not valid[:count].all():
        place = int(np.argmin(valid[:count])) if not valid[:count].all() else count
        yield "SP-10", (f"{named} selects {int(valid.sum())} keys, with {found[place]} at place "
                        f"{place}; expected {count}, then -1")
        return
    chosen = found[:count]
    outside = (chosen < 0) | (chosen >= visible)
    if outside.any():
        at = int(np.argmax(outside))
        yield "SP-10", (f"{named} selects {chosen[at]} at place {at}; it sees keys 0 to "
                        f"{visible - 1}; wrong are {int(outside.sum())} of {count}")
        return
    values, times = np.unique(chosen, return_counts=True)
    if values.size != count:
        yield "SP-10", f"{named} selects key {values[times > 1][0]} {times.max()} times"
        return
    picked = np.zeros(visible, bool)
    picked[chosen] = True
    if logits is not None:
        yield from _legal(named, logits[:visible], picked, count)
    if exact is not None:
        yield from _exact(named, exact, picked, visible, count)


def _legal(named: str, logits: np.ndarray, picked: np.ndarray, count: int) -> Sentences:
    right = legal(logits, count)
    missing, foreign = right.must & ~picked, picked & ~right.may
    if missing.any():
        at = int(np.argmax(missing))
        worst = int(np.flatnonzero(picked)[np.argmin(logits[picked])])
        yield "SP-11", (f"{named} leaves out key {at} with logit {logits[at]:.9g} and takes key "
                        f"{worst} with {logits[worst]:.9g}; missing are {int(missing.sum())} of "
                        f"{count}")
    elif foreign.any():
        at = int(np.argmax(foreign))
        yield "SP-11", f"{named} takes key {at} with logit {logits[at]:.9g}, below its threshold"


def _exact(named: str, exact: Row, picked: np.ndarray, visible: int, count: int) -> Sentences:
    """A computed threshold is within the largest bound of the exact one, and a computed logit
    within its own: twice the largest bound apart, nothing can have changed places."""
    values, room = exact.values[:visible], 2 * float(exact.bound[:visible].max())
    threshold = np.partition(values, visible - count)[visible - count]
    missing, foreign = (values > threshold + room) & ~picked, (values < threshold - room) & picked
    if missing.any() or foreign.any():
        at = int(np.argmax(missing if missing.any() else foreign))
        what = "leaves out" if missing.any() else "takes"
        yield "SP-12", (f"{named} {what} key {at}, whose exact logit is {values[at]:.9g}; the "
                        f"{count}th is {threshold:.9g}, and {room:.3g} is allowed; recall is "
                        f"{_recall(values, picked, count):.4f}")


def _recall(values: np.ndarray, picked: np.ndarray, count: int) -> float:
    """The share of an exact selection that was selected; ties are counted as found."""
    right = legal(values, count)
    return min(1.0, float((right.may & picked).sum()) / count)


def recall(inputs: Inputs, rows: list[Row], found: np.ndarray) -> float:
    """The least share of an exact selection that a row found."""
    least = 1.0
    for number, row in enumerate(rows):
        visible = int(inputs.visible[number])
        picked = np.zeros(visible, bool)
        chosen = found[number][found[number] != NONE]
        picked[chosen[(chosen >= 0) & (chosen < visible)]] = True
        least = min(least, _recall(row.values[:visible], picked, min(inputs.case.k, visible)))
    return least


def check_ranks(selections: list[np.ndarray]) -> list[Finding]:
    """SP-13: all ranks of a layer select the same keys, in any order."""
    return first(STAGE, [_ranks(selections)])


def _ranks(selections: list[np.ndarray]) -> Sentences:
    sets = [np.sort(one, axis=1) for one in selections]
    for rank, one in enumerate(sets[1:], 1):
        differ = np.flatnonzero((one != sets[0]).any(axis=1))
        if differ.size:
            row = int(differ[0])
            only = np.setdiff1d(one[row], sets[0][row])
            yield "SP-13", (f"row {row}: rank {rank} selects key {only[0]}, rank 0 does not; the "
                            f"ranks differ in {differ.size} of {len(one)} rows")
            return


def with_holes(inputs: Inputs, found: np.ndarray) -> np.ndarray:
    """A selection with -1 in front of every `holes`-th key, as pooled indexers leave it; the last
    keys of a full row fall out."""
    if not inputs.case.holes:
        return found
    made = np.full_like(found, NONE)
    for number, row in enumerate(found):
        keys = row[row != NONE]
        spread = np.insert(keys, np.arange(0, keys.size, inputs.case.holes), NONE)[:row.size]
        made[number, :spread.size] = spread
    return made
