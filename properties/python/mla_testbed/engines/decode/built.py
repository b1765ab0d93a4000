"""What an adapter of kind decode offers, and what the engine's builder made for one step."""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol

import numpy as np

from ...bundle import Bundle
from ..engine import Graphs
from ..step import EngineStep

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
        elsewhere: requests that the engine handed to another kernel than the decode kernel, such as
            prefills: together with `requests` they are all of the step.
        padding_keys: of sparse MLA: keys that the engine gives to a row of padding, or to each.
        last_pages_are_sums: of sparse MLA: the engine hands 0, 1, 2 ... to the kernel for lengths
            of last pages. With pages of one token no kernel of AITER reads them: results are the
            same (docs/findings/sparse.md).
        indexed: of sparse MLA: what the engine's own indexer left (sparse/indexer.py); None: its
            selection was drawn.
        taken: of sparse MLA: the lists of a layer without an indexer, and its block tables.
        metadata: the engine's own object, for `attend`.
        addresses: tensors that a captured graph reads, by name: their addresses. Empty outside of
            graphs.
    """

    bundle: Bundle | None
    requests: tuple[int, ...]
    metadata: Any
    leading_rows: int = 0
    others: tuple[Bundle, ...] = ()
    addresses: dict[str, int] = dataclasses.field(default_factory=dict)
    elsewhere: tuple[int, ...] = ()
    padding_keys: int | tuple[int, ...] = 0
    last_pages_are_sums: bool = False
    indexed: Any = None
    taken: tuple[Bundle, tuple[tuple[int, ...], ...]] | None = None

    @property
    def planned(self) -> bool:
        """Whether the engine made a plan for the decode part."""
        return self.bundle is not None and "work_indptr" in self.bundle.arrays

    @property
    def live(self) -> tuple[int, ...]:
        """`requests` without padding."""
        return tuple(request for request in self.requests if request != PADDING)


class Engine(Graphs[EngineStep, Built], Protocol):
    """An adapter of kind decode."""

    def refuses(self, step: EngineStep) -> str | None:
        """Why the engine, by its own rules, does not take such a step; None: it takes it."""

    def attend(
        self, step: EngineStep, built: Built, q: np.ndarray, cache: np.ndarray
    ) -> np.ndarray:
        """The engine's own forward over the decode part.

        Args:
            q: (rows, heads, 576) bits of dtype_q (uint16: bf16, uint8: fp8 of the architecture),
                rows of the decode requests in `built.requests` order, those of padding left out.
            cache: (slots, 576) bits of dtype_kv; a slot is a token's place.

        Returns:
            (rows, heads, 512) float32.
        """
