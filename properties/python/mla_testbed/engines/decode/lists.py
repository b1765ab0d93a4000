"""The index lists of requests, against the batch that the builder was given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..findings import Finding
from ..sentences import Sentences, first
from ..step import EngineStep
from .built import PADDING, Built

_SHOWN = 5


def check_lists(step: EngineStep, built: Built) -> list[Finding]:
    """P26, P04, P06, P01, P34 and P11: which requests, how many rows and keys, which pages."""
    checks = (_owners, _sums, _rows, _pages) if built.bundle else (_owners,)
    return first(step, (check(step, built) for check in checks))


def _owners(step: EngineStep, built: Built) -> Sentences:
    """Each request is in one place."""
    named = sorted((*built.live, *(r for r in built.elsewhere if r != PADDING)))
    if named != list(range(step.requests)):
        yield "P26", (f"the builder's parts have requests {_few(named)}; expected each of "
                      f"{step.requests} once")


def _list(built: Built, name: str) -> np.ndarray:
    assert built.bundle is not None
    return built.bundle.arrays[name].astype(np.int64)


def _sums(step: EngineStep, built: Built) -> Sentences:
    count = len(built.requests)
    for name in ("seqlens_qo_indptr", "seqlens_kv_indptr"):
        indptr = _list(built, name)
        if indptr.size != count + 1:
            yield "P04", (f"{name} has {indptr.size} entries for {count} requests; expected "
                          f"{count + 1}")
        elif indptr[0] != 0 or (np.diff(indptr) < 0).any():
            yield "P04", (f"{name} is {_few(indptr.tolist())}; expected to start at 0 and never to "
                          "fall")


def _rows(step: EngineStep, built: Built) -> Sentences:
    rows = np.diff(_list(built, "seqlens_qo_indptr"))
    for request, found in zip(built.requests, rows, strict=True):
        if request != PADDING and found != step.query_lens[request] + built.leading_rows:
            yield "P04", (f"seqlens_qo_indptr gives request {request} {found} rows; expected "
                          f"{step.query_lens[request] + built.leading_rows}")


def _pages(step: EngineStep, built: Built) -> Sentences:
    assert built.bundle is not None
    size = int(built.bundle.scalars.get("page_size", 1))
    qo, kv, indices = (_list(built, name) for name in (
        "seqlens_qo_indptr", "seqlens_kv_indptr", "kv_indices"))
    if indices.size < kv[-1]:
        yield "P06", (f"kv_indices has room for {indices.size} pages; seqlens_kv_indptr ends at "
                      f"{kv[-1]}")
    last = built.bundle.arrays.get("kv_last_page_lens", np.ones(len(built.requests), np.int32))
    for row, request in enumerate(built.requests):
        pages = indices[kv[row]:kv[row + 1]]
        if request == PADDING:
            yield from _padding(step, row, int(qo[row + 1] - qo[row]), pages)
        else:
            yield from _live(step, request, pages, int(last[row]), size)


def _live(step: EngineStep, request: int, pages: np.ndarray, last: int, size: int) -> Sentences:
    expected = step.page_ids(request, size)
    if pages.size != expected.size:
        yield "P04", (f"seqlens_kv_indptr gives request {request} {pages.size} pages of {size}; "
                      f"its {step.seq_lens[request]} keys have {expected.size}")
        return
    wrong = np.flatnonzero(pages != expected)
    if wrong.size:
        at = int(wrong[0])
        yield "P01", (f"kv_indices of request {request}, page {at}: {pages[at]}; expected "
                      f"{expected[at]}; wrong are {wrong.size} of {pages.size}")
    length = (step.seq_lens[request] - 1) % size + 1
    if last != length:
        yield "P04", f"kv_last_page_lens of request {request} is {last}; expected {length}"


def _padding(step: EngineStep, row: int, rows: int, pages: np.ndarray) -> Sentences:
    wild = pages[(pages < 0) | (pages >= max(step.pool_pages, 1))]
    if wild.size:
        yield "P11", (f"padding request {row} reads page {wild[0]}; the cache has pages 0 to "
                      f"{step.pool_pages - 1}")
    if 0 < pages.size < rows:
        yield "P34", (f"padding request {row} has {pages.size} keys for {rows} rows; expected none "
                      "or at least as many")


def _few(values: Sequence[int]) -> str:
    text = ", ".join(map(str, values[:_SHOWN]))
    return f"[{text}{', ...' if len(values) > _SHOWN else ''}]"
