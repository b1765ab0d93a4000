"""An engine of our own for steps of kind prefill: contexts are packed into chunks with loops.

`fake_prefill:NAME` is an adapter; a NAME other than Sound plants one defect.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from mla_testbed.engines import Machine
from mla_testbed.engines.dense import attention
from mla_testbed.engines.line import CaseLine
from mla_testbed.engines.prefill import Chunk, PrefillBuilt, PrefillStep
from mla_testbed.engines.prefill.projection import SCALE, heads_of
from mla_testbed.engines.tensors import values_of

#: Plant -> property that catches it.
PLANTS = {
    "LostRequest": "P26", "TwiceRequest": "P26", "LongDecode": "P26", "Starts": "P04",
    "WideStarts": "P04", "Longest": "P04", "ChunkShape": "P04", "ChunkPlace": "P04",
    "LateChunk": "P25", "LostChunk": "P25", "TwiceChunk": "P25", "ShortChunk": "P25",
    "Falling": "P04", "WideSums": "P04", "Tokens": "P04", "SmallWorkspace": "P06",
    "RowSums": "P04", "RowSlice": "P04", "MostRows": "P04", "MostKeys": "P04", "Owner": "P25",
    "FewOwners": "P06", "FewSlots": "P06", "Slot": "P01", "LastSlot": "P01", "Sticky": "P03",
    "NotMerged": "P05", "NanResult": "P05", "ResultShape": "P05", "Raises": "P28",
}


def __getattr__(name: str):
    if name != "Sound" and name not in PLANTS:
        raise AttributeError(name)
    return lambda machine: FakePrefill(machine, name)


class FakePrefill:
    """Requests of one row are decodes, and come first."""

    name, version, aiter, attends = "fake_prefill", "1.0", "none", True
    sources = (__file__,)

    def __init__(self, machine: Machine, plant: str) -> None:
        self.machine, self.plant, self._built = machine, plant, 0

    def adapt(self, line: CaseLine) -> CaseLine:
        steps = [sorted(line.requests(n), key=lambda pair: pair[0] > 1)
                 for n in range(len(line.steps))]
        return line.with_requests(steps)

    def start(self, steps) -> None:
        self._built = 0

    def build(self, step: PrefillStep) -> PrefillBuilt:
        if self.plant == "Raises":
            raise AssertionError("planted")
        self._built += 1
        decodes = sum(rows == 1 for rows in step.query_lens)
        order = tuple(range(decodes, step.requests))
        rows = [step.query_lens[i] for i in order]
        longest = max(rows) + (self.plant == "Sticky" and self._built > 1)
        built = PrefillBuilt(order, tuple(range(decodes)), _sums(rows), longest,
                             tuple(_chunks(step, order)), False, step.workspace, (), None)
        return _damaged(self.plant, built)

    def attend(self, step: PrefillStep, built: PrefillBuilt, q, cache, project):
        out, first, latent = [], 0, values_of(cache, step.arch)
        chunks = built.chunks[:-1] if self.plant == "NotMerged" else built.chunks
        for place, request in enumerate(built.order):
            slots = [chunk.slots[chunk.sums[i]:chunk.sums[i + 1]] for chunk in chunks
                     if 0 <= (i := place - chunk.first) < chunk.starts.size]
            own = step.token_slots(request)[step.context(request):]
            keys, values = heads_of(project, latent[np.concatenate([*slots, own])])
            rows = values_of(q[first:first + step.query_lens[request]], step.arch)
            out.append(attention(rows, keys, values, SCALE, causal=True).out)
            first += rows.shape[0]
        made = np.concatenate(out).astype(np.float32)
        if self.plant == "NanResult":
            made[-1, -1, -1] = np.nan
        return made[:-1] if self.plant == "ResultShape" else made


def _sums(lengths) -> np.ndarray:
    return np.cumsum([0, *lengths]).astype(np.int32)


def _chunks(step: PrefillStep, order):
    """Request after request; one that does not fit is cut at a whole block."""
    pieces, room = [[]], step.workspace
    for place, request in enumerate(order):
        at = 0
        if not step.context(request):  # requests of a chunk lie side by side
            pieces.append([])
            room = step.workspace
        while at < step.context(request):
            length = min(step.context(request) - at, room)
            if at + length < step.context(request):
                length -= length % step.block_size
            if length:
                pieces[-1].append((place, at, length))
                at += length
                room -= length
            if at < step.context(request):
                pieces.append([])
                room = step.workspace
    return [_chunk(step, order, own) for own in pieces if own]


def _chunk(step: PrefillStep, order, own) -> Chunk:
    rows = [step.query_lens[order[place]] for place, _, _ in own]
    lengths = [length for _, _, length in own]
    first = sum(step.query_lens[i] for i in order[:own[0][0]])
    slots = [step.token_slots(order[place])[at:at + length] for place, at, length in own]
    return Chunk(
        first=own[0][0], starts=np.array([at for _, at, _ in own], np.int32), sums=_sums(lengths),
        owners=np.repeat(np.arange(len(own)), lengths), slots=np.concatenate(slots),
        rows=(first, first + sum(rows)), row_sums=_sums(rows), most_rows=max(rows),
        most_keys=max(lengths), tokens=sum(lengths))


def _changed(**change):
    """A damage to the last chunk."""
    def damage(built: PrefillBuilt) -> PrefillBuilt:
        last = built.chunks[-1]
        made = dataclasses.replace(last, **{name: do(getattr(last, name))
                                            for name, do in change.items()})
        return dataclasses.replace(built, chunks=(*built.chunks[:-1], made))
    return damage


def _part(**change):
    """A damage to the part."""
    def damage(built: PrefillBuilt) -> PrefillBuilt:
        return dataclasses.replace(built, **{name: do(getattr(built, name))
                                             for name, do in change.items()})
    return damage


def _last(array, more):
    made = array.copy()
    made[-1] += more
    return made


DAMAGES = {
    "LostRequest": _part(order=lambda order: order[:-1]),
    "TwiceRequest": _part(decodes=lambda decodes: (*decodes, 0)),
    "LongDecode": lambda built: dataclasses.replace(
        built, decodes=(*built.decodes, built.order[0]), order=built.order[1:]),
    "Starts": _part(starts=lambda starts: _last(starts, 1)),
    "WideStarts": _part(starts=lambda starts: starts.astype(np.int64)),
    "Longest": _part(longest=lambda longest: longest - 1),
    "SmallWorkspace": lambda built: dataclasses.replace(
        built, workspace=max(chunk.tokens for chunk in built.chunks) - 1),
    "LostChunk": _part(chunks=lambda chunks: chunks[:-1]),
    "TwiceChunk": _part(chunks=lambda chunks: (*chunks, *chunks[-1:])),
    "ChunkShape": _changed(sums=lambda sums: sums[:-1]),
    "ChunkPlace": _changed(first=lambda first: first + 9),
    "LateChunk": _changed(starts=lambda starts: _last(starts, 1)),
    "ShortChunk": _changed(sums=lambda sums: _last(sums, -1)),
    "Falling": _changed(sums=lambda sums: _last(sums, -int(sums[-1]) - 1)),
    "WideSums": _changed(sums=lambda sums: sums.astype(np.int64)),
    "Tokens": _changed(tokens=lambda tokens: tokens + 1),
    "RowSums": _changed(row_sums=lambda sums: _last(sums, -1)),
    "RowSlice": _changed(rows=lambda rows: (rows[0], rows[1] - 1)),
    "MostRows": _changed(most_rows=lambda most: most - 1),
    "MostKeys": _changed(most_keys=lambda most: most - 1),
    "Owner": _changed(owners=lambda owners: _last(owners, 1)),
    "FewOwners": _changed(owners=lambda owners: owners[:-1]),
    "FewSlots": _changed(slots=lambda slots: slots[:-1]),
    "Slot": _changed(slots=lambda slots: np.append(slots[0] + 1, slots[1:])),
    "LastSlot": _changed(slots=lambda slots: _last(slots, 1)),
}


def _damaged(plant: str, built: PrefillBuilt) -> PrefillBuilt:
    if plant not in DAMAGES:
        return built
    try:
        return DAMAGES[plant](built)
    except (IndexError, ValueError):  # the step has no chunk to damage
        return built
