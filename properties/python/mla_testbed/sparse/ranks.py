"""Ranks that share a context (decode context parallelism): which keys each holds, SP-24 to SP-26.

Position p is with rank p // interleave % dcp. All ranks have one block table; an entry of it stands
for block * dcp positions, of which each rank keeps `block`, in order.

The bound of a merge of parts o_r with lse_r, which are exact inputs of it. The weight of rank r is
w_r = e^(lse_r - L). Logarithms, their differences and exponentials are off by
F = e^(gamma(16) (max |lse| + 1)) - 1 in each w_r together. Then each part is rounded to bf16 once
it is scaled, and so is each of the dcp - 1 sums, of which none is above B = sum w_r |o_r|, times
the roundings before it: |out - exact| <= (F + (1 + 2^-8)^(dcp + 1) (1 + F) - 1) B.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from .attention import attended
from .findings import Finding, Sentences, first
from .inputs import Inputs
from .lists import Lists
from .numbers import UBF16, gamma, rounded_bf16
from .selection import NONE

DEAL, PART, JOIN = "convert of a rank", "attend of a rank", "merge of ranks"


def owner_of(inputs: Inputs, keys: np.ndarray) -> np.ndarray:
    """The rank of each position."""
    made: np.ndarray = keys // inputs.case.interleave % inputs.case.dcp
    return made


def slots_of(inputs: Inputs, request: int, rank: int) -> np.ndarray:
    """(keys,) int64: where a rank has each key of a request, in slots of its cache; NONE for keys
    of others."""
    case, made = inputs.case, np.full(int(inputs.lengths[request]), NONE, np.int64)
    mine = np.flatnonzero(owner_of(inputs, np.arange(made.size)) == rank)
    place = np.arange(mine.size)  # the how-manieth of the rank's keys
    made[mine] = inputs.tables[request, ::case.dcp][place // case.block].astype(np.int64) \
        * case.block + place % case.block
    return made


def of_rank(inputs: Inputs, rank: int) -> Inputs:
    """The same batch in the cache of a rank: its slots have the rows of the rank's keys, others are
    NaN. `slot_mapping` has -1 for tokens of other ranks. Ask `slots_of` for slots of a request."""
    case, whole, local = inputs.case, [], []
    for request in range(len(case.requests)):
        slots = slots_of(inputs, request, rank)
        whole.append(inputs.slots(request)[slots != NONE])
        local.append(slots[slots != NONE])
    from_whole, to_local = np.concatenate(whole), np.concatenate(local)
    moved = np.full(inputs.blocks * case.block, NONE, np.int64)
    moved[from_whole] = to_local
    mapping = inputs.slot_mapping
    rows = np.full_like(inputs.latent, 0x7FA5)
    rows[to_local] = inputs.latent[from_whole]
    made = dataclasses.replace(inputs, tables=np.ascontiguousarray(inputs.tables[:, ::case.dcp]))
    vars(made).update(latent=rows, live=np.unique(to_local), query=inputs.query,
                      slot_mapping=np.where(mapping == NONE, NONE, moved[mapping]))
    return made


def exact(inputs: Inputs, selection: np.ndarray, rank: int) -> Lists:
    """A rank's lists of a selection; padding has none."""
    rows = []
    for number, request in enumerate(inputs.owners):
        slots = slots_of(inputs, int(request), rank)[selection[number][selection[number] != NONE]]
        rows.append(slots[slots != NONE])
    return Lists.of_rows([*rows, *[np.zeros(0, np.int64)] * inputs.case.pad])


def check_dealt(inputs: Inputs, selection: np.ndarray, rank: int, found: Lists) -> list[Finding]:
    """SP-24: each row has the rank's slots of those selected keys that the rank holds, each once;
    padding has none."""
    return first(DEAL, [_dealt(inputs, selection, rank, found)])


def _dealt(inputs: Inputs, selection: np.ndarray, rank: int, found: Lists) -> Sentences:
    right, count = exact(inputs, selection, rank), inputs.case.rows + inputs.case.pad
    if found.indptr.size != count + 1:
        yield "SP-24", (f"rank {rank} has {found.indptr.size} sums; expected {count + 1}")
        return
    for row in range(count):
        mine, expected = found.row(row), right.row(row)
        if np.array_equal(np.sort(mine), np.sort(expected)):
            continue
        named = (f"rank {rank} row {row} (padding)" if row >= inputs.case.rows else
                 f"rank {rank} row {row} (request {inputs.owners[row]})")
        foreign = mine[~np.isin(mine, expected)]
        if foreign.size:
            yield "SP-24", (f"{named} reads slot {foreign[0]} of its cache"
                            f"{_whose(inputs, row, rank, int(foreign[0]))}; wrong are "
                            f"{foreign.size} of {mine.size}, expected are {expected.size}")
        else:
            lost = np.setdiff1d(expected, mine)
            yield "SP-24", (f"{named} has {mine.size} slots of the {expected.size} selected keys "
                            f"of the rank" + (f", without slot {lost[0]}" if lost.size else ""))
        return


def _whose(inputs: Inputs, row: int, rank: int, slot: int) -> str:
    if row >= inputs.case.rows or slot == NONE:
        return ""
    own = np.flatnonzero(slots_of(inputs, int(inputs.owners[row]), rank) == slot)
    return f", key {own[0]} of its request, which is not selected" if own.size else \
        ", which is none of its request's"


def check_part(own: Inputs, lists: Lists, out: np.ndarray, lse: np.ndarray) -> list[Finding]:
    """SP-25: a rank's output and lse are within the bounds of exact attention over its list; a row
    without keys has lse -inf.

    Args:
        own: of `of_rank`. out: (rows + pad, heads, values). lse: (rows + pad, heads), natural.
    """
    rows = range(own.case.rows + own.case.pad)
    return first(PART, (_part(own, number, lists.row(number), out[number], lse[number])
                        for number in rows))


def _part(own: Inputs, number: int, slots: np.ndarray, out: np.ndarray, lse: np.ndarray,
          ) -> Sentences:
    if not slots.size:
        if not np.isneginf(lse).all():
            yield "SP-25", f"row {number} has no key of this rank; its lse is {lse[0]:.6g}"
        return
    right = attended(own, number, slots)
    wrong = ~(np.abs(lse.astype(np.float64) - right.lse) <= right.lse_bound)
    if wrong.any():
        head = int(np.argmax(wrong))
        yield "SP-25", (f"row {number} ({slots.size} keys of this rank) head {head} has lse "
                        f"{lse[head]:.6g}; the reference has {right.lse[head]:.6g} and allows "
                        f"{right.lse_bound[head]:.3g}; wrong are {int(wrong.sum())} of "
                        f"{wrong.size}")
    away = ~(np.abs(out.astype(np.float64) - right.out) <= right.bound)
    if away.any():
        head, dim = (int(n) for n in np.argwhere(away)[0])
        yield "SP-25", (f"row {number} ({slots.size} keys of this rank) head {head} dim {dim} is "
                        f"{out[head, dim]:.6g}; the reference has {right.out[head, dim]:.6g} and "
                        f"allows {right.bound[head, dim]:.3g}; wrong are {int(away.sum())} of "
                        f"{away.size}")


def exact_part(inputs: Inputs, selection: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """A rank's output, rounded to bf16, and its lse in float32: what a merge is handed."""
    own, made = of_rank(inputs, rank), exact(inputs, selection, rank)
    case = inputs.case
    out = np.zeros((case.rows + case.pad, case.qheads, case.value_width), np.float32)
    lse = np.full(out.shape[:2], -np.inf, np.float32)
    for row in range(case.rows):
        right = attended(own, row, made.row(row))
        out[row], lse[row] = rounded_bf16(right.out.astype(np.float32)), right.lse
    return out, lse


def check_joined(inputs: Inputs, selection: np.ndarray, parts: np.ndarray, lse: np.ndarray,
                 found: np.ndarray, *, empty: str = "zero") -> list[Finding]:
    """SP-26: the merge of what ranks handed in is within the bound of the exact merge of it; a row
    of which no rank has a key is 0.

    Args:
        parts: (ranks, rows + pad, heads, values); of a rank without keys whatever it is.
        found: (rows + pad, heads, values). empty: as for check_attention.
    """
    counts = [(selection[row] != NONE).sum() if row < inputs.case.rows else 0
              for row in range(len(found))]
    return first(JOIN, (
        _joined(row, int(counts[row]), parts[:, row], lse[:, row], found[row], empty)
        for row in range(len(found))))


def _joined(row: int, keys: int, parts: np.ndarray, lse: np.ndarray, found: np.ndarray, empty: str,
            ) -> Sentences:
    if not keys:
        if empty == "zero" and not (found == 0).all():
            yield "SP-26", f"row {row} has no keys on any rank; its output is {found.flat[0]:.6g}"
        return
    sure = lse.astype(np.float64)
    top = sure.max(axis=0)
    w = np.exp(sure - top)
    w /= w.sum(axis=0)
    terms = np.where(w[..., None] > 0, w[..., None] * parts.astype(np.float64), 0)
    right, size = terms.sum(axis=0), np.abs(terms).sum(axis=0)
    sharp = np.expm1(gamma(16) * (np.abs(np.where(np.isfinite(sure), sure, 0)).max(axis=0) + 1))
    factor = sharp + (1 + UBF16) ** (len(parts) + 1) * (1 + sharp) - 1
    bound = factor[:, None] * size + 2.0 ** -126
    wrong = ~(np.abs(found.astype(np.float64) - right) <= bound)
    if wrong.any():
        head, dim = (int(n) for n in np.argwhere(wrong)[0])
        ranks = int(np.isfinite(lse[:, head]).sum())
        yield "SP-26", (f"row {row} (keys on {ranks} of {len(parts)} ranks) head {head} dim {dim} "
                        f"is {found[head, dim]:.6g}; the merge of the parts is "
                        f"{right[head, dim]:.6g} and allows {bound[head, dim]:.3g}; wrong are "
                        f"{int(wrong.sum())} of {wrong.size}")
