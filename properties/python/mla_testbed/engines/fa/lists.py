"""Which requests are in which part, and their rows, keys, blocks and slots, against the batch."""

from __future__ import annotations

import numpy as np

from ..findings import Finding
from ..sentences import Sentences, at_least, check_sums, first
from .built import FaBuilt
from .step import FaStep


def check_lists(step: FaStep, built: FaBuilt) -> list[Finding]:
    """P26, P04, P18, P11, P21 and P29; the first sentence that does not hold."""
    return first(step, (check(step, built) for check in (
        _order, _parts, _starts, _lengths, _blocks, _slots, _maxima, _flags)))


def rows_at(step: FaStep, built: FaBuilt, place: int) -> int:
    """Rows of the request at a place of the batch; padding has none."""
    return step.query_lens[built.order[place]] if place < len(built.order) else 0


def _order(step: FaStep, built: FaBuilt) -> Sentences:
    if sorted(built.order) != list(range(step.requests)):
        yield "P26", (f"the engine's order is {list(built.order)}; expected each of "
                      f"{step.requests} requests once")
    counts = [len(built.part(name)) for name in ("decode", "extend", "prefill")]
    if sum(counts) != built.requests or min(counts) < 0:
        yield "P26", (f"{counts[0]} decodes, {counts[1]} extends and {counts[2]} prefills are not "
                      f"the {built.requests} requests of the batch")


def _parts(step: FaStep, built: FaBuilt) -> Sentences:
    for name, tokens in (("decode", "num_decode_tokens"), ("extend", "num_extend_tokens")):
        rows = sum(rows_at(step, built, place) for place in built.part(name))
        padded = name == "decode" and built.graph
        if built.numbers[tokens] != rows and not (padded and built.numbers[tokens] > rows):
            yield "P04", f"{tokens} is {built.numbers[tokens]}; the {name}s have {rows} rows"
    for place in built.part("decode"):
        rows = rows_at(step, built, place)
        if rows > step.threshold:
            yield "P26", (f"request {built.order[place]} of {rows} rows is a decode; decodes have "
                          f"at most {step.threshold}")
    for place in built.part("prefill"):
        request = built.order[place]
        if step.context(request) > 0:
            yield "P26", (f"request {request} has {step.context(request)} cached keys and is a "
                          "prefill, which reads none of them")


def _starts(step: FaStep, built: FaBuilt) -> Sentences:
    rows = [rows_at(step, built, place) for place in range(built.requests)]
    yield from check_sums("query_start_loc", built.lists["query_start_loc"], rows)
    for name in ("extend", "prefill"):
        if built.part(name):
            yield from check_sums(f"{name}_query_start_loc",
                                  built.lists[f"{name}_query_start_loc"],
                                  [rows[place] for place in built.part(name)])


def _lengths(step: FaStep, built: FaBuilt) -> Sentences:
    found = built.lists["seq_lens"]
    if found.size != built.requests:
        yield "P04", f"seq_lens has {found.size} entries for {built.requests} requests"
    for place, request in enumerate(built.order):
        if found[place] != step.seq_lens[request]:
            yield "P04", (f"seq_lens of request {request} is {found[place]}; expected "
                          f"{step.seq_lens[request]}")
    padding = np.flatnonzero(found[len(built.order):])
    if padding.size:
        yield "P11", (f"padding request {int(padding[0])} has "
                      f"{found[len(built.order) + padding[0]]} keys; expected 0")


def _blocks(step: FaStep, built: FaBuilt) -> Sentences:
    table = built.lists["block_table"]
    if table.ndim != 2 or table.shape[0] < built.requests:  # noqa: PLR2004
        yield "P04", f"block_table has shape {table.shape} for {built.requests} requests"
        return
    for place, request in enumerate(built.order):
        expected = np.array(step.block_tables[request])
        if table.shape[1] < expected.size:
            yield "P06", (f"block_table has {table.shape[1]} columns; request {request} has "
                          f"{expected.size} blocks")
            return
        wrong = np.flatnonzero(table[place, :expected.size] != expected)
        if wrong.size:
            at = int(wrong[0])
            yield "P18", (f"block_table of request {request}, block {at}: {table[place, at]}; "
                          f"expected {expected[at]}")
    wild = table[len(built.order):built.requests]
    if ((wild < 0) | (wild >= step.pool_blocks)).any():
        yield "P11", f"a padding request names block {wild.min()} or {wild.max()}; the cache has " \
                     f"blocks 0 to {step.pool_blocks - 1}"


def _slots(step: FaStep, built: FaBuilt) -> Sentences:
    found, rows = built.lists["slot_mapping"], built.numbers["num_actual_tokens"]
    expected = np.concatenate([step.new_slots(request) for request in built.order])
    if found.size < rows or rows < expected.size or (rows > expected.size and not built.graph):
        yield "P04", (f"slot_mapping has {found.size} entries and num_actual_tokens is {rows}; the "
                      f"batch has {expected.size} rows")
        return
    wrong = np.flatnonzero(found[:expected.size] != expected)
    if wrong.size:
        at = int(wrong[0])
        yield "P18", f"slot_mapping of row {at} is {found[at]}; expected {expected[at]}"
    if (found[expected.size:rows] >= 0).any():
        yield "P11", (f"a row of padding is cached in slot {found[expected.size:rows].max()}; "
                      "expected -1")


def _maxima(step: FaStep, built: FaBuilt) -> Sentences:
    yield from at_least("max_seq_len", built.numbers["max_seq_len"], max(step.seq_lens),
                        "a request")
    for name in ("decode", "extend", "prefill"):
        places = [place for place in built.part(name) if place < len(built.order)]
        if not places:
            continue
        yield from at_least(f"{name}_max_query_len", built.numbers[f"{name}_max_query_len"],
                            max(rows_at(step, built, place) for place in places), f"a {name}")
        if name != "decode":
            yield from at_least(f"{name}_max_seq_len", built.numbers[f"{name}_max_seq_len"],
                                max(step.seq_lens[built.order[p]] for p in places), f"a {name}")


def _flags(step: FaStep, built: FaBuilt) -> Sentences:
    if built.numbers["causal"] != int(step.causal):
        yield "P29", f"causal is {bool(built.numbers['causal'])}; the step has {step.causal}"
    if step.drafts_only and built.fetched:
        yield "P21", f"the host waits for the device in a step of decodes: {built.fetched[0]}"
