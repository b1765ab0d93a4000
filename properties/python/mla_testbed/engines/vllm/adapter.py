"""vLLM's AiterMLAMetadataBuilder and AiterMLAImpl on our steps."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import torch

from ...planning import POISON
from ..decode.built import PADDING, Built
from ..decode.result import SCALE
from ..engine import Machine
from ..line import CaseLine
from ..observed import Observed
from ..step import EngineStep
from . import config
from .base import VllmBase
from .batch import RunnerBuffers

#: What `--option` takes: the method of speculative decoding.
OPTIONS: dict[str, tuple[str, ...]] = {"speculation": ("mtp", "eagle3")}


class VllmEngine(VllmBase):
    """Decode."""

    OPTIONS: ClassVar = OPTIONS
    MODULE = "vllm.v1.attention.backends.mla.rocm_aiter_mla"
    MODEL: ClassVar = config.MODEL

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        from vllm.v1.worker.workspace import init_workspace_manager

        init_workspace_manager(self._device)
        self._observed = Observed(machine.arch, machine.compute_units)
        self._method = self._options["speculation"]

    def adapt(self, line: CaseLine) -> CaseLine:
        """vLLM quantises the query if and only if the cache is fp8; its kernel pages have 1 token.

        Requests come in the order of the scheduler: decodes first. A number of heads that vLLM
        does not take becomes the next multiple of 16.
        """
        heads = int(line["heads"])
        if self._refuses_heads(heads) is not None:
            heads = min(-(-heads // 16) * 16, 128)
        kv = line["dtype"].partition("/")[2]
        steps = [sorted(line.requests(number), key=lambda pair: pair[0] > config.MOST_DECODE_ROWS)
                 for number in range(len(line.steps))]
        return CaseLine.parse(str(line.with_requests(steps).with_fields(
            dtype=f"{kv}/{kv}", page="1", heads=str(heads))))

    def refuses(self, step: EngineStep) -> str | None:
        """The head counts that AiterMLAImpl asserts."""
        return self._refuses_heads(step.heads)

    def _refuses_heads(self, heads: int) -> str | None:
        try:
            self._module.AiterMLAHelper.check_num_heads_validity(heads)
        except AssertionError as e:
            return str(e).replace("\n", " ")
        return None

    def start(self, steps: Sequence[EngineStep]) -> None:
        """A builder with room for these steps, and the runner's buffers."""
        first, limits = steps[0], config.Limits.of(steps)
        self._impl: Any = None
        self._prepare(first, limits)
        with self._entered():
            self._builder = self._module.AiterMLAMetadataBuilder(
                self.spec(first), [config.LAYER], self._current, self._device)
        self._poison()

    def _prepare(self, first: EngineStep, limits: config.Limits) -> None:
        self._current = config.varied(self.base, first, limits, self._method)
        self._buffers = RunnerBuffers(limits, first.block_size)

    def _poison(self) -> None:
        for name, value in vars(self._builder).items():
            planned = name.startswith(("_mla_work", "_mla_reduce", "fp8_ps_"))
            if planned and getattr(value, "dtype", None) == torch.int32:
                value.fill_(int(POISON))

    def build(self, step: EngineStep) -> Built:
        """Outside of graphs."""
        common = self._buffers.fill(step, step.requests, sum(step.query_lens))
        return self._built(step, self._build(common, capture=False))

    def capture(self, step: EngineStep) -> Built | None:
        """As the runner's warm-up: full of requests with as many keys as rows."""
        rows = step.query_lens[0]
        if any(r != rows for r in step.query_lens) or rows > self._builder.reorder_batch_threshold:
            return None
        requests = step.requests + step.pad
        common = self._buffers.fill(step, requests, requests * rows,
                                    longest=self._current.model_config.max_model_len)
        self._buffers.warm(rows)
        common.query_start_loc_cpu = torch.arange(requests + 1, dtype=torch.int32) * rows
        self._captured_requests, self._captured_rows = requests, rows
        return self._built(step, self._build(common, capture=True))

    def replay(self, step: EngineStep, captured: Built) -> Built:
        """The builder fills its buffers anew; the graph reads those of the capture."""
        requests = self._captured_requests
        if any(r != self._captured_rows for r in step.query_lens):
            return self.build(step)
        common = self._buffers.fill(step, requests, requests * self._captured_rows)
        self._build(common, capture=False)
        return self._built(step, captured.metadata)

    def _build(self, common: Any, *, capture: bool) -> Any:
        self._observed.clear()
        with self._entered():
            if capture:
                return self._builder.build_for_cudagraph_capture(common)
            return self._builder.build(0, common)

    def _built(self, step: EngineStep, metadata: Any) -> Built:
        """What a kernel would find at the addresses in `metadata` now."""
        decodes, others = metadata.num_decodes, tuple(self._observed.prefill)
        requests = tuple(i if i < step.requests else PADDING for i in range(decodes))
        elsewhere = tuple(range(decodes, step.requests))
        decode = metadata.decode
        if decode is None:
            return Built(None, requests, metadata, others=others, elsewhere=elsewhere)
        lists = {"seqlens_qo_indptr": decode.qo_indptr, "seqlens_kv_indptr": decode.paged_kv_indptr,
                 "kv_last_page_lens": decode.paged_kv_last_page_len,
                 "kv_indices": decode.paged_kv_indices}
        name = f"{step.case} step {step.number}"
        if metadata.work_meta_data is not None:
            bundle = self._observed.planned(name, self._observed.decode[-1], lists)
        else:
            bundle = self._observed.unplanned(
                name, {"num_heads_per_head_k": step.heads, "num_heads_k": 1, "page_size": 1,
                       "is_causal": True, "dtype_q": step.dtype_q, "dtype_kv": step.dtype_kv,
                       "max_seqlen_qo": int(decode.max_qo_len)}, lists)
        return Built(bundle, requests, metadata, others=others, elsewhere=elsewhere)

    def attend(
        self, step: EngineStep, built: Built, q: np.ndarray, cache: np.ndarray
    ) -> np.ndarray:
        """AiterMLAImpl.forward_mqa."""
        impl = self._implementation(step)
        rows, live = int(built.bundle.arrays["seqlens_qo_indptr"][-1]), q.shape[0]  # type: ignore[union-attr]
        padded = np.zeros((max(rows, live), *q.shape[1:]), q.dtype)
        padded[:live] = q
        query = self._tensor(padded, step.dtype_q)
        kv = self._tensor(cache.reshape(step.pool_blocks, step.block_size, -1), step.dtype_kv)
        layer = SimpleNamespace(
            _q_scale=torch.full((1,), step.q_scale, device=self._device),
            _k_scale=torch.full((1,), step.kv_scale, device=self._device))
        with self._entered():
            out, _ = impl.forward_mqa(query, kv, built.metadata, layer)
        result: np.ndarray = out[:live].float().cpu().numpy()
        return result

    def _implementation(self, step: EngineStep) -> Any:
        if self._impl is None:
            with self._entered():
                self._impl = self._module.AiterMLAImpl(
                    step.heads, 576, SCALE, 1, None, None,
                    "fp8" if step.dtype_kv == "fp8" else "auto", None, "decoder", None,
                    q_lora_rank=1536, kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64,
                    qk_head_dim=192, v_head_dim=128, kv_b_proj=None)
        return self._impl

    def spec(self, step: EngineStep) -> Any:
        """The specification of the cache of a step."""
        from vllm.v1.kv_cache_interface import MLAAttentionSpec

        return MLAAttentionSpec(block_size=step.block_size, num_kv_heads=1, head_size=576,
                                dtype=torch.bfloat16)
