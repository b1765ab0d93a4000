"""Which cached keys the extends gather, by chunks or by a window, and what decodes see of one."""

from __future__ import annotations

import numpy as np

from ..findings import PLAN, Finding
from ..sentences import Sentences, at_least, check_sums, first
from .built import FaBuilt
from .step import FaStep


def check_chunks(step: FaStep, built: FaBuilt) -> list[Finding]:
    """P25, P04 and P06: each key that a row sees is gathered once and by its owner."""
    gathered = (_window if step.window >= 0 else _context,) if built.part("extend") else ()
    return first(step, (check(step, built) for check in (*gathered, _trimmed)), PLAN)


def _extends(step: FaStep, built: FaBuilt) -> list[int]:
    return [built.order[place] for place in built.part("extend")]


def _context(step: FaStep, built: FaBuilt) -> Sentences:
    """Chunks of the context: [start, start + length) of each extend, from 0 to its end."""
    extends, numbers, lists = _extends(step, built), built.numbers, built.lists
    sums, starts = lists["cu_seq_lens_chunk"], lists["chunk_starts"]
    chunks = numbers["num_chunks"]
    shapes = (chunks, len(extends) + 1), (chunks, len(extends))
    if (sums.shape, starts.shape) != shapes:
        yield "P04", (f"cu_seq_lens_chunk has shape {sums.shape} and chunk_starts {starts.shape}; "
                      f"expected {shapes[0]} and {shapes[1]}")
        return
    for name in ("max_seq_lens", "total_token_per_batch"):
        if lists[name].size != chunks:
            yield "P04", f"{name} has {lists[name].size} entries for {chunks} chunks"
            return
    for chunk in range(chunks):
        lengths = np.diff(sums[chunk].astype(np.int64)).tolist()
        yield from _chunk(built, chunk, lengths)
    for place, request in enumerate(extends):
        at = 0
        for chunk in range(chunks):
            begin = int(starts[chunk, place])
            end = begin + int(sums[chunk, place + 1] - sums[chunk, place])
            if begin < end and begin != at:
                yield "P25", (f"chunk {chunk} of request {request} begins with key {begin}; the "
                              f"chunks before it end with key {at}")
                return
            at = max(at, end) if begin < end else at
        if at != step.context(request):
            yield "P25", (f"the chunks of request {request} have keys 0 to {at}; its context has "
                          f"{step.context(request)}")


def _chunk(built: FaBuilt, chunk: int, lengths: list[int]) -> Sentences:
    lists, total = built.lists, sum(lengths)
    if min(lengths) < 0:
        yield "P04", f"cu_seq_lens_chunk of chunk {chunk} falls by {-min(lengths)}"
        return
    yield from check_sums(f"cu_seq_lens_chunk of chunk {chunk}",
                          lists["cu_seq_lens_chunk"][chunk], lengths)
    found = int(lists["total_token_per_batch"][chunk])
    if found != total:
        yield "P04", f"total_token_per_batch of chunk {chunk} is {found}; its requests have {total}"
    if total > built.numbers["workspace_tokens"]:
        yield "P06", (f"chunk {chunk} has {total} keys; the workspace has room for "
                      f"{built.numbers['workspace_tokens']}")
    yield from at_least(f"max_seq_lens of chunk {chunk}", int(lists["max_seq_lens"][chunk]),
                        max(lengths), "a request")
    yield from _owners(f"token_to_batch of chunk {chunk}", lists["token_to_batch"][chunk], lengths)


def _owners(name: str, found: np.ndarray, lengths: list[int]) -> Sentences:
    expected = np.repeat(np.arange(len(lengths)), lengths)
    if found.size < expected.size:
        yield "P06", f"{name} has {found.size} entries for {expected.size} keys"
        return
    wrong = np.flatnonzero(found[:expected.size] != expected)
    if wrong.size:
        at = int(wrong[0])
        yield "P25", f"{name} gives key {at} to extend {found[at]}; expected {expected[at]}"


def _window(step: FaStep, built: FaBuilt) -> Sentences:
    """One gather: the last keys of each extend, as many as its rows see at least."""
    extends, numbers, lists = _extends(step, built), built.numbers, built.lists
    if "swa_cu_seqlens" not in lists:
        yield "P25", f"a layer with a window of {step.window} keys has no gather for its extends"
        return
    starts = lists["swa_seq_starts"]
    lengths = np.diff(lists["swa_cu_seqlens"].astype(np.int64)).tolist()
    if len(lengths) != len(extends) or starts.size != len(extends):
        yield "P04", (f"swa_cu_seqlens has {len(lengths) + 1} and swa_seq_starts {starts.size} "
                      f"entries for {len(extends)} extends")
        return
    yield from check_sums("swa_cu_seqlens", lists["swa_cu_seqlens"], lengths)
    for place, request in enumerate(extends):
        first, end = int(starts[place]), int(starts[place]) + lengths[place]
        if end != step.seq_lens[request]:
            yield "P25", (f"the window of request {request} ends with key {end}; its last is "
                          f"{step.seq_lens[request]}")
        if not 0 <= first <= step.first_seen(request):
            yield "P25", (f"the window of request {request} begins with key {first}; its first row "
                          f"sees key {step.first_seen(request)}")
    total = sum(lengths)
    if numbers["swa_total_tokens"] != total or numbers["swa_workspace_tokens"] < total:
        yield "P06", (f"swa_total_tokens is {numbers['swa_total_tokens']} and the workspace has "
                      f"{numbers['swa_workspace_tokens']} tokens; the windows have {total}")
    yield from at_least("swa_max_seqlens", numbers["swa_max_seqlens"], max(lengths), "a window")
    yield from _owners("swa_token_to_batch", lists["swa_token_to_batch"], lengths)


def _trimmed(step: FaStep, built: FaBuilt) -> Sentences:
    """Where tables of decodes are cut to the window: what is left is its end, in whole blocks."""
    if "decode_swa_block_table" not in built.lists:
        return
    table, lengths = built.lists["decode_swa_block_table"], built.lists["decode_swa_seq_lens"]
    for place in built.part("decode"):
        if place >= len(built.order):
            continue
        request, left = built.order[place], int(lengths[place])
        first = step.seq_lens[request] - left
        if first < 0 or first % step.block_size or first > step.first_seen(request):
            yield "P25", (f"request {request} keeps its last {left} keys, from key {first}; "
                          f"expected a whole block that begins at key {step.first_seen(request)} "
                          "or before")
            return
        expected = np.array(step.block_tables[request][first // step.block_size:])
        if table.shape[1] < expected.size:
            yield "P06", (f"decode_swa_block_table has {table.shape[1]} columns; the window of "
                          f"request {request} has {expected.size} blocks")
            return
        if (table[place, :expected.size] != expected).any():
            yield "P18", (f"decode_swa_block_table of request {request} is "
                          f"{table[place, :expected.size].tolist()}; expected {expected.tolist()}")
        yield from at_least("decode_swa_max_seq_len", built.numbers["decode_swa_max_seq_len"], left,
                            f"request {request}")
