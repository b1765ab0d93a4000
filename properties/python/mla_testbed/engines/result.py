"""The result of an engine's forward against dense attention in float64."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import _library
from ..judging import Reference, reference
from . import tensors
from .elements import check_elements
from .engine import PADDING, Built, Engine
from .findings import Finding
from .step import EngineStep

#: More (row, head, key) products, or slots of the cache, are not executed.
MOST_PRODUCTS, MOST_SLOTS = 1 << 18, 1 << 16
SCALE = 1 / 192 ** 0.5


def affordable(step: EngineStep, built: Built) -> bool:
    """Whether attention and its reference take less than about a second."""
    live = _live(built)
    products = sum(step.query_lens[i] * step.seq_lens[i] for i in live) * step.heads
    return bool(live) and products <= MOST_PRODUCTS and (
        step.pool_blocks * step.block_size <= MOST_SLOTS)


def check_result(engine: Engine, step: EngineStep, built: Built) -> list[Finding]:
    """P05: every element is within its bound."""
    live = _live(built)
    q, cache = inputs(step, live)
    out = engine.attend(step, built, q, cache)
    qo = np.cumsum([0, *(step.query_lens[i] for i in live)])
    right = dense(step, qo, [step.token_slots(i) for i in live], q, cache)
    return check_elements(step, live, out, right.out, right.out_bound)


def inputs(step: EngineStep, requests: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Query and cache as Engine.attend has them."""
    return (tensors.query(step, requests, tensors.WIDTH, step.dtype_q),
            tensors.cache(step, step.dtype_kv))


def _live(built: Built) -> tuple[int, ...]:
    return tuple(request for request in built.requests if request != PADDING)


def dense(
    step: EngineStep, qo: np.ndarray, slots: Sequence[np.ndarray], q: np.ndarray,
    cache: np.ndarray,
) -> Reference:
    """Dense attention, with lists that are made here and not by the engine.

    Args:
        qo: running sums of the rows of what attends together.
        slots: of each of these its keys.
        q, cache: as Engine.attend has them.
    """
    kv = np.cumsum([0, *map(len, slots)]).astype(np.int32)
    scale_q = np.array([step.q_scale], np.float32) if step.dtype_q == "fp8" else None
    scale_kv = np.array([step.kv_scale], np.float32) if step.dtype_kv == "fp8" else None
    places = _library.check_places(False)  # these are arrays of the host
    try:
        return reference(
            q, cache.reshape(-1, 1, 1, tensors.WIDTH), qo.astype(np.int32), kv,
            np.concatenate(slots).astype(np.int32), np.ones(len(slots), np.int32), SCALE,
            causal=step.causal, q_scale=scale_q, kv_scale=scale_kv, arch=step.arch)
    finally:
        _library.check_places(places)
