"""The index lists of single rows, against the keys that were selected for them."""

from __future__ import annotations

import dataclasses

import numpy as np

from ...planning import POISON
from ..decode.built import Built
from ..findings import Finding
from ..sentences import Sentences, check_sums, first
from .step import SparseStep


def check_lists(step: SparseStep, built: Built) -> list[Finding]:
    """P26, P04, P06, P01 and P13; the first sentence that does not hold."""
    return first(step, (check(step, built) for check in (_owners, _sums, _written, _keys)))


def check_taken(step: SparseStep, built: Built) -> list[Finding]:
    """SP-23: a layer without an indexer has the lists of this step's selection by its own table.

    Args:
        step: with what the layer before selected.
    """
    if built.taken is None:
        return []
    bundle, tables = built.taken
    other = dataclasses.replace(built, bundle=bundle)
    return [Finding("SP-23", one.step, "a layer without an indexer has other lists than those of "
                    f"this step's selection: {one.property}, {one.what}")
            for one in check_lists(dataclasses.replace(step, block_tables=tables), other)]


def _owners(step: SparseStep, built: Built) -> Sentences:
    """Each row belongs to its request; requests that are elsewhere have none."""
    here = [request for request in range(step.requests) if request not in built.elsewhere]
    if built.elsewhere and built.elsewhere != tuple(range(len(here), step.requests)):
        yield "P26", f"requests {list(built.elsewhere)} are elsewhere; expected the last ones"
    expected = step.owners[np.isin(step.owners, here)]
    found = np.array(built.live, int)
    if found.size != expected.size:
        yield "P26", (f"the lists have {found.size} rows; the {len(here)} requests of this part "
                      f"have {expected.size}")
        return
    wrong = np.flatnonzero(found != expected)
    if wrong.size:
        at = int(wrong[0])
        yield "P26", f"row {at} is given to request {found[at]}; expected {expected[at]}"


def _sums(step: SparseStep, built: Built) -> Sentences:
    """Padding has as many keys as the engine says: mostly none."""
    if built.bundle is None:
        return
    arrays, rows, live = built.bundle.arrays, len(built.requests), len(built.live)
    padding = built.padding_keys
    counts = [*step.counts[:live].tolist(),
              *(padding if isinstance(padding, tuple) else [padding] * (rows - live))]
    yield from check_sums("paged_kv_indptr", arrays["seqlens_kv_indptr"], counts)
    yield from check_sums("qo_indptr", arrays["seqlens_qo_indptr"], [1] * rows)
    last = arrays["kv_last_page_lens"]
    expected = np.arange(rows) if built.last_pages_are_sums else np.ones(rows, int)
    if not np.array_equal(last, expected):
        yield "P04", (f"paged_kv_last_page_len has {last.size} entries from {last.min()} to "
                      f"{last.max()} for {rows} rows; expected "
                      f"{'the sum of rows' if built.last_pages_are_sums else 'ones'}")
    room, keys = arrays["kv_indices"].size, int(arrays["seqlens_kv_indptr"][-1])
    if room < keys:
        yield "P06", f"paged_kv_indices has room for {room} keys; the rows have {keys}"


def _written(step: SparseStep, built: Built) -> Sentences:
    """The list was poison before the engine filled it: up to the last row, and no further."""
    if built.bundle is None:
        return
    indices, sums = (built.bundle.arrays[name] for name in ("kv_indices", "seqlens_kv_indptr"))
    after = np.flatnonzero(indices[sums[-1]:] != POISON)
    if after.size:
        at = int(sums[-1] + after[0])
        yield "P06", (f"paged_kv_indices[{at}] was written: {indices[at]}; the last row ends "
                      f"before {sums[-1]}")
    missing = np.flatnonzero(indices[:sums[-1]] == POISON)
    if missing.size:
        row = int(np.searchsorted(sums, missing[0], side="right")) - 1
        yield "P01", (f"{_named(step, row)}: key {missing[0] - sums[row]} of its list was not "
                      f"written; missing are {missing.size} of {sums[-1]}")


def _keys(step: SparseStep, built: Built) -> Sentences:
    """Each row has each of its selected keys once, in any order."""
    if built.bundle is None:
        return
    indices, sums = (built.bundle.arrays[name] for name in ("kv_indices", "seqlens_kv_indptr"))
    places = [step.cache_rows(request) for request in range(step.requests)]
    for row, request in enumerate(built.live):
        found = indices[sums[row]:sums[row + 1]].astype(np.int64)
        expected = places[request][step.selected[row]]
        if (np.sort(found) != np.sort(expected)).any():
            yield from _wrong(step, row, found, expected, places)
            return


def _wrong(
    step: SparseStep, row: int, found: np.ndarray, expected: np.ndarray, places: list[np.ndarray]
) -> Sentences:
    """What a wrong key of a row is; one that the row must not see before all others."""
    named, foreign = _named(step, row), found[~np.isin(found, expected)]
    if not foreign.size:
        values, times = np.unique(found, return_counts=True)
        yield "P01", f"{named} has cache row {values[times > 1][0]} {times.max()} times"
        return
    own, visible = places[int(step.owners[row])], int(step.visible[row])
    later = foreign[np.isin(foreign, own[visible:])]
    if later.size:
        yield "P13", (f"{named} reads cache row {later[0]}, key {_place(own, later[0])} of its "
                      f"request; the row sees keys 0 to {visible - 1}")
    key, missing = int(foreign[0]), expected[~np.isin(expected, found)]
    if not 0 <= key < step.pool_rows:
        what = f"; the cache has rows 0 to {step.pool_rows - 1}"
    elif key in own:
        what = f", key {_place(own, key)} of its request, which was not selected"
    else:
        owner = next((i for i, place in enumerate(places) if key in place), None)
        what = f", which is {'no request' if owner is None else f'request {owner}'}'s"
    of = f"; cache row {missing[0]} is missing" if missing.size else ""
    yield "P01", (f"{named} reads cache row {key}{what}; wrong are {foreign.size} of "
                  f"{found.size}{of}")


def _place(places: np.ndarray, key: int) -> int:
    return int(np.flatnonzero(places == key)[0])


def _named(step: SparseStep, row: int) -> str:
    return f"row {row} (request {step.owners[row]})"
