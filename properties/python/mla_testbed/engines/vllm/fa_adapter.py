"""vLLM's AiterFlashAttentionMetadataBuilder and AiterFlashAttentionImpl on our steps."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import torch

from ...planning import POISON
from ..engine import Machine
from ..fa import served
from ..fa.built import FaBuilt
from ..fa.step import FaStep
from ..line import CaseLine
from . import fa_config, fa_metadata, operations
from .base import VllmBase
from .config import LAYER, Limits
from .fa_runner import FaRunner, fetches, order_of


class VllmFa(VllmBase):
    """Grouped-query attention."""

    MODULE = "vllm.v1.attention.backends.rocm_aiter_fa"
    MODEL: ClassVar = fa_config.MODEL

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        if self.attends:
            served.install()
            operations.install()

    def adapt(self, line: CaseLine) -> CaseLine:
        """vLLM takes every case of kind fa as it was adapted for all engines."""
        return line

    def start(self, steps: Sequence[FaStep]) -> None:
        """A layer and a builder with room for these steps; buffers are poisoned.

        The module's constant for the tokens of a chunk is the case's workspace.
        """
        first, limits = steps[0], Limits.of(steps)
        module: Any = self._module
        module._CP_TOKENS_PER_ITER_ROCM = first.workspace
        self._current = fa_config.varied(self.base, first, limits)
        rows = max(sum(step.query_lens) + step.pad * max(step.query_lens) for step in steps)
        self._runner = FaRunner(limits, first.block_size, rows)
        with self._entered():
            self._layer = fa_config.layer(self._current, self._module, first)
            self._builder = self._module.AiterFlashAttentionMetadataBuilder(
                self._spec(first), [LAYER], self._current, self._device)
        self._builder.extend_workspace.fill_(float("nan"))
        for name in ("_swa_block_table", "_swa_seq_lens"):
            if getattr(self._builder, name, None) is not None:
                getattr(self._builder, name).fill_(int(POISON))

    def build(self, step: FaStep) -> FaBuilt:
        """Outside of graphs."""
        order = order_of(step, self._builder.reorder_batch_threshold)
        common = self._runner.fill(step.ordered(order), step.requests, sum(step.query_lens))
        fetched: list[str] = []
        metadata = self._build(common, fetched, capture=False)
        return self._built(metadata, order, step.requests, fetched)

    def capture(self, step: FaStep) -> FaBuilt | None:
        """vLLM has full graphs for batches in which each request has the threshold's rows."""
        rows = step.query_lens[0]
        if set(step.query_lens) != {self._builder.reorder_batch_threshold}:
            return None
        requests = step.requests + step.pad
        common = self._runner.fill(step, requests, requests * rows,
                                   longest=self._current.model_config.max_model_len)
        self._runner.warm(rows)
        common.query_start_loc_cpu = torch.arange(requests + 1, dtype=torch.int32) * rows
        fetched: list[str] = []
        metadata = self._build(common, fetched, capture=True)
        return self._built(metadata, tuple(range(step.requests)), requests, fetched, graph=True)

    def replay(self, step: FaStep, captured: FaBuilt) -> FaBuilt:
        """The builder fills its buffers anew; the graph reads those of the capture."""
        rows = self._builder.reorder_batch_threshold
        if set(step.query_lens) != {rows}:
            return self.build(step)
        common = self._runner.fill(step, captured.requests, captured.requests * rows)
        fetched: list[str] = []
        self._build(common, fetched, capture=False)
        return self._built(captured.metadata, tuple(range(step.requests)), captured.requests,
                           fetched, graph=True)

    def _build(self, common: Any, fetched: list[str], *, capture: bool) -> Any:
        with self._entered(), fetches(fetched):
            if capture:
                return self._builder.build_for_cudagraph_capture(common)
            return self._builder.build(0, common)

    def _built(
        self, metadata: Any, order: tuple[int, ...], requests: int, fetched: list[str], *,
        graph: bool = False,
    ) -> FaBuilt:
        numbers, lists = fa_metadata.read(metadata)
        return FaBuilt(order, requests, numbers, lists, tuple(fetched), metadata, graph)

    def attend(
        self, step: FaStep, built: FaBuilt, q: np.ndarray, kv: np.ndarray, cache: np.ndarray
    ) -> np.ndarray:
        """AiterFlashAttentionImpl.do_kv_cache_update, then its forward."""
        padding = built.numbers["num_actual_tokens"] - q.shape[0]
        query, key, value = (self._tensor(np.pad(bits, ((0, padding), (0, 0), (0, 0))), "bf16")
                             for bits in (q, *kv))
        # (blocks, kv_heads, block, 2 dim): keys and values of a token lie together.
        both = np.concatenate([cache[0], cache[1]], axis=-1)
        both = both.reshape(step.pool_blocks, step.block_size, step.kv_heads, -1)
        paged = self._tensor(np.ascontiguousarray(both.transpose(0, 2, 1, 3)), "bf16")
        one = torch.ones(1, dtype=torch.float32, device=self._device)
        layer = SimpleNamespace(_k_scale=one, _v_scale=one, _k_scale_float=1.0, _v_scale_float=1.0,
                                layer_name=LAYER)
        out = torch.full_like(query, float("nan"))
        impl = self._layer.impl
        with self._entered():
            impl.do_kv_cache_update(layer, key, value, paged, built.metadata.slot_mapping)
            impl.forward(layer, query, key, value, paged, built.metadata, out)
        result: np.ndarray = out[:q.shape[0]].float().cpu().numpy()
        return result

    def _spec(self, step: FaStep) -> Any:
        from vllm.v1.kv_cache_interface import FullAttentionSpec

        return FullAttentionSpec(block_size=step.block_size, num_kv_heads=step.kv_heads,
                                 head_size=step.head_dim, dtype=torch.bfloat16)
