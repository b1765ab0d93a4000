"""The chain in float32, as kernels compute it: what plants break, and what runs without kernels.

It shares layouts and tables with the references, and no arithmetic.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from . import cache, rows
from .case import KEY
from .inputs import Inputs
from .lists import Lists
from .logits import BEFORE, FENCE, columns
from .numbers import of_bf16, product, rounded_bf16
from .selection import NONE

#: Keys of a piece of a row.
_PIECE = 64
#: Tokens that are written at a time.
_AT_A_TIME = 1 << 14


@dataclasses.dataclass(frozen=True)
class Stages:
    """One function for each stage of the chain; a plant replaces some.

    Attributes:
        write: (inputs, slot_mapping, cache): quantises and stores all tokens.
        gather: (inputs, cache): codes (keys + 1, KEY) and scales of all requests; the last row is a
            fence.
        logits: (inputs, cache): (rows, W + FENCE) float32; None where `select` computes its own.
        select: (inputs, logits or cache, rank): (rows, k) int32.
        convert: (inputs, selection, stale): lists; stale is what the buffers held.
        split: (inputs, lists): pieces (pieces, 3).
        store: (inputs, slot_mapping, cache): packs and stores all rows of the cache.
        fetch: (inputs, cache, slots): (slots, width) float32, rows unpacked to bf16.
        attend: (inputs, lists, pieces): partial outputs (pieces, heads, values) and their lse.
        merge: (inputs, lists, pieces, partials, lse, sink): (rows + pad, heads, values).
        compress: (source, steps, cache): DeepSeek-V4's compressed keys (compressor.py).
        window: (inputs): lists of the sliding windows.
        visible: (inputs): (rows, most) all compressed keys that a row sees, then -1.
        share: (inputs of a layer, selection, stale): lists of a layer without an indexer.
        deal: (inputs, selection, rank): lists of the keys that a rank of several holds, as slots of
            its own cache.
        attend_part: (inputs of a rank, its lists): outputs (rows + pad, heads, values) and lse
            (rows + pad, heads).
        join: (inputs, parts, lse): the output of all ranks, of (ranks, rows + pad, heads, values)
            and (ranks, rows + pad, heads).
    """

    write: Callable[..., None]
    gather: Callable[..., tuple[np.ndarray, np.ndarray]]
    logits: Callable[..., np.ndarray] | None
    select: Callable[..., np.ndarray]
    convert: Callable[..., Lists]
    split: Callable[..., np.ndarray]
    store: Callable[..., None]
    fetch: Callable[..., np.ndarray]
    attend: Callable[..., tuple[np.ndarray, np.ndarray]]
    merge: Callable[..., np.ndarray]
    compress: Callable[..., None]
    window: Callable[..., Lists]
    visible: Callable[..., np.ndarray]
    share: Callable[..., Lists]
    deal: Callable[..., Lists]
    attend_part: Callable[..., tuple[np.ndarray, np.ndarray]]
    join: Callable[..., np.ndarray]


def write(inputs: Inputs, slot_mapping: np.ndarray, held: np.ndarray) -> None:
    """Each key once, with divisor 224 or 448; then to the slots of its tokens."""
    (keys, which), live = inputs.different_keys(), np.flatnonzero(slot_mapping >= 0)
    if not live.size:
        return
    largest = np.maximum(np.abs(keys).max(axis=1, keepdims=True), np.float32(cache.FLOOR))
    scales = largest / np.float32(cache.divisor_of(inputs))
    if inputs.case.scale == "ue8m0":
        scales = np.exp2(np.ceil(np.log2(scales)))
    codes, of_scales = inputs.encoding.encode(keys / scales), scales.view(np.uint8)
    for part in np.array_split(live, -(-live.size // _AT_A_TIME)):
        cache.put(inputs.case, held, slot_mapping[part], codes[which[part]], of_scales[which[part]])


def gather(inputs: Inputs, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Through the block table, one request after the other."""
    total = int(inputs.key_starts[-1])
    codes, scales = np.zeros((total + 1, KEY), np.uint8), np.zeros(total + 1, np.float32)
    for request, length in enumerate(inputs.lengths):
        first = int(inputs.key_starts[request])
        own = np.s_[first:first + length]
        codes[own], scales[own] = cache.stored(inputs, held, inputs.slots(request))
    return codes, scales


def logits(inputs: Inputs, held: np.ndarray) -> np.ndarray:
    """A row's visible keys; -inf after them."""
    made = np.full((inputs.case.rows, columns(inputs) + FENCE), BEFORE)
    made[:, :-FENCE] = -np.inf
    table = inputs.encoding.values.astype(np.float32)
    for row, (request, visible) in enumerate(zip(inputs.owners, inputs.visible, strict=True)):
        slots = inputs.slots(request)[:visible]
        for begin in range(0, slots.size, _AT_A_TIME):
            codes, scales = cache.stored(inputs, held, slots[begin:begin + _AT_A_TIME])
            dots = product(table[inputs.q[row]], table[codes].T)
            made[row, begin:begin + len(codes)] = \
                product(inputs.weights[row][None], np.maximum(dots * scales, 0))[0]
    return made


def select(inputs: Inputs, found: np.ndarray, rank: int = 0) -> np.ndarray:  # noqa: ARG001
    """Largest first; of equal ones the first, on each rank."""
    made = np.full((inputs.case.rows, inputs.case.k), NONE, np.int32)
    for row, visible in enumerate(inputs.visible):
        order = np.argsort(-found[row, :visible], kind="stable")[:inputs.case.k]
        made[row, :order.size] = order
    return made


def convert(inputs: Inputs, selection: np.ndarray, stale: Lists) -> Lists:  # noqa: ARG001
    """Drops -1 and keeps the order."""
    rows = []
    for row, request in enumerate(inputs.owners):
        keys = selection[row][selection[row] != NONE]
        block = inputs.tables[request, keys // inputs.case.block]
        rows.append(block * inputs.case.block + keys % inputs.case.block)
    return Lists.of_rows([*rows, *[np.zeros(0, np.int64)] * inputs.case.pad])


def split(inputs: Inputs, lists: Lists) -> np.ndarray:  # noqa: ARG001
    """Pieces of so many keys."""
    return pieces_of(np.diff(lists.indptr))


def pieces_of(lengths: np.ndarray) -> np.ndarray:
    """(pieces, 3): row, begin, end, for rows of these lengths."""
    made = [(row, begin, min(begin + _PIECE, int(length)))
            for row, length in enumerate(lengths) for begin in range(0, int(length), _PIECE)]
    return np.array(made, int).reshape(-1, 3)


def store(inputs: Inputs, slot_mapping: np.ndarray, held: np.ndarray) -> None:
    """Each tile by itself, with the logarithm of its scale."""
    case, divisor = inputs.case, np.float32(rows.divisor_of(inputs.case))
    live = slot_mapping[slot_mapping >= 0]
    at, latent = rows.places(case, live), of_bf16(inputs.latent[live, :case.width[0]])
    for tile in range(rows.Layout(case).tiles):
        part = np.s_[:, tile * rows.Layout(case).tile:(tile + 1) * rows.Layout(case).tile]
        scale = np.maximum(np.abs(latent[part]).max(axis=1), np.float32(rows.FLOOR)) / divisor
        if rows.power_of_two(case):
            scale = np.exp2(np.ceil(np.log2(scale)))
        held[at.values[part]] = inputs.encoding.encode(latent[part] / scale[:, None])
        if case.cache == "v4":
            held[at.scales[:, tile]] = np.log2(scale) + 127
        else:
            held[at.scales[:, 4 * tile:4 * tile + 4]] = rows.as_bytes(scale[:, None])
    held[at.spare] = 0
    held[at.rope] = rows.as_bytes(inputs.latent[live, case.width[0]:])


def fetch(inputs: Inputs, held: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """In float32, one tile after the other."""
    case, table = inputs.case, inputs.encoding.values.astype(np.float32)
    at, size = rows.places(case, slots), rows.Layout(case).tile
    made = np.empty((slots.size, case.row_width), np.float32)
    for tile in range(rows.Layout(case).tiles):
        if case.cache == "v4":
            scale = np.exp2(held[at.scales[:, tile]].astype(np.float32) - 127)
        else:
            four = np.ascontiguousarray(held[at.scales[:, 4 * tile:4 * tile + 4]])
            scale = four.view(np.float32)[:, 0]
        part = np.s_[:, tile * size:(tile + 1) * size]
        made[part] = rounded_bf16(table[held[at.values[part]]] * scale[:, None])
    made[:, case.width[0]:] = of_bf16(rows.as_bf16(held[at.rope]))
    return made


def keys_of(inputs: Inputs, slots: np.ndarray) -> np.ndarray:
    """(slots, width) float32: the rows that attention reads."""
    if inputs.case.cache == "bf16":
        return of_bf16(inputs.latent_rows(slots))
    return fetch(inputs, inputs.packed, slots)


def attend(inputs: Inputs, lists: Lists, pieces: np.ndarray, *,
           read: Callable[[Inputs, np.ndarray], np.ndarray] = keys_of,
           ) -> tuple[np.ndarray, np.ndarray]:
    """Each piece by itself, weights rounded to bf16."""
    width, scale = inputs.case.value_width, np.float32(inputs.softmax_scale)
    out = np.zeros((len(pieces), inputs.case.qheads, width), np.float32)
    lse = np.full((len(pieces), inputs.case.qheads), -np.inf, np.float32)
    for at, (row, begin, end) in enumerate(pieces):
        if row >= inputs.case.rows or begin >= end:
            continue
        keys = read(inputs, lists.row(row)[begin:end])
        scores = scale * product(of_bf16(inputs.query[row]), keys.T)
        top = scores.max(axis=1, keepdims=True)
        weights = np.exp(scores - top)
        total = weights.sum(axis=1, keepdims=True)
        out[at] = product(rounded_bf16(weights), keys[:, :width]) / total
        lse[at] = (np.log(total) + top)[:, 0]
    return out, lse


def merge(inputs: Inputs, lists: Lists, pieces: np.ndarray, partials: np.ndarray,  # noqa: ARG001
          lse: np.ndarray, sink: np.ndarray | None = None) -> np.ndarray:
    """By their log-sum-exps; rows without pieces are 0."""
    count = inputs.case.rows + inputs.case.pad
    made = np.zeros((count, inputs.case.qheads, inputs.case.value_width), np.float32)
    for row in range(count):
        mine = np.flatnonzero(pieces[:, 0] == row) if len(pieces) else np.zeros(0, int)
        if not mine.size:
            continue
        scores = lse[mine] if sink is None else np.vstack([lse[mine], sink.astype(np.float32)])
        weights = np.exp(scores - scores.max(axis=0))
        parts = weights[:mine.size, :, None] * partials[mine]
        made[row] = parts.sum(axis=0) / weights.sum(axis=0)[:, None]
    return rounded_bf16(made)

