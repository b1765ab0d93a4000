"""The result of an engine's decode, against dense attention in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ... import _library
from ...judging import Reference, reference
from .. import tensors
from ..step import EngineStep

#: More (row, head, key) products, or slots of the cache, are not executed.
_MOST_PRODUCTS, _MOST_SLOTS = 1 << 18, 1 << 16
SCALE = 1 / 192 ** 0.5


class Part(NamedTuple):
    """What attends: runs of rows that have keys in common.

    order: the requests whose rows they are, one after the other. sums: running sums of the rows of
    each run. slots: of each run its keys.
    """

    order: tuple[int, ...]
    sums: np.ndarray
    slots: Sequence[np.ndarray]


def affordable(step: EngineStep, part: Part) -> bool:
    """Whether attention and its reference take less than about a second."""
    products = step.heads * sum(
        rows * keys.size for rows, keys in zip(np.diff(part.sums), part.slots, strict=True))
    return 0 < products <= _MOST_PRODUCTS and step.pool_blocks * step.block_stride <= _MOST_SLOTS


def inputs(step: EngineStep, order: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Query and cache as Engine.attend has them."""
    return (tensors.query(step, order, tensors.WIDTH, step.dtype_q),
            tensors.cache(step, step.dtype_kv))


def dense(step: EngineStep, part: Part, q: np.ndarray, cache: np.ndarray) -> Reference:
    """Dense attention, with lists that are made here and not by the engine."""
    kv = np.cumsum([0, *map(len, part.slots)]).astype(np.int32)
    scale_q = np.array([step.q_scale], np.float32) if step.dtype_q == "fp8" else None
    scale_kv = np.array([step.kv_scale], np.float32) if step.dtype_kv == "fp8" else None
    places = _library.check_places(False)  # these are arrays of the host
    try:
        return reference(
            q, cache.reshape(-1, 1, 1, tensors.WIDTH), part.sums.astype(np.int32), kv,
            np.concatenate(part.slots).astype(np.int32), np.ones(len(part.slots), np.int32), SCALE,
            causal=step.causal, q_scale=scale_q, kv_scale=scale_kv, arch=step.arch)
    finally:
        _library.check_places(places)
