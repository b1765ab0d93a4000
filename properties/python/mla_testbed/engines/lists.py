"""The index lists that an engine's builder made, against the batch that it was given."""

from __future__ import annotations

import numpy as np

from .engine import PADDING, Built
from .findings import Finding
from .step import EngineStep

_SHOWN = 5


def check_lists(step: EngineStep, built: Built) -> list[Finding]:
    """P26, P04, P01, P34 and P11: which requests, how many rows and keys, which pages."""
    found = _owners(step, built)
    if found or built.bundle is None:
        return found
    arrays = built.bundle.arrays
    qo, kv = (arrays[name].astype(np.int64)
              for name in ("seqlens_qo_indptr", "seqlens_kv_indptr"))
    count = len(built.requests)
    for name, indptr in (("seqlens_qo_indptr", qo), ("seqlens_kv_indptr", kv)):
        if indptr.size != count + 1:
            return [_finding(step, "P04", f"{name} has {indptr.size} entries for {count} requests; "
                             f"expected {count + 1}")]
        if indptr[0] != 0 or (np.diff(indptr) < 0).any():
            return [_finding(step, "P04", f"{name} is {_few(indptr)}; expected to start at 0 and "
                             "never to fall")]
    found = _rows(step, built, qo)
    return found or _pages(step, built, qo, kv)


def _owners(step: EngineStep, built: Built) -> list[Finding]:
    """Each request is in one place."""
    named = [r for r in (*built.requests, *built.elsewhere) if r != PADDING]
    if sorted(named) != list(range(step.requests)):
        return [_finding(step, "P26", f"the builder's parts have requests {_few(sorted(named))}; "
                         f"expected each of {step.requests} once")]
    return []


def _rows(step: EngineStep, built: Built, qo: np.ndarray) -> list[Finding]:
    for row, request in enumerate(built.requests):
        rows = int(qo[row + 1] - qo[row])
        if request == PADDING:
            continue
        expected = step.query_lens[request] + built.leading_rows
        if rows != expected:
            return [_finding(step, "P04", f"seqlens_qo_indptr gives request {request} {rows} rows; "
                             f"expected {expected}")]
    return []


def _pages(step: EngineStep, built: Built, qo: np.ndarray, kv: np.ndarray) -> list[Finding]:
    assert built.bundle is not None
    arrays, size = built.bundle.arrays, int(built.bundle.scalars.get("page_size", 1))
    indices = arrays["kv_indices"].astype(np.int64)
    if indices.size < kv[-1]:
        return [_finding(step, "P06", f"kv_indices has room for {indices.size} pages; "
                         f"seqlens_kv_indptr ends at {kv[-1]}")]
    last = arrays.get("kv_last_page_lens", np.ones(len(built.requests), np.int32))
    for row, request in enumerate(built.requests):
        pages = indices[kv[row]:kv[row + 1]]
        if request == PADDING:
            found = _padding(step, row, int(qo[row + 1] - qo[row]), pages)
        else:
            found = _live(step, request, pages, int(last[row]), size)
        if found:
            return found
    return []


def _live(
    step: EngineStep, request: int, pages: np.ndarray, last: int, size: int
) -> list[Finding]:
    expected = step.page_ids(request, size)
    if pages.size != expected.size:
        return [_finding(step, "P04", f"seqlens_kv_indptr gives request {request} {pages.size} "
                         f"pages of {size}; its {step.seq_lens[request]} keys have "
                         f"{expected.size}")]
    wrong = np.flatnonzero(pages != expected)
    if wrong.size:
        at = int(wrong[0])
        return [_finding(step, "P01", f"kv_indices of request {request}, page {at}: {pages[at]}; "
                         f"expected {expected[at]}; wrong are {wrong.size} of {pages.size}")]
    length = (step.seq_lens[request] - 1) % size + 1
    if last != length:
        return [_finding(step, "P04", f"kv_last_page_lens of request {request} is {last}; "
                         f"expected {length}")]
    return []


def _padding(step: EngineStep, row: int, rows: int, pages: np.ndarray) -> list[Finding]:
    wild = pages[(pages < 0) | (pages >= max(step.pool_pages, 1))]
    if wild.size:
        return [_finding(step, "P11", f"padding request {row} reads page {wild[0]}; the cache has "
                         f"pages 0 to {step.pool_pages - 1}")]
    if 0 < pages.size < rows:
        return [_finding(step, "P34", f"padding request {row} has {pages.size} keys for {rows} "
                         "rows; expected none or at least as many")]
    return []


def _finding(step: EngineStep, property_id: str, what: str) -> Finding:
    return Finding(property_id, step.number, what)


def _few(values: object) -> str:
    shown = list(values)  # type: ignore[call-overload]
    text = ", ".join(str(int(v)) for v in shown[:_SHOWN])
    return f"[{text}{', ...' if len(shown) > _SHOWN else ''}]"
