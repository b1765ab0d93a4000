"""A second opinion: where our core decides differently than an engine, in one sentence each.

A difference is no failure: two plans may both be right.
"""

from __future__ import annotations

import numpy as np

from ...bundle import Bundle
from ...errors import MlaError
from ...judging import plan
from ..step import EngineStep
from .built import PADDING, Built

#: Arguments of the planner call that are compared.
_ARGUMENTS = ("num_heads_per_head_k", "max_seqlen_qo", "uni_seqlen_qo", "kv_granularity",
              "max_split_per_batch", "page_size", "is_causal", "dtype_q", "dtype_kv", "fast_mode")


def opinions_of(engine: str, step: EngineStep, built: Built) -> list[str]:
    """What our core would have asked of the planner for the same decode requests."""
    if built.bundle is None or not built.live:
        return []
    try:
        ours = plan(step.alone(built.live, pad=str(built.requests.count(PADDING))))
    except MlaError as e:
        taken = "plans" if built.planned else "takes without a plan"
        return [f"{engine} {taken} what our core refuses: {e}"]
    theirs = built.bundle
    ours_planned = "work_indptr" in ours.arrays
    if built.planned != ours_planned:
        words = {True: "makes a plan", False: "makes no plan"}
        return [f"{engine} {words[built.planned]}, our core {words[ours_planned]}"]
    if not built.planned:
        return []
    found = []
    for name in _ARGUMENTS:
        a, b = theirs.scalars.get(name), ours.scalars.get(name)
        if a is not None and a != b:
            found.append(f"{engine} plans with {name} {a}, our core with {b}")
    a, b = _works(theirs), _works(ours)
    if a != b and not found:
        found.append(f"{engine} plans {a} works, our core {b}")
    return found


def _works(bundle: Bundle) -> int:
    return int(np.max(bundle.arrays["work_indptr"]))
