"""The result of an engine's forward against dense attention in float64."""

from __future__ import annotations

import numpy as np

from .. import _library
from ..judging import Reference, reference
from . import tensors
from .engine import PADDING, Built, Engine
from .findings import ATTEND, Finding
from .step import EngineStep

#: More (row, head, key) products, or slots of the cache, are not executed.
MOST_PRODUCTS, MOST_SLOTS = 1 << 18, 1 << 16
SCALE = 1 / 192 ** 0.5
_SHOWN = 4


def affordable(step: EngineStep, built: Built) -> bool:
    """Whether attention and its reference take less than about a second."""
    live = _live(built)
    products = sum(step.query_lens[i] * step.seq_lens[i] for i in live) * step.heads
    return bool(live) and products <= MOST_PRODUCTS and (
        step.pool_blocks * step.block_size <= MOST_SLOTS)


def check_result(engine: Engine, step: EngineStep, built: Built) -> list[Finding]:
    """P05: every element is within its bound."""
    live = _live(built)
    q, cache = tensors.query(step, live), tensors.cache(step)
    out = engine.attend(step, built, q, cache)
    right = _reference(step, live, q, cache)
    if out.shape != right.out.shape:
        return [Finding("P05", step.number, f"the result has shape {out.shape}; expected "
                        f"{right.out.shape}", stage=ATTEND)]
    away = np.abs(out.astype(np.float64) - right.out)
    wrong = ~(away <= right.out_bound)
    if not wrong.any():
        return []
    return [_sentence(step, live, out, right, wrong)]


def _live(built: Built) -> tuple[int, ...]:
    return tuple(request for request in built.requests if request != PADDING)


def _reference(
    step: EngineStep, live: tuple[int, ...], q: np.ndarray, cache: np.ndarray
) -> Reference:
    """Dense attention over the batch, with lists that are made here and not by the engine."""
    qo = np.cumsum([0, *(step.query_lens[i] for i in live)]).astype(np.int32)
    kv = np.cumsum([0, *(step.seq_lens[i] for i in live)]).astype(np.int32)
    slots = np.concatenate([step.token_slots(i) for i in live]).astype(np.int32)
    scale_q = np.array([step.q_scale], np.float32) if step.dtype_q == "fp8" else None
    scale_kv = np.array([step.kv_scale], np.float32) if step.dtype_kv == "fp8" else None
    places = _library.check_places(False)  # these are arrays of the host
    try:
        return reference(
            q, cache.reshape(-1, 1, 1, tensors.WIDTH), qo, kv, slots,
            np.ones(len(live), np.int32), SCALE, causal=step.causal, q_scale=scale_q,
            kv_scale=scale_kv, arch=step.arch)
    finally:
        _library.check_places(places)


def _sentence(
    step: EngineStep, live: tuple[int, ...], out: np.ndarray, right: Reference, wrong: np.ndarray
) -> Finding:
    starts = np.cumsum([0, *(step.query_lens[i] for i in live)])
    away = np.abs(out.astype(np.float64) - right.out)
    worst = np.where(wrong, np.where(np.isfinite(away), away, np.inf), -1.0)
    lines = []
    for flat in np.argsort(-worst, axis=None)[:_SHOWN]:
        row, head, dim = (int(n) for n in np.unravel_index(flat, out.shape))
        if not wrong[row, head, dim]:
            break
        place = int(np.searchsorted(starts, row, side="right")) - 1
        lines.append(f"out of request {live[place]} row {row - starts[place]} head {head} dim {dim}"
                     f" is {out[row, head, dim]:.6g}, the reference has "
                     f"{right.out[row, head, dim]:.6g} and allows "
                     f"{right.out_bound[row, head, dim]:.3g}")
    return Finding("P05", step.number, f"{lines[0]}; wrong are {int(wrong.sum())} of {out.size} "
                   "elements", tuple(lines[1:]), ATTEND)
