"""Watches a whole vLLM while it serves: steps, layers, logits, and the lists of its decodes."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from ..decode.built import PADDING, Built
from ..e2e.collectives import Collectives
from ..e2e.recorder import Recorder, copied, put, unplanned
from ..e2e.scenario import Scenario
from ..e2e.traced import Served, Step
from ..e2e.written import Written
from ..moved import replace
from ..observed import Observed
from .releases import SUPPORTED

_RUNNER = "vllm.v1.worker.gpu.model_runner:GPUModelRunner."
_MLA = "vllm.model_executor.layers.attention.mla_attention:MLAAttention.forward_impl"
_FA = "vllm.v1.attention.backends.rocm_aiter_fa:AiterFlashAttentionImpl.forward"
_LOGITS = {"mla": "vllm.model_executor.models.deepseek_v2:DeepseekV2ForCausalLM.compute_logits",
           "llama": "vllm.model_executor.models.llama:LlamaForCausalLM.compute_logits"}
_LOGITS["dsa"] = _LOGITS["mla"]
_DSA = "vllm.models.deepseek_v32.amd.rocm:DeepseekV32MLAAttention._fused_attention"


class Watch(Recorder):
    """The steps of one vLLM."""

    def __init__(self, version: str, scenario: Scenario, observed: Observed) -> None:
        super().__init__(scenario, observed)
        self._batch = None
        self._collectives: Collectives | None = None
        if scenario.model == "mla" and scenario.spec == "none":
            self.written = Written()
        self._caches: list[torch.Tensor] = []
        model = scenario.model
        self._blocks: dict[str, list[int]] = {}
        at = functools.partial(replace, f"vLLM {version}", SUPPORTED)
        at(_RUNNER + "prepare_inputs", self._prepared)
        at(_RUNNER + "_dummy_run", self._dummy)
        at(_LOGITS[model], self._with_logits)
        name, around = {"mla": (_MLA, self._mla), "llama": (_FA, self._fa),
                        "dsa": (_DSA, self._dsa)}[model]
        at(name, around)

    def _prepared(self, before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def prepare_inputs(runner: Any, scheduled: Any, *rest: Any, **named: Any) -> Any:
            batch = before(runner, scheduled, *rest, **named)
            if self.on:
                self._table(scheduled)
                self._batch = batch
                self.given = batch.input_ids, batch.positions
                starts = batch.query_start_loc_np
                self._begins(runner, [
                    Served(int(name.partition("-")[0]), int(starts[i + 1] - starts[i]),
                           int(starts[i]), tuple(self._blocks.get(name, ())))
                    for i, name in enumerate(batch.req_ids)])
            return batch

        return prepare_inputs

    def _dummy(self, before: Callable[..., Any]) -> Callable[..., Any]:
        """A step of a rank without requests, while other ranks have some."""
        @functools.wraps(before)
        def _dummy_run(runner: Any, *rest: Any, **named: Any) -> Any:
            if self.on:
                self._batch = self.given = None
                self._begins(runner, [])
            return before(runner, *rest, **named)

        return _dummy_run

    def _begins(self, runner: Any, served: list[Served]) -> None:
        self.steps.append(Step(len(self.steps), served))
        if self._collectives is not None:
            self._collectives.step = len(self.steps) - 1
        if self.written is not None:
            self._caches = [cache.flatten(0, -2) for cache in runner.kv_caches]
            self.written.begins(self.steps[-1], self._caches)

    def joined(self, collectives: Collectives) -> None:
        """This is one rank of several."""
        self._collectives = collectives

    def ended(self) -> None:
        """All requests are served."""
        if self.written is not None and self._caches:
            self.written.begins(None, self._caches)

    def _table(self, scheduled: Any) -> None:
        """The scheduler's block tables; those of a request that comes again are replaced."""
        for new in scheduled.scheduled_new_reqs:
            self._blocks[new.req_id] = list(new.block_ids[0])
        cached = scheduled.scheduled_cached_reqs
        for name, more in zip(cached.req_ids, cached.new_block_ids, strict=True):
            if more is not None:
                if name in getattr(cached, "resumed_req_ids", ()):
                    self._blocks[name] = []
                self._blocks[name].extend(more[0])

    def _with_logits(self, before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def compute_logits(model: Any, hidden: torch.Tensor, *rest: Any, **named: Any) -> Any:
            logits = before(model, hidden, *rest, **named)
            batch = self._batch
            if self.on and batch is not None and logits is not None and (
                    logits.shape[0] == batch.logits_indices.shape[0]):
                step = self.steps[-1]
                self.launch([logits], lambda: put(
                    step, logits=copied(logits), logit_rows=copied(batch.logits_indices)))
            return logits

        return compute_logits

    def _mla(self, before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def forward_impl(layer: Any, q: torch.Tensor, latent: torch.Tensor, rope: torch.Tensor,
                         cache: torch.Tensor, metadata: Any, output: torch.Tensor, *rest: Any,
                         **named: Any) -> Any:
            number = _number_of(layer.layer_name)
            if metadata is None or number >= self._scenario.layers or cache.numel() == 0:
                return before(layer, q, latent, rope, cache, metadata, output, *rest, **named)
            if number == 0:
                self.launch([], lambda: self._lists(metadata))
                # vLLM doubles a checkpoint's scale for the float8 of gfx942.
                found = layer._k_scale_float  # noqa: SLF001
                self.scale = found / (2 if self._scenario.arch == "gfx942" and found != 1 else 1)
            tensors = {"query": q, "key": torch.cat([latent, rope.reshape(len(latent), -1)], -1)}
            kept = self.keep(number)
            self.attending = number
            result = before(layer, q, latent, rope, cache, metadata, output, *rest, **named)
            self.attending = -1
            self.launch([output], lambda: kept({"attention": output}))
            self.launch([q], lambda: kept(tensors))
            return result

        return forward_impl

    def _dsa(self, before: Callable[..., Any]) -> Callable[..., Any]:
        """Keys as the cache has them; the selection as the indexer leaves it."""
        @functools.wraps(before)
        def fused(layer: Any, positions: Any, low: Any, latent: Any, rope: Any, key: Any,
                  weights: Any, output: torch.Tensor) -> Any:
            from vllm.forward_context import get_forward_context

            result = before(layer, positions, low, latent, rope, key, weights, output)
            context, number = get_forward_context(), _number_of(layer.layer_name)
            if context.attn_metadata is None or layer.kv_cache.numel() == 0 or (
                    number >= self._scenario.layers):
                return result
            slots, cache = context.slot_mapping[layer.layer_name], layer.kv_cache
            kept = self.keep(number)
            selection = layer.topk_indices_buffer[:len(output)]

            def keep() -> None:
                if not self.on:
                    return
                with _disable_current_modes():
                    rows = copied(cache).reshape(-1, cache.shape[-1])
                    if rows.dtype == torch.uint8:
                        rows = rows.view(_fp8())
                    key = rows[copied(slots).clamp(min=0)].float()
                kept({"key": key, "selection": selection, "attention": output})

            self.launch([output], keep)
            if self.lists_of(number):
                metadata = context.attn_metadata[layer.layer_name]
                dense = bool(layer._use_sparse_mha(metadata))  # noqa: SLF001
                self.launch([output], lambda: self._selected_lists(
                    number, metadata, cache, dense=dense))
            return result

        return fused

    def _selected_lists(self, number: int, metadata: Any, cache: torch.Tensor, *, dense: bool,
                        ) -> None:
        """What the kernel of selected keys read. Prompts may be attended elsewhere, densely."""
        if not self.on:
            return
        step = self.steps[-1]
        requests = int(metadata.num_decodes if dense else metadata.num_reqs)
        rows = int(metadata.num_decode_tokens if dense else metadata.num_actual_tokens)
        if not rows:
            return
        with _disable_current_modes():
            sums = copied(metadata.paged_kv_indptr)[:rows + 1]
            found = {"seqlens_qo_indptr": copied(metadata.qo_indptr)[:rows + 1],
                     "seqlens_kv_indptr": sums,
                     "kv_last_page_lens": copied(metadata.paged_kv_last_page_len)[:rows],
                     # What follows is left from other steps, and nobody reads it.
                     "kv_indices": copied(metadata.paged_kv_indices)[:int(sums[-1])]}
            owners = copied(metadata.req_id_per_token)[:rows].tolist()
            call = self.planned(metadata.work_indptr)
            name = f"step {step.number}"
            bundle = (self._observed.planned(name, call, found) if call is not None else
                      self._observed.unplanned(name, unplanned(self._scenario, 1), found))
        live = min(requests, len(step.served))
        count = sum(one.rows for one in step.served[:live])
        step.cache_layers = cache.stride(0) // (cache.shape[-1] * self._scenario.block)
        self.keep_lists(step, number, Built(
            bundle, (*owners[:count], *[PADDING] * (rows - count)), None,
            elsewhere=tuple(range(live, len(step.served)))))

    def _fa(self, before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def forward(impl: Any, layer: Any, q: Any, k: Any, v: Any, cache: Any, metadata: Any,
                    output: Any, *rest: Any, **named: Any) -> Any:
            result = before(impl, layer, q, k, v, cache, metadata, output, *rest, **named)
            if metadata is not None:
                tensors = {"query": q, "key": torch.cat([k.flatten(1), v.flatten(1)], -1),
                           "attention": output}
                kept = self.keep(_number_of(layer.layer_name))
                self.launch([output], lambda: kept(tensors))
            return result

        return forward

    def _lists(self, metadata: Any) -> None:
        """What the decode kernels of this step are about to read."""
        decode = metadata.decode
        if not self.on or decode is None:
            return
        step, decodes = self.steps[-1], metadata.num_decodes
        lists = {"seqlens_qo_indptr": decode.qo_indptr, "seqlens_kv_indptr": decode.paged_kv_indptr,
                 "kv_last_page_lens": decode.paged_kv_last_page_len,
                 "kv_indices": decode.paged_kv_indices}
        with _disable_current_modes():
            found = {name: copied(value) for name, value in lists.items()}
            name = f"step {step.number}"
            # The buffers of a plan stay where they are, with an earlier step's plan.
            call = self.planned(metadata.work_indptr) if decode.has_persistent_metadata else None
            bundle = (self._observed.planned(name, call, found) if call is not None else
                      self._observed.unplanned(name, unplanned(
                          self._scenario, int(decode.max_qo_len or 1)), found))
        live = len(step.served)
        step.built = Built(bundle, tuple(i if i < live else PADDING for i in range(decodes)),
                           None, elsewhere=tuple(range(decodes, live)))


def _fp8() -> torch.dtype:
    kind: torch.dtype = importlib.import_module("aiter").dtypes.fp8
    return kind


def _number_of(name: str) -> int:
    """3 of "model.layers.3.self_attn.attn"."""
    return int(name.partition(".layers.")[2].partition(".")[0])
