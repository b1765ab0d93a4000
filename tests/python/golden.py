"""The golden vectors in fixtures/golden, as Python calls of the planners."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "golden"
#: Buffer names: ours, then those of the vectors.
BUFFERS = {"work_indptr": "work_indptr", "work_info_set": "work_info",
           "reduce_indptr": "reduce_indptr", "reduce_final_map": "reduce_final_map",
           "reduce_partial_map": "reduce_partial_map"}


def cases(pattern: str) -> Iterator[dict[str, Any]]:
    """Every case with a full expected plan in the files that match."""
    for path in sorted(GOLDEN.glob(pattern)):
        for case in json.loads(path.read_text())["cases"]:
            if "expected" in case:
                yield case


def list_of(case: dict[str, Any], key: str) -> np.ndarray:
    return np.array(case[key], np.int32)


def expected(case: dict[str, Any], buffer: str, size: int) -> tuple[np.ndarray, np.ndarray]:
    """(values, where written), both as long as the buffer."""
    given = case["expected"][BUFFERS[buffer]]
    flat: list[int | None] = []
    for item in given:
        flat.extend(item if isinstance(item, list) else [item])
    values = np.zeros(size, np.int32)
    written = np.zeros(size, bool)
    for i, value in enumerate(flat):
        if value is not None:
            values[i], written[i] = value, True
    return values, written
