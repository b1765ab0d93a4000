"""What an adapter of a serving engine offers: the engine's own builder and forward, a step a time.

An adapter is imported in a process of its own, after the machine is set up (worker.py). It calls the
installed, unmodified engine. One configuration at a time is alive: `start` makes the engine's
builder anew, `build` and `replay` then run on that builder and its buffers, which is where stale
contents, growth and graph padding show.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ..bundle import Bundle
from .step import EngineStep

#: In `Built.requests`: a row of the lists that no live request has, made up for a graph.
PADDING = -1


@dataclasses.dataclass(frozen=True)
class Built:
    """What the engine's builder made for a step.

    Attributes:
        bundle: the decode part: index lists as the kernel gets them (`seqlens_qo_indptr`,
            `seqlens_kv_indptr`, `kv_last_page_lens`, `kv_indices` with all of its capacity), the
            scalars of the planner call, and the five int32 plan buffers if the engine planned;
            copied, so that a later step does not change them. None: the step has no decode part.
        requests: the request of the step of each row of these lists, in their order; PADDING for a
            request that is graph padding.
        leading_rows: zero rows that the engine puts in front of each request's rows.
        others: further plans that this step made, such as one of FP8 prefill.
        metadata: the engine's own object, for `attend`.
        addresses: tensors that a captured graph reads, by name: their addresses. Empty outside of
            graphs.
        rows: query rows that the decode kernel is given, padding rows included.
    """

    bundle: Bundle | None
    requests: tuple[int, ...]
    metadata: Any
    leading_rows: int = 0
    others: tuple[Bundle, ...] = ()
    addresses: dict[str, int] = dataclasses.field(default_factory=dict)
    rows: int = 0

    @property
    def planned(self) -> bool:
        """Whether the engine made a plan for the decode part."""
        return self.bundle is not None and "work_indptr" in self.bundle.arrays


class Engine(Protocol):
    """An adapter.

    Attributes:
        name: such as "vllm".
        version: of the engine, such as "0.27.1".
        aiter: commit or version of the AITER below it.
    """

    name: str
    version: str
    aiter: str

    def refuses(self, step: EngineStep) -> str | None:
        """Why the engine, by its own rules, does not take such a step; None: it takes it."""

    def start(self, steps: Sequence[EngineStep]) -> None:
        """Makes the engine's builder, large enough for these steps, its buffers poisoned.

        Graphs are on if a step has graph padding.
        """

    def build(self, step: EngineStep) -> Built:
        """Runs the engine's builder outside of a graph."""

    def capture(self, step: EngineStep) -> Built | None:
        """Builds for the capture of a graph with room for this step and its padding.

        Returns:
            None if the engine has no graphs for such a step.
        """

    def replay(self, step: EngineStep, captured: Built) -> Built:
        """Builds for a replay; the result is what the captured graph finds at its addresses."""

    def attend(self, step: EngineStep, built: Built, q: np.ndarray, cache: np.ndarray) -> np.ndarray:
        """The engine's own forward over the decode part.

        Args:
            q: (rows, heads, 576) float32 that the query dtype represents exactly, rows of the
                decode requests in `built.requests` order, those of padding left out.
            cache: (slots, 576) float32 likewise; a slot is a token's place.

        Returns:
            (rows, heads, 512) float32.
        """


#: Adapters by name: module and class, imported in the worker only.
ADAPTERS: dict[str, tuple[str, str]] = {
    "vllm": ("mla_testbed.engines.vllm.adapter", "VllmEngine"),
    "sglang": ("mla_testbed.engines.sglang.adapter", "SglangEngine"),
}

Factory = Callable[[], Engine]
