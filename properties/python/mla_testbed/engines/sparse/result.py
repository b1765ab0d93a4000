"""The result of an engine's sparse forward, against dense attention over the selected keys."""

from __future__ import annotations

import numpy as np

from .. import result
from ..elements import check_elements
from ..engine import Built, Engine
from ..findings import Finding
from .lists import live_rows
from .step import SparseStep


def affordable(step: SparseStep, built: Built) -> bool:
    """Whether attention and its reference take less than about a second."""
    products = int(step.counts[:live_rows(built)].sum()) * step.heads
    return 0 < products <= result.MOST_PRODUCTS and (
        step.pool_blocks * step.block_stride <= result.MOST_SLOTS)


def check_result(engine: Engine, step: SparseStep, built: Built) -> list[Finding]:
    """P05: every element is within its bound."""
    rows = live_rows(built)
    requests = tuple(dict.fromkeys(built.requests[:rows]))
    q, cache = result.inputs(step, requests)
    out = engine.attend(step, built, q, cache)
    slots = [step.token_slots(request)[step.selected[row]]
             for row, request in enumerate(built.requests[:rows])]
    right = result.dense(step, np.arange(rows + 1), slots, q, cache)
    return check_elements(step, requests, out, right.out, right.out_bound)
