"""SGLang's MLA prefill on our steps: extends over cached prefixes, and prompts without one."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from .. import tensors as bits
from ..engine import Machine
from ..fa import served
from ..line import CaseLine
from ..prefill.built import Chunk, PrefillBuilt
from ..prefill.layer import KvProjection
from ..prefill.projection import KEY, VALUES, Projection, heads_of
from ..prefill.step import PrefillStep
from . import attention, batch
from .adapter import SglangEngine, server_of
from .batch import Mode


class SglangPrefill(SglangEngine):
    """One SGLang, one architecture. It gathers whole requests, so there are no chunks."""

    def __init__(self, of: Machine) -> None:
        super().__init__(of)
        if self.attends:
            served.install()
            aiter: Any = importlib.import_module("aiter")
            module: Any = self.module
            module.flash_attn_varlen_func = aiter.flash_attn_varlen_func

    def adapt(self, line: CaseLine) -> CaseLine:
        """Heads above 16 become a multiple of 16, blocks a power of two."""
        heads, block = int(line["heads"]), int(line["block"])
        return CaseLine.parse(str(line.with_fields(
            heads=str(heads if heads < 16 else -(-heads // 16) * 16),
            block=str(1 << (block - 1).bit_length()))))

    def start(self, steps: Sequence[PrefillStep]) -> None:  # type: ignore[override]
        """One backend for all steps, without speculation."""
        self._forget()
        configuration = dataclasses.replace(server_of(steps), draft_tokens=None, draft_steps=None)
        self.backend = self.another_backend(configuration)

    def build(self, step: PrefillStep) -> PrefillBuilt:  # type: ignore[override]
        """init_forward_metadata of an extend."""
        made = batch.of_step(step, Mode.EXTEND)
        forward_batch = self._forward_batch(made)
        with self._recorded(step):
            self.backend.init_forward_metadata(forward_batch)
        metadata = self.backend.forward_metadata
        starts, sums, slots = (_array(getattr(metadata, name))
                               for name in ("qo_indptr", "kv_indptr", "kv_indices"))
        lengths = np.maximum(np.diff(sums), 0)
        gathered = Chunk(
            first=0, starts=np.zeros(lengths.size, np.int32), sums=sums,
            owners=np.repeat(np.arange(lengths.size), lengths), slots=slots,
            rows=(0, int(starts[-1])), row_sums=starts, most_rows=int(metadata.max_q_len),
            most_keys=int(metadata.max_kv_len), tokens=int(sums[-1]))
        return PrefillBuilt(
            tuple(range(step.requests)), (), starts, int(metadata.max_q_len), (gathered,), True,
            None, tuple(self.observed.prefill), attention.Kept(made, metadata, forward_batch))

    def attend(  # type: ignore[override]
        self, step: PrefillStep, built: PrefillBuilt, q: np.ndarray, cache: np.ndarray,
        project: Projection,
    ) -> np.ndarray:
        """forward_extend; the step's own rows are in the cache already, as SGLang's model does."""
        kept: attention.Kept = built.metadata
        attention.fill(self.backend, cache)
        self.backend.forward_metadata = kept.metadata
        own = np.concatenate([step.new_slots(i) for i in built.order])
        k, v = (torch.from_numpy(np.ascontiguousarray(part)).to("cuda").to(torch.bfloat16)
                for part in heads_of(project, bits.values_of(cache[own], step.arch)))
        query = torch.from_numpy(q.view(np.int16)).view(torch.bfloat16).to("cuda")
        layer: Any = attention.layer_of(step)
        layer.qk_head_dim, layer.v_head_dim, layer.tp_k_head_num = KEY, VALUES, step.heads
        layer.kv_b_proj = KvProjection(project, torch.device("cuda"))
        out = self.backend.forward_extend(query, k, v, layer, kept.forward_batch,
                                          save_kv_cache=False)
        values: np.ndarray = out.reshape(v.shape).float().cpu().numpy()
        return values


def _array(tensor: torch.Tensor) -> np.ndarray:
    made: np.ndarray = tensor.cpu().numpy().copy()
    return made
