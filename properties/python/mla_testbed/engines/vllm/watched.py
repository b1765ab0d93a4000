"""Watches a whole vLLM while it serves: steps, layers, logits, and the lists of its decodes.

What a layer computed is copied by a launch of the world, so that a captured graph copies it again
in each replay, and the host waits for nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from ... import mla_bundle, mla_capture, world
from ..decode.built import PADDING, Built
from ..e2e.traced import Served, Step
from ..moved import replace
from ..observed import Observed

SUPPORTED = "vLLM 0.33.0"
_RUNNER = "vllm.v1.worker.gpu.model_runner:GPUModelRunner."
_MLA = "vllm.model_executor.layers.attention.mla_attention:MLAAttention.forward_impl"
_FA = "vllm.v1.attention.backends.rocm_aiter_fa:AiterFlashAttentionImpl.forward"
_LOGITS = {"mla": "vllm.model_executor.models.deepseek_v2:DeepseekV2ForCausalLM.compute_logits",
           "llama": "vllm.model_executor.models.llama:LlamaForCausalLM.compute_logits"}


class Watch:
    """The steps of one engine.

    Attributes:
        steps: in their order. on: whether requests are served, not a warm-up.
    """

    def __init__(self, version: str, model: str, layers: int, observed: Observed) -> None:
        self.steps: list[Step] = []
        self.on = False
        self._layers, self._observed, self._model = layers, observed, model
        self._batch: Any = None
        self._attending = -1  # the layer of the model that attends now
        self._blocks: dict[str, list[int]] = {}
        at = functools.partial(replace, f"vLLM {version}", SUPPORTED)
        at(_RUNNER + "prepare_inputs", self._prepared)
        at(_LOGITS[model], self._with_logits)
        at(_MLA if model == "mla" else _FA, self._mla if model == "mla" else self._fa)

    @property
    def replays(self) -> int:
        """Steps whose layers a graph ran."""
        return sum(step.replayed for step in self.steps)

    def save_launch(self, step: int, layer: int, folder: str) -> None:
        """Saves the decode launch of a step and layer, with its tensors, when it comes."""
        import aiter.mla

        kernel = aiter.mla.mla_decode_fwd

        def after(arguments: dict[str, Any]) -> None:
            number, given = self._attending, dict(arguments)

            def save() -> None:
                if self.on and len(self.steps) - 1 == step and number == layer:
                    self._saved(folder, given)

            self._launch([given["o"]], save)

        mla_capture.replace_everywhere(kernel, mla_capture.observed(kernel, after))

    def _saved(self, folder: str, arguments: dict[str, Any]) -> None:
        call = self._planned(arguments.get("work_indptr"))
        if call is None:
            return
        scalars, arrays = mla_capture.bundle_of(call, self._observed.facts)
        scalars.update(mla_capture.planned_dtypes(call))
        # The tensors themselves: the bundle has their addresses, which the plan is held against.
        more, launch = mla_capture.launch_of(arguments)
        most, tensors = mla_capture.tensors_of(arguments, arrays["seqlens_kv_indptr"])
        mla_bundle.write_bundle(folder, f"step {len(self.steps) - 1}",
                                {**scalars, **more, **most}, {**arrays, **launch, **tensors})

    def _planned(self, plan: torch.Tensor | None) -> dict[str, Any] | None:
        """The planner call that filled a plan, as its tensors are now."""
        for call in reversed(self._observed.decode):
            if plan is not None and call["work_indptr"].data_ptr() == plan.data_ptr():
                return {name: _copy(value) if isinstance(value, torch.Tensor) else value
                        for name, value in call.items()}
        return None

    def _prepared(self, before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def prepare_inputs(runner: Any, scheduled: Any, *rest: Any, **named: Any) -> Any:
            batch = before(runner, scheduled, *rest, **named)
            if self.on:
                self._table(scheduled)
                self._batch = batch
                starts = batch.query_start_loc_np
                self.steps.append(Step(len(self.steps), [
                    Served(int(name.partition("-")[0]), int(starts[i + 1] - starts[i]),
                           int(starts[i]), tuple(self._blocks.get(name, ())))
                    for i, name in enumerate(batch.req_ids)]))
            return batch

        return prepare_inputs


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
                self._launch([logits], lambda: _set(
                    step, logits=_copy(logits), logit_rows=_copy(batch.logits_indices)))
            return logits

        return compute_logits

    def _mla(self, before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def forward_impl(layer: Any, q: torch.Tensor, latent: torch.Tensor, rope: torch.Tensor,
                         cache: torch.Tensor, metadata: Any, output: torch.Tensor, *rest: Any,
                         **named: Any) -> Any:
            number = _number_of(layer.layer_name)
            if metadata is None or number >= self._layers or cache.numel() == 0:
                return before(layer, q, latent, rope, cache, metadata, output, *rest, **named)
            if number == 0:
                self._launch([], lambda: self._lists(metadata))
            tensors = {"query": q, "key": torch.cat([latent, rope.reshape(len(latent), -1)], -1)}
            kept = self._kept(number, tensors)
            self._attending = number
            result = before(layer, q, latent, rope, cache, metadata, output, *rest, **named)
            self._attending = -1
            self._launch([output], lambda: kept({"attention": output}))
            self._launch([q], lambda: kept(tensors))
            return result

        return forward_impl

    def _fa(self, before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def forward(impl: Any, layer: Any, q: Any, k: Any, v: Any, cache: Any, metadata: Any,
                    output: Any, *rest: Any, **named: Any) -> Any:
            result = before(impl, layer, q, k, v, cache, metadata, output, *rest, **named)
            if metadata is not None:
                tensors = {"query": q, "key": torch.cat([k.flatten(1), v.flatten(1)], -1),
                           "attention": output}
                kept = self._kept(_number_of(layer.layer_name), tensors)
                self._launch([output], lambda: kept(tensors))
            return result

        return forward

    def _kept(self, number: int, tensors: dict[str, torch.Tensor]) -> Callable[..., None]:
        graph = world.active().state.capture is not None  # type: ignore[union-attr]

        def keep(found: dict[str, torch.Tensor]) -> None:
            if not self.on or not self.steps:
                return
            step, batch = self.steps[-1], self._batch
            step.replayed |= graph
            if step.tokens is None:
                step.tokens = _copy(batch.input_ids)[:step.rows]
                step.positions = _copy(batch.positions)[:step.rows]
            layer = step.layers.setdefault(number, {})
            layer.update({name: _copy(tensor).flatten(1)[:step.rows].float()
                          for name, tensor in found.items()})

        return keep

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
            found = {name: _copy(value) for name, value in lists.items()}
            call = self._planned(metadata.work_indptr)
            if call is None:
                return
            bundle = self._observed.planned(f"step {step.number}", call, found)
        live = len(step.served)
        step.built = Built(bundle, tuple(i if i < live else PADDING for i in range(decodes)),
                           None, elsewhere=tuple(range(decodes, live)))

    def _launch(self, tensors: list[torch.Tensor], copy: Callable[[], None]) -> None:
        entered = world.active()
        assert entered is not None
        entered.launch(copy, tensors)


def _number_of(name: str) -> int:
    """3 of "model.layers.3.self_attn.attn"."""
    return int(name.partition(".layers.")[2].partition(".")[0])


def _set(step: Step, **fields: Any) -> None:
    for name, value in fields.items():
        setattr(step, name, value)


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    """On the host, without waiting: what lies at the tensor's address now."""
    with _disable_current_modes():
        return torch.empty(tensor.shape, dtype=tensor.dtype).copy_(tensor)
