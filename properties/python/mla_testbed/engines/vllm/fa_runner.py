"""What vLLM's model runner does before the AITER FA builder: order, buffers, slots, waiting."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from ...world import on_device
from ..step import EngineStep
from .batch import RunnerBuffers
from .config import Limits

_FETCHES = ("cpu", "item", "tolist", "numpy", "__bool__", "__int__")


class _InputBatch:
    """The part of vLLM's InputBatch that its reordering reads and changes."""

    def __init__(self, step: EngineStep, threshold: int) -> None:
        requests = range(step.requests)
        self.req_ids = [str(request) for request in requests]
        self.num_computed_tokens_cpu = np.array([step.context(i) for i in requests])
        # A short request may be the end of a prompt: every third one is, by the seed of the case.
        self.num_prompt_tokens = np.array([
            step.seq_lens[i] if (i + step.data_seed) % 3 == 0 or not step.context(i)
            or step.query_lens[i] > threshold else step.context(i) for i in requests])

    def swap_states(self, a: int, b: int) -> None:
        """Exchanges two requests."""
        self.req_ids[a], self.req_ids[b] = self.req_ids[b], self.req_ids[a]
        for values in (self.num_computed_tokens_cpu, self.num_prompt_tokens):
            values[[a, b]] = values[[b, a]]


def order_of(step: EngineStep, threshold: int) -> tuple[int, ...]:
    """The requests of a step as vLLM's own reordering leaves them."""
    from vllm.v1.attention.backends.utils import reorder_batch_to_split_decodes_and_prefills

    batch = _InputBatch(step, threshold)
    scheduled = SimpleNamespace(num_scheduled_tokens={
        str(i): rows for i, rows in enumerate(step.query_lens)})
    reorder_batch_to_split_decodes_and_prefills(batch, scheduled, decode_threshold=threshold)
    return tuple(int(name) for name in batch.req_ids)


class FaRunner(RunnerBuffers):
    """The slots of new rows, too."""

    def __init__(self, limits: Limits, block_size: int, rows: int) -> None:
        super().__init__(limits, block_size, rows=rows)

    def fill(
        self, step: EngineStep, requests: int, rows: int, *, longest: int | None = None
    ) -> Any:
        """The common metadata of a step whose requests are in the engine's order."""
        common = super().fill(step, requests, rows, longest=longest)
        common.causal = step.causal
        return common


@contextlib.contextmanager
def fetches(found: list[str]) -> Iterator[None]:
    """Keeps what the host fetches from tensors of the device: it waits for each."""
    originals = {name: getattr(torch.Tensor, name) for name in _FETCHES}

    def watched(name: str) -> Any:
        def fetch(self: torch.Tensor, *arguments: Any, **named: Any) -> Any:
            if on_device(self):
                found.append(f"{name}() of a tensor of shape {tuple(self.shape)}")
            return originals[name](self, *arguments, **named)
        return fetch

    for name in _FETCHES:
        setattr(torch.Tensor, name, watched(name))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(torch.Tensor, name, original)
