"""The stages of an engine's own indexer in one step: from the write of new keys to the selection.

The stages' references and bounds are those of the sparse chain (docs/reference/sparse.md). Each
stage is judged by what the engine's stage before it left.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ...sparse import cache, logits, selection, writing
from ...sparse.case import KEY, ROW, TILE, Case
from ...sparse.inputs import Inputs
from ..findings import Finding
from ..sentences import Sentences, first
from .step import SparseStep

#: Heads of DeepSeek-V3.2's indexer.
HEADS = 64
#: Columns of logits that AITER's kernels compute at a time.
CHUNK = 256
#: Bytes between two blocks that a case can have.
_MOST_GAP = 1 << 16


@dataclasses.dataclass(frozen=True)
class Gather:
    """Keys of some requests that the engine gathered from the indexer's cache, one request after
    the other.

    Attributes:
        requests: first, and the one after the last.
        codes, scales: (keys, 128) uint8 and (keys,) float32.
    """

    requests: tuple[int, int]
    codes: np.ndarray
    scales: np.ndarray


@dataclasses.dataclass(frozen=True)
class Indexed:
    """What the engine's indexer left.

    Attributes:
        inputs: tables, queries, and the keys of all tokens.
        slots: (rows, padding included) where the step's keys belong; -1 for padding.
        before, after: bytes of the indexer's cache.
        gathers: in their order; none for rows that read the cache itself.
        logits: of each row, those of its keys, as top-k was handed them.
        selection: (rows, k at least) int32, padding included, as top-k left it.
        columns: of a row of logits: the engine's longest context; 0: none were computed.
        scored: whether keys were scored. An engine may leave that out where each row has all keys.
    """

    inputs: Inputs
    slots: np.ndarray
    before: np.ndarray
    after: np.ndarray
    gathers: tuple[Gather, ...]
    logits: tuple[np.ndarray, ...]
    selection: np.ndarray
    columns: int
    scored: bool = True


def inputs_of(step: SparseStep) -> Inputs:
    """Queries, keys and tables of an indexer for a step. The key of a token is that of its slot:
    requests with a common prefix have the same keys there."""
    gap = (step.layers - 1) * step.block_size * ROW
    case = Case(
        tuple(zip(step.query_lens, step.seq_lens, strict=True)), block=step.block_size,
        layout="row" if step.block_size == 1 else "shuffle", heads=HEADS, k=step.topk,
        gap=gap if gap % TILE == 0 and gap <= _MOST_GAP else 0,
        fp8="fnuz" if step.arch == "gfx942" else "ocp", seed=step.data_seed)
    tables = np.zeros((step.requests, max(map(len, step.block_tables))), np.int32)
    for request, blocks in enumerate(step.block_tables):
        tables[request, :len(blocks)] = blocks
    made = Inputs(case, tables, step.owners, step.visible, step.pool_blocks)
    # What cached_property would draw: each slot once, in ascending order.
    vars(made)["slot_mapping"] = step.owned_slots
    return made


def of_rows(inputs: Inputs, slots: np.ndarray) -> Inputs:
    """The same batch, of which these slots are written; -1: none."""
    made = dataclasses.replace(inputs)
    keys = np.ones((slots.size, KEY), np.float32)
    live = slots >= 0
    keys[live] = inputs.keys_of(np.searchsorted(inputs.slot_mapping, slots[live]))
    vars(made).update(slot_mapping=slots, keys=keys)
    return made


def before_step(inputs: Inputs, new: np.ndarray) -> np.ndarray:
    """(bytes,) the indexer's cache with all keys but those in the new slots: NaN is there."""
    held, nothing = cache.written(inputs), cache.unread(inputs)
    at = cache.places(inputs.case, new)
    for part in (at.values, at.scales):
        held[part] = nothing[part]
    return held


def selecting(step: SparseStep, indexed: Indexed | None) -> SparseStep:
    """The step with the keys that the engine's indexer selected."""
    if indexed is None:
        return step
    rows = indexed.selection[:len(step.owners)]
    return dataclasses.replace(step, chosen=tuple(
        row[:count].astype(np.int32) for row, count in zip(rows, step.counts, strict=True)))


def check_indexed(step: SparseStep, indexed: Indexed) -> list[Finding]:
    """SP-02 to SP-12: what does not hold of the first stage that is wrong."""
    inputs = indexed.inputs
    found = writing.check_written(of_rows(inputs, indexed.slots), indexed.before, indexed.after,
                                  (cache.divisor_of(inputs),))
    if not found:
        gathered = first(step, (_gathered(inputs, indexed.after, one) for one in indexed.gathers))
        if gathered:
            return gathered
        rows = logits.rows_of(inputs, indexed.after)
        if not indexed.scored:
            return _all_keys(step, indexed, rows)
        made = _padded(inputs, indexed.logits)
        found = (logits.check_logits(inputs, rows, made, "masked or left")
                 or selection.check_selection(inputs, made, indexed.selection, rows))
    return [Finding(one.property, step.number, one.what) for one in found]


def _all_keys(step: SparseStep, indexed: Indexed, rows: list[logits.Row]) -> list[Finding]:
    """Nothing was scored: every row has all of its keys."""
    most = int(step.visible.max())
    if most > step.topk:
        return [Finding("SP-06", step.number, f"no logit was computed, and a row has {most} keys "
                        f"of which it selects {step.topk}")]
    return [Finding(one.property, step.number, one.what) for one in selection.check_selection(
        indexed.inputs, None, indexed.selection, rows)]


def _padded(inputs: Inputs, rows: tuple[np.ndarray, ...]) -> np.ndarray:
    """(rows, W + FENCE): what was not handed to top-k looks like what was not written."""
    made = np.full((len(rows), logits.columns(inputs) + logits.FENCE), logits.BEFORE)
    for number, row in enumerate(rows):
        made[number, :row.size] = row
    return made


def _gathered(inputs: Inputs, held: np.ndarray, one: Gather) -> Sentences:
    slots = [inputs.slots(request) for request in range(*one.requests)]
    codes, scales = cache.stored(inputs, held, np.concatenate(slots))
    if one.codes.shape != codes.shape:
        yield "SP-05", (f"{len(one.codes)} keys of requests {one.requests[0]} to "
                        f"{one.requests[1] - 1} are gathered; they have {len(codes)}")
        return
    wrong = ((codes != one.codes).any(axis=1)
             | (scales.view(np.uint32) != one.scales.view(np.uint32)))
    for row in np.flatnonzero(wrong)[:1]:
        yield "SP-05", (f"row {row} of a gather of requests {one.requests[0]} to "
                        f"{one.requests[1] - 1} is not what lies in slot "
                        f"{np.concatenate(slots)[row]}; wrong are {int(wrong.sum())} of "
                        f"{wrong.size}")
