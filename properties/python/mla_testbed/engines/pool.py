"""Where the blocks of the requests lie in the cache, by a case's layout."""

from __future__ import annotations

import numpy as np

Tables = tuple[tuple[int, ...], ...]


def block_tables(layout: str, counts: list[int], origin: int) -> tuple[Tables, int]:
    """Block tables and the number of blocks of the pool.

    The arrangement is that of the layout's name; the permutation of `shuffled` is not the one that
    the case has in C++. One block before the first belongs to no request.

    Args:
        layout: such as "shuffled.7" (docs/reference/cases.md).
        counts: blocks of each request.
        origin: id of the first block that is used.
    """
    kind, _, parameter = layout.partition(".")
    shared = min([int(parameter), *counts]) if kind == "prefix" else 0
    total = shared + sum(count - shared for count in counts)
    ids = np.arange(total)
    if kind == "shuffled":
        ids = np.random.default_rng(int(parameter)).permutation(total)
    ids = ids + max(origin, 1)
    starts = np.cumsum([shared, *(count - shared for count in counts)])
    tables = [np.concatenate([ids[:shared], ids[start:start + count - shared]])
              for start, count in zip(starts, counts, strict=False)]
    if kind == "descending":
        tables = [table[::-1] for table in tables]
    if kind == "interleaved":
        tables = _interleaved(ids, counts)
    return (tuple(tuple(int(block) for block in table) for table in tables),
            max(origin, 1) + total)


def _interleaved(ids: np.ndarray, counts: list[int]) -> list[np.ndarray]:
    """Block j of every request before block j + 1 of any."""
    places = sorted((j, request) for request, count in enumerate(counts) for j in range(count))
    tables: list[list[int]] = [[] for _ in counts]
    for block, (_, request) in zip(ids, places, strict=True):
        tables[request].append(int(block))
    return [np.array(table, int) for table in tables]
