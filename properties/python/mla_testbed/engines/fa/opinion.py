"""Where our core decides differently about an FA step: it fails nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._cases import plan_of
from ...errors import MlaError
from .built import FaBuilt
from .step import FaStep


def core_of(step: FaStep) -> dict[str, Any]:
    """What our core builds for a step, as `mla-testbed plan --json` prints it.

    Raises:
        MlaError: it refuses the step.
    """
    return plan_of(step.alone(range(step.requests), workspace=str(step.workspace), pad="0"))


def opinions_of(engine: str, step: FaStep, built: FaBuilt) -> list[str]:
    """In one sentence each."""
    try:
        ours = core_of(step)
    except MlaError as e:
        return [f"{engine} builds what our core refuses: {e}"]
    runs = [ours[name]["requests"] for name in ("decodes", "extends", "prefills")]
    theirs = [len(built.part(name)) for name in ("decode", "extend", "prefill")]
    theirs[0] -= built.requests - step.requests
    if runs != theirs:
        return [f"{engine} has {theirs[0]} decodes, {theirs[1]} extends, {theirs[2]} prefills; our "
                f"core {runs[0]}, {runs[1]}, {runs[2]}"]
    tails = list(built.order[theirs[0]:]), list(ours["order"][runs[0]:])
    if tails[0] != tails[1]:
        return [f"{engine} orders extends and prefills {tails[0]}, our core {tails[1]}"]
    if not runs[1]:
        return []
    return _windows(engine, built, ours) if step.window >= 0 else _chunks(engine, built, ours)


def _chunks(engine: str, built: FaBuilt, ours: dict[str, Any]) -> list[str]:
    chunks = int(ours["num_chunks"])
    if built.numbers["num_chunks"] != chunks:
        return [f"{engine} cuts contexts into {built.numbers['num_chunks']} chunks, our core into "
                f"{chunks}"]
    sums = np.array(ours["cu_seq_lens_chunk"]).reshape(built.lists["cu_seq_lens_chunk"].shape)
    starts = np.array(ours["chunk_starts"]).reshape(built.lists["chunk_starts"].shape)
    live = np.diff(sums, axis=1) > 0  # where a part is empty its start means nothing
    if (sums != built.lists["cu_seq_lens_chunk"]).any() or (
            (starts != built.lists["chunk_starts"]) & live).any():
        return [f"{engine} cuts the {chunks} chunks elsewhere than our core"]
    return []


def _windows(engine: str, built: FaBuilt, ours: dict[str, Any]) -> list[str]:
    for name in ("swa_cu_seqlens", "swa_seq_starts"):
        if list(ours[name]) != built.lists[name].tolist():
            return [f"{engine} has {name} {built.lists[name].tolist()}, our core {ours[name]}"]
    return []
