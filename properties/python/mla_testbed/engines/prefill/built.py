"""What an adapter of kind prefill offers, and what the engine's builder made for one step."""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol

import numpy as np

from ...bundle import Bundle
from ..engine import Adapter
from .step import PrefillStep


@dataclasses.dataclass(frozen=True)
class Chunk:
    """Keys that are gathered together, of one or more requests that lie side by side.

    Attributes:
        first: place of its first request in the prefill part.
        starts: (requests) first key of each that is gathered.
        sums: (requests + 1) running sums of how many.
        owners: of each gathered key, which of these requests; at least as many as keys.
        slots: where the kernel finds each of them in the cache; -1: outside of the block table.
        rows: rows of the prefill part whose queries meet these keys, (first, end).
        row_sums: (requests + 1) running sums of their rows.
        most_rows, most_keys, tokens: what kernels take for the longest and for all.
    """

    first: int
    starts: np.ndarray
    sums: np.ndarray
    owners: np.ndarray
    slots: np.ndarray
    rows: tuple[int, int]
    row_sums: np.ndarray
    most_rows: int
    most_keys: int
    tokens: int


@dataclasses.dataclass(frozen=True)
class PrefillBuilt:
    """The prefill part of a step, copied.

    Attributes:
        order: the request of the step at each place of the part.
        decodes: requests that the engine decodes beside it.
        starts: (requests + 1) running sums of rows.
        longest: rows of the longest request, as kernels are told.
        chunks: what is gathered from the cache, in this order.
        whole: whether chunks have all keys of their requests, and not their prefixes only.
        workspace: keys that a chunk can have; None: as many as there are.
        plans: of FP8 prefill.
        metadata: the engine's own object, for `attend`.
    """

    order: tuple[int, ...]
    decodes: tuple[int, ...]
    starts: np.ndarray
    longest: int
    chunks: tuple[Chunk, ...]
    whole: bool
    workspace: int | None
    plans: tuple[Bundle, ...]
    metadata: Any

    @property
    def planned(self) -> bool:
        """Whether something is gathered, or a plan was made."""
        return bool(self.chunks or self.plans)

    @property
    def quantised(self) -> bool:
        """Whether attention is in FP8. With a plan for it, vLLM still merges prefixes in bf16."""
        return bool(self.plans) and (self.whole or not self.chunks)

    def keys(self, step: PrefillStep, place: int) -> int:
        """Keys of the request at a place that chunks have to gather."""
        request = self.order[place]
        return step.seq_lens[request] if self.whole else step.context(request)


class PrefillEngine(Adapter[PrefillStep, PrefillBuilt], Protocol):
    """An adapter of kind prefill."""

    def attend(
        self, step: PrefillStep, built: PrefillBuilt, q: np.ndarray, cache: np.ndarray,
        project: Any,
    ) -> np.ndarray:
        """The engine's own forward over the prefill part.

        Args:
            q: (rows, heads, 192) bits of bf16, rows in the order of `built`.
            cache: (slots, 576) bits of dtype_kv, the step's own rows included.
            project: projection.Projection, which makes keys and values of latent rows.

        Returns:
            (rows, heads, 128) float32.
        """
