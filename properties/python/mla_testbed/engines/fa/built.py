"""What an adapter of kind fa offers, and what the engine's builder made for one step."""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol

import numpy as np

from ..engine import Graphs
from .step import FaStep


@dataclasses.dataclass(frozen=True)
class FaBuilt:
    """The metadata of a step, copied, by the names that vLLM gives its fields.

    The names of a part begin with "decode_", "extend_" or "prefill_"; chunk lists of extends and
    lists of a window have their own. What a part does not have is not there.

    Attributes:
        order: the request of the step at each place of the batch, after the engine's reordering.
        requests: with graph padding, which stands after the live ones.
        numbers: counts and maxima.
        lists: arrays of integers, in the shapes of the engine.
        fetched: what the host waited for while this was built, one sentence each.
        metadata: the engine's own object, for `attend`.
        graph: whether this is the memory that a captured graph reads.
    """

    order: tuple[int, ...]
    requests: int
    numbers: dict[str, int]
    lists: dict[str, np.ndarray]
    fetched: tuple[str, ...]
    metadata: Any
    graph: bool = False

    @property
    def planned(self) -> bool:
        """Whether there is a list of chunks, or of a window."""
        return bool(self.part("extend"))

    def part(self, name: str) -> range:
        """Places of the batch that are "decode", "extend" or "prefill"."""
        starts = [0, self.numbers["num_decodes"], self.numbers["num_extends"],
                  self.numbers["num_prefills"]]
        at = ("decode", "extend", "prefill").index(name)
        first = sum(starts[:at + 1])
        return range(first, first + starts[at + 1])


class FaEngine(Graphs[FaStep, FaBuilt], Protocol):
    """An adapter of kind fa."""

    def attend(
        self, step: FaStep, built: FaBuilt, q: np.ndarray, kv: np.ndarray, cache: np.ndarray
    ) -> np.ndarray:
        """The engine's own forward over the whole step.

        Args:
            q: (rows, heads, dim) bits of bf16, rows in the order of `built`.
            kv: (2, rows, kv_heads, dim) keys and values of the same rows.
            cache: (2, slots, kv_heads, dim), a slot is a token's place; the step's rows are not in
                it yet.

        Returns:
            (rows, heads, dim) float32.
        """
