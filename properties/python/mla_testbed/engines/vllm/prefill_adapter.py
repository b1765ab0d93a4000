"""vLLM's MLA prefill on our steps: AiterMLAMetadataBuilder, AiterMLAImpl.forward_mha."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch

from .. import tensors as bits
from ..engine import Machine
from ..fa import served
from ..line import CaseLine
from ..prefill.built import PrefillBuilt
from ..prefill.layer import KvProjection
from ..prefill.projection import SCALE, VALUES, Projection
from ..prefill.step import PrefillStep
from . import config, operations
from .adapter import OPTIONS, VllmEngine
from .batch import RunnerBuffers
from .fa_metadata import array
from .fa_runner import order_of
from .prefill_metadata import chunks_of

_DIMS = {"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": VALUES}


class VllmPrefill(VllmEngine):
    """One vLLM, one architecture. The workspace of contexts has the size that the case says."""

    #: Contexts of a prefill are those of one rank.
    OPTIONS: ClassVar = {"speculation": OPTIONS["speculation"]}

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        from vllm.v1.attention.backends.mla import prefill

        self.sources = (*self.sources, _source_of_chunks())
        self._backend_of = prefill.get_mla_prefill_backend
        if self.attends:
            served.install()
            operations.install()

    def adapt(self, line: CaseLine) -> CaseLine:
        """As for decode; the query is quantised where attention is."""
        made = super().adapt(line)
        return CaseLine.parse(str(made.with_fields(
            dtype=f"bf16/{line['dtype'].partition('/')[2]}")))

    def start(self, steps: Sequence[PrefillStep]) -> None:  # type: ignore[override]
        """A builder with room for these steps, and a workspace of NaN."""
        first, limits = steps[0], config.Limits.of(steps)
        self._current = config.varied(self.base, first, limits, "mtp")
        self._current.speculative_config = None
        self._buffers = RunnerBuffers(limits, first.block_size)
        self._impl = None
        layer = config.layer()
        self._current.compilation_config.static_forward_context = {config.LAYER: layer}
        cls = self._module.AiterMLAMetadataBuilder
        cls.determine_chunked_prefill_workspace_size = staticmethod(lambda _config: first.workspace)
        with self._entered():
            layer.prefill_backend = self._backend_of(self._current)(
                num_heads=first.heads, scale=SCALE, vllm_config=self._current, **_DIMS)
            self._builder = cls(self.spec(first), [config.LAYER], self._current, self._device)
        self._builder.chunked_prefill_workspace.fill_(float("nan"))
        self._poison()

    def build(self, step: PrefillStep) -> PrefillBuilt:  # type: ignore[override]
        """The prefill part, in the order of vLLM's runner: decodes, then prompts over a prefix,
        then those without. vLLM 0.26 and 0.27 merge a prefix into the first of these rows only."""
        order = order_of(step, self._builder.reorder_batch_threshold)
        common = self._buffers.fill(step.ordered(order), step.requests, sum(step.query_lens))
        metadata = self._build(common, capture=False)
        part, decodes = metadata.prefill, int(metadata.num_decodes)
        if part is None:
            return PrefillBuilt((), order, np.zeros(1, np.int32), 0, (), False,
                                None, (), metadata)
        return PrefillBuilt(
            order[decodes:], order[:decodes],
            array(part.query_start_loc), int(part.max_query_len),
            chunks_of(part, step.block_size), False,
            int(self._builder.chunked_prefill_workspace.shape[0]),
            tuple(self._observed.prefill), metadata)

    def attend(  # type: ignore[override]
        self, step: PrefillStep, built: PrefillBuilt, q: np.ndarray, cache: np.ndarray,
        project: Projection,
    ) -> np.ndarray:
        """AiterMLAImpl.forward_mha, with the step's own rows as latent rows."""
        impl = self._implementation(step)
        impl.dcp_world_size = 1  # older versions leave it to their layer
        impl.kv_b_proj = KvProjection(project, self._device)
        own = np.concatenate([step.new_slots(i) for i in built.order])
        rows = torch.from_numpy(bits.values_of(cache[own], step.arch)).to(torch.bfloat16)
        rows = rows.to(self._device)
        kv = self._tensor(cache.reshape(step.pool_blocks, step.block_size, -1), step.dtype_kv)
        out = torch.full((q.shape[0], step.heads * VALUES), float("nan"), dtype=torch.bfloat16,
                         device=self._device)
        with self._entered():
            impl.forward_mha(self._tensor(q, "bf16"), rows[:, :512], rows[:, None, 512:], kv,
                             built.metadata, torch.ones(1, device=self._device), out)
        result: np.ndarray = out.view(q.shape[0], step.heads, VALUES).float().cpu().numpy()
        return result


def _source_of_chunks() -> str:
    """The file that cuts contexts into chunks."""
    from vllm.model_executor.layers.attention import mla_attention

    return str(mla_attention.__file__)
