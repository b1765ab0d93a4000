"""Rows, keys and slots of a prefill part, against the batch; each key is gathered once."""

from __future__ import annotations

import itertools

import numpy as np

from ..findings import PLAN, Finding
from ..sentences import Sentences, at_least, check_sums, first
from .built import Chunk, PrefillBuilt
from .step import PrefillStep


def check_lists(step: PrefillStep, built: PrefillBuilt) -> list[Finding]:
    """P26, P04, P25, P06 and P01; the first sentence that does not hold."""
    return first(step, (check(step, built) for check in (_parts, _rows, _coverage))) or first(
        step, (_chunk(step, built, number, chunk) for number, chunk in enumerate(built.chunks)),
        PLAN)


def _parts(step: PrefillStep, built: PrefillBuilt) -> Sentences:
    named = sorted((*built.order, *built.decodes))
    if named != list(range(step.requests)):
        yield "P26", f"the parts have requests {named}; expected each of {step.requests} once"
        return
    for request in built.decodes:
        if step.query_lens[request] > 1:
            yield "P26", (f"request {request} of {step.query_lens[request]} rows is a decode; "
                          "decodes have 1")


def _rows(step: PrefillStep, built: PrefillBuilt) -> Sentences:
    rows = [step.query_lens[request] for request in built.order]
    yield from check_sums("query_start_loc", built.starts, rows)
    yield from at_least("the maximum of rows", built.longest, max(rows), "a request")


def _coverage(step: PrefillStep, built: PrefillBuilt) -> Sentences:
    """The pieces of each request follow one another, from key 0 to the last one."""
    ends = [0] * len(built.order)
    for number, chunk in enumerate(built.chunks):
        count = chunk.starts.size
        if chunk.first < 0 or chunk.first + count > len(built.order) or (
                chunk.sums.size != count + 1):
            yield "P04", (f"chunk {number} has {count} starts and {chunk.sums.size} sums from "
                          f"request {chunk.first} on; the part has {len(built.order)} requests")
            return
        for at in range(count):
            place, begin = chunk.first + at, int(chunk.starts[at])
            length = int(chunk.sums[at + 1]) - int(chunk.sums[at])
            if length < 0:
                yield "P04", f"cu_seq_lens of chunk {number} falls by {-length}"
                return
            if length and begin != ends[place]:
                yield "P25", (f"chunk {number} of request {built.order[place]} begins with key "
                              f"{begin}; the chunks before it end with key {ends[place]}")
                return
            ends[place] += length
    for place, end in enumerate(ends):
        if end != built.keys(step, place):
            yield "P25", (f"the chunks of request {built.order[place]} have keys 0 to {end}; "
                          f"expected 0 to {built.keys(step, place)}")


def _chunk(step: PrefillStep, built: PrefillBuilt, number: int, chunk: Chunk) -> Sentences:
    count = chunk.starts.size
    lengths = np.diff(chunk.sums.astype(np.int64)).tolist()
    total, own = sum(lengths), f"of chunk {number}"
    yield from check_sums(f"cu_seq_lens {own}", chunk.sums, lengths)
    if chunk.tokens != total:
        yield "P04", f"the number of tokens {own} is {chunk.tokens}; its requests have {total}"
    if built.workspace is not None and total > built.workspace:
        yield "P06", f"chunk {number} has {total} keys; the workspace has {built.workspace}"
    rows = [step.query_lens[r] for r in built.order[chunk.first:chunk.first + count]]
    yield from check_sums(f"query_start_loc {own}", chunk.row_sums, rows)
    first = sum(step.query_lens[r] for r in built.order[:chunk.first])
    if chunk.rows != (first, first + sum(rows)):
        yield "P04", (f"chunk {number} meets rows {chunk.rows[0]} to {chunk.rows[1]}; its requests "
                      f"have rows {first} to {first + sum(rows)}")
    yield from at_least(f"the maximum of rows {own}", chunk.most_rows, max(rows), "a request")
    yield from at_least(f"the maximum of keys {own}", chunk.most_keys, max(lengths), "a request")
    yield from _slots(step, built, number, chunk, lengths)


def _slots(
    step: PrefillStep, built: PrefillBuilt, number: int, chunk: Chunk, lengths: list[int]
) -> Sentences:
    """Each gathered key: whose it is, and where it lies."""
    total = sum(lengths)
    if min(chunk.owners.size, chunk.slots.size) < total:
        yield "P06", (f"chunk {number} of {total} keys has {chunk.owners.size} owners and "
                      f"{chunk.slots.size} slots")
        return
    ends = itertools.accumulate(lengths)
    for at, (length, end) in enumerate(zip(lengths, ends, strict=True)):
        run, request = slice(end - length, end), built.order[chunk.first + at]
        wrong = np.flatnonzero(chunk.owners[run] != at)
        if wrong.size:
            key = int(wrong[0])
            yield "P25", (f"key {key} of request {request} in chunk {number} is given to "
                          f"{chunk.owners[run][key]}; expected {at}")
        begin = int(chunk.starts[at])
        expected = step.token_slots(request)[begin:begin + length]
        wrong = np.flatnonzero(chunk.slots[run] != expected)
        if wrong.size:
            key = int(wrong[0])
            yield "P01", (f"key {begin + key} of request {request} is read from slot "
                          f"{chunk.slots[run][key]}; expected {expected[key]}")
