"""Judges the stages of a chain, each by what it was given."""

from __future__ import annotations

import numpy as np

from . import (
    attention,
    cache,
    compressor,
    lists,
    logits,
    ranks,
    selection,
    storing,
    windows,
    writing,
)
from .case import Case
from .findings import Finding
from .inputs import Inputs, inputs_of
from .lists import Lists
from .model import Stages
from .selection import NONE

#: Ranks whose selections are compared.
_RANKS = 2


def judge(case: Case, stages: Stages) -> list[Finding]:
    """All findings of a chain on a case; none: it holds.

    A stage that has a finding gets the reference's result in the next one's place, so that each
    finding is a stage's own.
    """
    inputs = inputs_of(case)
    found = writing.check_write(inputs, stages.write, (cache.divisor_of(inputs),))
    held = cache.written(inputs)
    codes, scales = stages.gather(inputs, held)
    fence = np.array([codes[-1].any() or scales[-1] != 0])
    found += writing.check_gather(inputs, held, codes[:-1], scales[:-1], fence)
    selected, more = _selected(inputs, held, stages)
    found += more + _packed(inputs, stages)
    selected = selection.with_holes(inputs, selected)
    found += _attended(inputs, selected, stages) + _of_v4(inputs, selected, stages)
    return found + _of_ranks(inputs, selected, stages)


def _of_ranks(inputs: Inputs, selected: np.ndarray, stages: Stages) -> list[Finding]:
    """Lists, attention and merge of ranks that share a context."""
    if inputs.case.dcp == 1:
        return []
    found: list[Finding] = []
    parts = []
    for rank in range(inputs.case.dcp):
        made, own = stages.deal(inputs, selected, rank), ranks.of_rank(inputs, rank)
        wrong = ranks.check_dealt(inputs, selected, rank, made)
        if wrong:
            made = ranks.exact(inputs, selected, rank)
        parts.append(stages.attend_part(own, made))
        found += wrong + ranks.check_part(own, made, *parts[-1])
    if found:
        parts = [ranks.exact_part(inputs, selected, rank) for rank in range(inputs.case.dcp)]
    out, lse = np.stack([part[0] for part in parts]), np.stack([part[1] for part in parts])
    return found + ranks.check_joined(inputs, selected, out, lse, stages.join(inputs, out, lse))


def _of_v4(inputs: Inputs, selected: np.ndarray, stages: Stages) -> list[Finding]:
    """Window and compressed keys, and a layer that has no indexer."""
    found = []
    if inputs.case.window:
        found += windows.check_windows(inputs, stages.window(inputs))
    if inputs.case.ratio > 1:
        source = compressor.source_of(inputs)
        found += compressor.check_compress(source, stages.compress)
        made = lists.exact(inputs, stages.visible(inputs))
        found += windows.check_compressed(inputs, windows.all_compressed(inputs), made)
    layer = windows.of_layer(inputs, 1)
    return found + windows.check_shared(
        layer, selected, stages.share(layer, selected, stale_lists(inputs)))


def _packed(inputs: Inputs, stages: Stages) -> list[Finding]:
    """The writer of the rows that are attended, and a gather of all of them."""
    if inputs.case.cache == "bf16":
        return []
    found = storing.check_store(inputs, stages.store)
    slots = np.concatenate([inputs.slots(request) for request in range(len(inputs.lengths))])
    unpacked = stages.fetch(inputs, inputs.packed, slots)
    return found + storing.check_fetch(inputs, slots, unpacked, np.zeros(0, bool))


def _selected(inputs: Inputs, held: np.ndarray, stages: Stages,
              ) -> tuple[np.ndarray, list[Finding]]:
    rows = logits.rows_of(inputs, held)
    if stages.logits is None:
        chosen = stages.select(inputs, held, 0)
        more = selection.check_selection(inputs, None, chosen, rows)
        return _first_ones(inputs) if more else chosen, more
    made = stages.logits(inputs, held)
    found = logits.check_logits(inputs, rows, made, "masked")
    if found:
        made = logits.exact_logits(inputs, rows)
    # What the contract lets a kernel leave there must not matter to the next stage.
    noisy = made[:, :-logits.FENCE].copy()
    for row, visible in enumerate(inputs.visible):
        noisy[row, visible::3], noisy[row, visible + 1::3] = np.inf, np.nan
        noisy[row, visible + 2::3] = 1e30
    ranks = [stages.select(inputs, noisy, rank) for rank in range(_RANKS)]
    more = selection.check_selection(inputs, noisy, ranks[0], rows)
    if more:
        return _first_ones(inputs), found + more
    return ranks[0], found + selection.check_ranks(ranks)


def _first_ones(inputs: Inputs) -> np.ndarray:
    made = np.full((inputs.case.rows, inputs.case.k), NONE, np.int32)
    for row, visible in enumerate(inputs.visible):
        count = min(inputs.case.k, int(visible))
        made[row, :count] = np.arange(count)
    return made


def stale_lists(inputs: Inputs) -> Lists:
    """What a capture with more keys left in the buffers: slots of all rows, padding included."""
    rows = inputs.case.rows + inputs.case.pad
    sums = np.arange(rows + 1) * inputs.case.k
    slots = inputs.slot_mapping[inputs.slot_mapping >= 0]
    return Lists(sums.astype(np.int32), np.resize(slots, int(sums[-1])).astype(np.int32))


def _attended(inputs: Inputs, selected: np.ndarray, stages: Stages) -> list[Finding]:
    made = stages.convert(inputs, selected, stale_lists(inputs))
    found = lists.check_lists(inputs, selected, made)
    if found:
        made = lists.exact(inputs, selected)
    pieces = stages.split(inputs, made)
    more = lists.check_splits(inputs, made, pieces)
    if more:
        pieces = np.array([(row, 0, end) for row, end in enumerate(np.diff(made.indptr))])
    partials, lse = stages.attend(inputs, made, pieces)
    found += more + attention.check_attention(
        inputs, made, stages.merge(inputs, made, pieces, partials, lse, None))
    sink = np.random.default_rng([inputs.case.seed, 8]).standard_normal(inputs.case.qheads)
    sink[::4] = -np.inf
    out = stages.merge(inputs, made, pieces, partials, lse, sink)
    return found + attention.check_attention(inputs, made, out, sink=sink)
