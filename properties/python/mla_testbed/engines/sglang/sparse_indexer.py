"""SGLang's own Indexer on our steps: its cache write, its gather, AITER's logits, and its top-k.

Projections, rotary positions and the quantisation of queries are not run: an indexer gets the
queries, weights and keys of the step at the places where it would have computed them.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import types
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import torch

from ...sparse.cache import places
from ...sparse.case import KEY
from ...sparse.inputs import Inputs
from ...sparse.lists import positions
from ...sparse.real.device import FP8, back, put
from ..sparse.indexer import HEADS, Gather, Indexed, before_step, inputs_of, of_rows
from ..sparse.step import SparseStep
from . import indexer, server
from .attention import Kept
from .releases import QUANTISERS, SERVED

#: Products of a row's and a key's heads that are computed at most in a step: rows times keys.
MOST_LOGITS = 1 << 18
#: k of a top-k that gives positions: SGLang converts no other number of them.
UNFUSED = 2048
#: A slot that is not the request's own.
NOWHERE = 1 << 24
_DSA = "sglang.srt.layers.attention.dsa."


def there(version: str, *, attends: bool) -> bool:
    """Whether this SGLang's indexer is run: its logits are AITER's kernels."""
    return attends and version in SERVED


def block_is_served(block: int) -> bool:
    """SGLang asserts a multiple of 16; AITER's kernel divides 256 columns by it."""
    return block % 16 == 0


def affordable(step: SparseStep) -> bool:
    """Whether the emulator computes the logits of a step in seconds."""
    return sum(rows * keys for rows, keys in zip(step.query_lens, step.seq_lens, strict=True)) <= (
        MOST_LOGITS)


def switches(topk: int) -> dict[str, str]:
    """What SGLang's hook for this model sets on ROCm, and whether top-k gives slots."""
    return {"SGLANG_DSA_FUSE_TOPK": str(int(topk != UNFUSED)), "SGLANG_OPT_USE_TOPK_V2": "0",
            "SGLANG_DSA_PREFILL_DENSE_ATTN_KV_LEN_THRESHOLD": str(topk)}


def install(version: str) -> None:
    """Once in a process, after SGLang is imported."""
    indexer.kernels(version)


def pool_of(made: server.Server) -> Any:
    """SGLang's pool with an indexer's cache beside the latent one."""
    from sglang.srt.mem_cache.memory_pool import DSATokenToKVPool

    return DSATokenToKVPool(
        size=made.page_size, page_size=made.page_size, dtype=server.cache_dtype(made),
        kv_lora_rank=server.KV_LORA_RANK, qk_rope_head_dim=server.ROPE, layer_num=1, device="cuda",
        index_head_dim=KEY, enable_memory_saver=False, kv_cache_dim=server.WIDTH)


class Indexer:
    """The indexer of one layer, for steps that share a backend."""

    def __init__(self, backend: Any, topk: int, context: int) -> None:
        from sglang.srt.layers.attention.dsa.dsa_indexer import Indexer as Sglangs

        self._backend, self._pool = backend, backend.mla_testbed_runner.token_to_kv_pool
        os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")
        self._layer = Sglangs(
            hidden_size=KEY, index_n_heads=HEADS, index_head_dim=KEY, rope_head_dim=server.ROPE,
            index_topk=topk, q_lora_rank=KEY, max_position_embeddings=context, rope_theta=10000.0,
            layer_id=0, scale_fmt="ue8m0")
        self._inputs: dict[tuple[str, int], Inputs] = {}

    def run(self, step: SparseStep, kept: Kept) -> tuple[Indexed, torch.Tensor]:
        """Indexer.forward on a step: what it left, and its selection as the attention gets it."""
        inputs = self._of(step)
        live, rows = len(step.owners), sum(kept.batch.rows)
        new = np.concatenate([step.new_slots(request) for request in range(step.requests)])
        slots = np.full(rows, -1, np.int64)
        slots[:live] = new
        before = before_step(inputs, new)
        cached = put(before).view(inputs.blocks, -1)
        self._pool.index_key_cache.buffer = [cached]
        # SGLang gives slot 0 to padding.
        kept.forward_batch.out_cache_loc = put(np.maximum(slots, 0))
        with self._watched(step, live) as seen, self._given(inputs, of_rows(inputs, slots)):
            found = self._layer.forward_cuda(
                torch.zeros(rows, 1, dtype=torch.bfloat16, device="cuda"),
                torch.zeros(rows, 1, dtype=torch.bfloat16, device="cuda"),
                kept.forward_batch.positions, kept.forward_batch, 0)
        after = back(cached).reshape(-1)
        at = places(inputs.case, np.zeros(1, np.int64))
        for part in (at.values, at.scales):
            after[part] = before[part]
        chosen = back(found)
        if self._backend.use_fused_topk:
            chosen = positions(
                chosen, (step.token_slots(int(owner)) for owner in step.owners), NOWHERE)
        return Indexed(inputs, slots, before, after, tuple(seen.gathers), tuple(seen.logits),
                       chosen, seen.columns, scored=bool(seen.logits)), found

    def _of(self, step: SparseStep) -> Inputs:
        key = step.case, step.number
        if key not in self._inputs:
            self._inputs[key] = inputs_of(step)
        return self._inputs[key]

    @contextlib.contextmanager
    def _given(self, inputs: Inputs, new: Inputs) -> Iterator[None]:
        """Queries, weights and keys, in place of projections of a hidden state."""
        from sglang.srt.model_executor.forward_context import ForwardContext, forward_context

        rows, live = len(new.keys), inputs.case.rows
        q, weights = np.full((rows, HEADS, KEY), 0x38, np.uint8), np.ones((rows, HEADS), np.float32)
        q[:live], weights[:live] = inputs.q, inputs.weights
        keys = put(new.keys).to(torch.bfloat16)
        codes, heads = put(q).view(FP8[inputs.case.fp8]), put(weights)[:, :, None]
        quant = types.ModuleType("act_quant")
        vars(quant)["act_quant"] = lambda *_: (codes, torch.ones(rows, HEADS, 1, device="cuda"))
        layer = mock.patch.multiple(
            self._layer, _get_q_k_bf16=lambda *_, **__: (codes, keys, None),
            _get_k_bf16=lambda *_, **__: keys, _get_logits_head_gate=lambda *_: heads)
        with layer, mock.patch.dict(sys.modules, dict.fromkeys(QUANTISERS, quant)), \
                forward_context(ForwardContext(attn_backend=self._backend)):
            yield

    @contextlib.contextmanager
    def _watched(self, step: SparseStep, live: int) -> Iterator[SimpleNamespace]:
        """What is gathered, and what top-k gets where keys are scored, while it runs."""
        seen = SimpleNamespace(gathers=[], logits=[], columns=0)
        backend = importlib.import_module(_DSA + "dsa_topk_backend").DSATopKBackend
        select, gather = backend.topk_transform, self._pool.get_index_k_scale_buffer
        skips = self._layer._should_skip_logits_computation  # noqa: SLF001
        scored = [True]

        def skip(batch: Any) -> bool:
            scored[0] = not skips(batch)
            return not scored[0]

        def gathered(*given: Any) -> Any:
            codes, scales = gather(*given)
            seen.gathers.append(Gather((0, step.requests), back(codes),
                                       back(scales.view(torch.float32))[:, 0]))
            return codes, scales

        def selected(of: Any, logits: torch.Tensor, lengths: torch.Tensor, *rest: Any,
                     row_starts: torch.Tensor | None = None, **named: Any) -> Any:
            if scored[0]:
                table, ends = back(logits), back(lengths)
                starts = np.zeros_like(ends) if row_starts is None else back(row_starts)
                seen.columns = table.shape[1]
                seen.logits += [table[row, starts[row]:starts[row] + ends[row]]
                                for row in range(live - len(seen.logits))][:len(table)]
            return select(of, logits, lengths, *rest, row_starts=row_starts, **named)

        with mock.patch.object(self._pool, "get_index_k_scale_buffer", gathered), \
                mock.patch.object(self._layer, "_should_skip_logits_computation", skip), \
                mock.patch.object(backend, "topk_transform", selected):
            yield seen
