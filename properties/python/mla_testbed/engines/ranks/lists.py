"""The lists of each rank, against the keys that it holds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..decode.built import PADDING
from ..decode.lists import check_lists
from ..findings import Finding
from ..sentences import Sentences, first
from ..step import EngineStep
from .built import Part, RankBuilt, Rows


def check_ranks(step: EngineStep, built: RankBuilt) -> list[Finding]:
    """P24, P04, P01, P18 and those of decode: every key is with one rank, which has its own."""
    found = first(step, [_same(built), _once(step, built)])
    for rank, part in enumerate(built.parts):
        if found:
            break
        share = built.shard.share(step, rank)
        if part.rows is None:
            found = check_lists(share, part.built)
        found = found or first(step, [_rows(step, built, rank), _global(step, built, rank),
                                      _written(step, built, rank)])
        found = of_rank(rank, found)
    return found


def of_rank(rank: int, found: list[Finding]) -> list[Finding]:
    """The same findings, whose sentences name the rank."""
    return [Finding(f.property, f.step, f"rank {rank}: {f.what}", f.details, f.stage)
            for f in found]


def _same(built: RankBuilt) -> Sentences:
    """Collectives have as many rows on every rank, and the same kernel needs them."""
    ours = built.parts[0]
    for rank, part in enumerate(built.parts[1:], 1):
        if part.route != ours.route:
            yield "P24", f"rank 0 takes route {ours.route}, rank {rank} {part.route}"
        if part.built.requests != ours.built.requests:
            yield "P26", f"rank {rank} decodes other requests than rank 0"


def _slots(step: EngineStep, part: Part, request: int) -> np.ndarray:
    """Where a rank reads the keys of a request, in their order; of rows the longest."""
    place = part.built.requests.index(request)
    if part.rows is not None:
        rows = part.rows
        start = sum(step.query_lens[r] for r in part.built.requests[:place])
        own = range(start, start + step.query_lens[request])
        row = max(own, key=lambda one: int(rows.lens[one]))
        return _tokens(rows, row)
    assert part.built.bundle is not None
    arrays = part.built.bundle.arrays
    sums = arrays["seqlens_kv_indptr"]
    return arrays["kv_indices"][sums[place]:sums[place + 1]].astype(np.int64)


def _tokens(rows: Rows, row: int) -> np.ndarray:
    pages = rows.table[row].astype(np.int64)
    slots = pages[:, None] * rows.page_size + np.arange(rows.page_size)
    found: np.ndarray = slots.reshape(-1)[:max(int(rows.lens[row]), 0)]
    return found


def _once(step: EngineStep, built: RankBuilt) -> Sentences:
    """Every position of a request is read by one rank."""
    if not built.decodes or any(part.rows is None and part.built.bundle is None
                                for part in built.parts):
        return
    whole = built.shard.whole(step)
    for request in built.live:
        readers: dict[int, list[int]] = {}
        for rank, part in enumerate(built.parts):
            slots = _slots(step, part, request)
            for slot in built.shard.position_slots(step, slots, rank):
                readers.setdefault(int(slot), []).append(rank)
        expected = whole.token_slots(request)
        for position, slot in enumerate(expected):
            ranks = readers.pop(int(slot), [])
            if len(ranks) != 1:
                who = f"ranks {ranks}" if ranks else "no rank"
                yield "P24", (f"position {position} of request {request} is read by {who}; "
                              f"expected rank {built.shard.owners(position + 1)[-1]} alone")
        for slot, ranks in readers.items():
            yield "P24", (f"rank {ranks[0]} reads slot {slot} of all ranks' cache for request "
                          f"{request}, where it has no key")


def _rows(step: EngineStep, built: RankBuilt, rank: int) -> Sentences:
    """Of lists by rows: how many keys each sees, and where they are."""
    part = built.parts[rank]
    if part.rows is None:
        return
    rows, share, row = part.rows, built.shard.share(step, rank), 0
    for request in part.built.requests:
        if request == PADDING:
            break
        seen = built.shard.seen(step, request, rank)
        for number, keys in enumerate(seen):
            if row >= rows.lens.size or rows.lens[row] != keys:
                found = rows.lens[row] if row < rows.lens.size else "none"
                yield "P04", (f"row {number} of request {request} has {found} keys; it sees {keys} "
                              "of this rank")
                return
            expected = share.token_slots(request)[:keys]
            wrong = np.flatnonzero(_tokens(rows, row) != expected)
            if wrong.size:
                yield "P01", (f"row {number} of request {request} reads key {wrong[0]} in slot "
                              f"{_tokens(rows, row)[wrong[0]]}; expected {expected[wrong[0]]}")
            row += 1
    if rows.lens.size and rows.lens.max() > rows.most:
        yield "P04", f"a row has {rows.lens.max()} keys; the kernel looks at {rows.most}"
    for at in range(row, rows.lens.size):
        yield from _padding(share, at, _tokens(rows, at))


def _padding(share: EngineStep, row: int, slots: np.ndarray) -> Iterator[tuple[str, str]]:
    most = share.pool_blocks * share.block_size
    wild = slots[(slots < 0) | (slots >= most)]
    if wild.size:
        yield "P11", f"padding row {row} reads slot {wild[0]}; the cache has {most}"


def _global(step: EngineStep, built: RankBuilt, rank: int) -> Sentences:
    """Of a kernel that masks by positions: whole lengths, whose share the lists have."""
    part = built.parts[rank]
    if part.global_sums is None:
        return
    assert part.built.bundle is not None
    own = np.diff(part.built.bundle.arrays["seqlens_kv_indptr"])
    whole = np.diff(part.global_sums)
    if whole.size != len(part.built.requests):
        yield "P04", f"g_kv_indptr is of {whole.size} requests; {len(part.built.requests)} decode"
        return
    for place, request in enumerate(part.built.requests):
        if request != PADDING and whole[place] != step.seq_lens[request]:
            yield "P04", (f"g_kv_indptr gives request {request} {whole[place]} keys of all ranks; "
                          f"it has {step.seq_lens[request]}")
        share = built.shard.length(max(int(whole[place]), 0), rank)
        if share != own[place]:
            yield "P04", (f"place {place} has {own[place]} keys here, and {whole[place]} of all "
                          f"ranks, of which {share} are this rank's")


def _written(step: EngineStep, built: RankBuilt, rank: int) -> Sentences:
    """New tokens are written to their slot by the rank that holds them, by no other."""
    part = built.parts[rank]
    if part.slots is None:
        return
    share, row = built.shard.share(step, rank), 0
    for request, rows in enumerate(step.query_lens):
        context = step.context(request)
        before = built.shard.length(context, rank)
        own = built.shard.owners(step.seq_lens[request])[context:] == rank
        expected = np.full(rows, -1, np.int64)
        expected[own] = share.token_slots(request)[before:]
        wrong = np.flatnonzero(part.slots[row:row + rows] != expected)
        if wrong.size:
            at = int(wrong[0])
            yield "P18", (f"position {context + at} of request {request} is written to slot "
                          f"{part.slots[row + at]}; expected {expected[at]}")
        row += rows
