"""Where our core cuts the contexts of a prefill differently: it fails nothing."""

from __future__ import annotations

from ...errors import MlaError
from ..fa.opinion import plan_of
from ..line import CaseLine
from .built import PrefillBuilt
from .step import PrefillStep


def opinions_of(engine: str, step: PrefillStep, built: PrefillBuilt) -> list[str]:
    """In one sentence each."""
    if built.whole:
        return []  # no chunks
    pairs = [(step.query_lens[i], step.seq_lens[i]) for i in built.order]
    line = CaseLine.parse(step.case).with_requests([pairs])
    try:
        ours = plan_of(str(line))["context_chunks"]
    except MlaError as e:
        return [f"{engine} builds what our core refuses: {e}"]
    if len(ours) != len(built.chunks):
        return [f"{engine} gathers contexts in {len(built.chunks)} chunks, our core in {len(ours)}"]
    for number, (a, b) in enumerate(zip(built.chunks, ours, strict=True)):
        theirs = a.first, a.starts.tolist(), (a.sums[1:] - a.sums[:-1]).tolist()
        if theirs != (b["first_request"], b["starts"], b["seq_lens"]):
            return [f"{engine} begins chunk {number} with request {theirs[0]} and has {theirs[2]} "
                    f"keys, our core {b['first_request']} and {b['seq_lens']}"]
    return []
