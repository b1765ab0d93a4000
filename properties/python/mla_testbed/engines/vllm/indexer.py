"""vLLM's sparse indexer on our steps: DeepseekV32IndexerMetadataBuilder, SparseAttnIndexer, and the
operation that it calls on ROCm."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import torch

from ...sparse.case import KEY, ROW
from ...sparse.inputs import Inputs
from ...sparse.real.device import FP8, back, blocks, bytes_of, put
from ..sparse.indexer import HEADS, Gather, Indexed, before_step, inputs_of, of_rows
from ..sparse.step import SparseStep
from . import topk

#: Of the cache of the indexer, as vLLM names its layer.
NAME = "indexer.k_cache"
_OPS = "vllm.v1.attention.ops.rocm_aiter_mla_sparse"
#: Products of a row's and a key's heads that are computed at most in a step: rows times keys.
MOST_LOGITS = 1 << 18
#: Rows of prompts that may come one chunk each.
_MOST_CHUNKS = 48
_CHUNKS = "VLLM_SPARSE_INDEXER_MAX_LOGITS_MB"


def there(version: str, *, attends: bool) -> bool:
    """Whether this vLLM's indexer is run: its kernels are AITER's."""
    return attends and tuple(map(int, version.split(".")[:2])) >= (0, 33)


def affordable(step: SparseStep) -> bool:
    """Whether the emulator computes the logits of a step in seconds."""
    return sum(rows * keys for rows, keys in zip(step.query_lens, step.seq_lens, strict=True)) <= (
        MOST_LOGITS)


class Indexer:
    """The indexer of one layer, for steps that share a configuration.

    Args:
        config: the current one. columns: of the block table.
        selected: (rows, k) int32: the buffer that the layer's attention reads.
    """

    def __init__(self, config: Any, first: SparseStep, columns: int, selected: torch.Tensor,
                 ) -> None:
        from vllm.model_executor.layers.sparse_attn_indexer import SparseAttnIndexer
        from vllm.v1.attention.backends.mla import indexer

        self._config, self._selected, device = config, selected, torch.device("cuda")
        self._ops = importlib.import_module(_OPS)
        self._builder = indexer.DeepseekV32IndexerMetadataBuilder(
            _spec(first), [NAME], config, device, block_table_width=columns)
        self._cache = SimpleNamespace(prefix=NAME, kv_cache=None)
        self._layer = SparseAttnIndexer(
            self._cache, KEY, "ue8m0", first.topk, KEY, config.model_config.max_model_len,
            indexer.get_max_prefill_buffer_size(config), selected)
        self._inputs: dict[tuple[str, int], Inputs] = {}

    def build(self, step: SparseStep, common: Any, *, capture: bool) -> Any:
        """The metadata of a step. Every other case has a chunk for each row of a prompt."""
        prompts = sum(rows for rows in step.query_lens if rows > 1)
        alone = step.data_seed % 2 and prompts <= _MOST_CHUNKS
        with mock.patch.dict(os.environ, {_CHUNKS: "0"} if alone else {}):
            if capture:
                return self._builder.build_for_cudagraph_capture(common)
            return self._builder.build(0, common)

    def run(self, step: SparseStep, metadata: Any, rows: int, *, graph: bool) -> Indexed:
        """The operation of the layer on a step; its selection is in the shared buffer then.

        Args:
            metadata: of build. rows: of the step, padding included.
        """
        inputs = self._of(step)
        slots = back(metadata.slot_mapping)[:rows]
        new = np.concatenate([step.new_slots(request) for request in range(step.requests)])
        expected = np.full(rows, -1, np.int64)
        expected[:new.size] = new
        before = before_step(inputs, new)
        cached = blocks(inputs, before)
        self._cache.kv_cache = cached
        self._selected.fill_(topk.UNWRITTEN)
        with self._watched(step, metadata) as seen:
            self._forward(inputs, of_rows(inputs, expected), metadata, rows, graph=graph)
        assert slots.size == rows, f"{slots.size} slots for {rows} rows"
        return Indexed(inputs, expected, before, bytes_of(cached, before.size),
                       tuple(seen.gathers), _by_row(step, metadata, seen.selects),
                       back(self._selected), self._layer.max_model_len)

    def _of(self, step: SparseStep) -> Inputs:
        key = step.case, step.number
        if key not in self._inputs:
            self._inputs[key] = inputs_of(step)
        return self._inputs[key]

    def _forward(self, inputs: Inputs, new: Inputs, metadata: Any, rows: int, *, graph: bool,
                 ) -> None:
        from vllm.config import CUDAGraphMode
        from vllm.forward_context import set_forward_context

        live = inputs.case.rows
        q = np.full((rows, HEADS, KEY), 0x38, np.uint8)
        weights = np.ones((rows, HEADS), np.float32)
        q[:live], weights[:live] = inputs.q, inputs.weights
        mode = CUDAGraphMode.FULL if graph else CUDAGraphMode.NONE
        with set_forward_context({NAME: metadata}, self._config, cudagraph_runtime_mode=mode):
            self._layer.forward_hip(
                torch.zeros(rows, 1, dtype=torch.bfloat16, device="cuda"),
                put(q).view(FP8[inputs.case.fp8]), put(new.keys).to(torch.bfloat16), put(weights))

    @contextlib.contextmanager
    def _watched(self, step: SparseStep, metadata: Any) -> Iterator[SimpleNamespace]:
        """What is gathered and what top-k gets, while the operation runs."""
        seen = SimpleNamespace(gathers=[], selects=[])
        gather = self._ops.cp_gather_indexer_k_quant_cache_triton
        chunks = iter(metadata.prefill.chunks if metadata.prefill else ())

        def gathered(cache: Any, codes: Any, scales: Any, *more: Any, **named: Any) -> None:
            gather(cache, codes, scales, *more, **named)
            chunk = next(chunks)
            begin = int(step.owners[chunk.token_start])
            seen.gathers.append(Gather((begin, begin + chunk.num_reqs), back(codes),
                                       back(scales.view(torch.float32))[:, 0]))

        with mock.patch.object(self._ops, "cp_gather_indexer_k_quant_cache_triton", gathered), \
                topk.watched(seen.selects.append):
            yield seen


def _spec(step: SparseStep) -> Any:
    from vllm.v1.kv_cache_interface import MLAAttentionSpec

    return MLAAttentionSpec(block_size=step.block_size, num_kv_heads=1, head_size=ROW,
                            dtype=torch.uint8)


def _by_row(step: SparseStep, metadata: Any, selects: list[topk.Select]) -> tuple[np.ndarray, ...]:
    """The logits of each live row: calls of prompts' chunks come first, that of decodes last."""
    made = [np.zeros(0, np.float32)] * len(step.owners)
    chunks = list(metadata.prefill.chunks) if metadata.prefill else []
    for chunk, select in zip(chunks, selects, strict=False):
        for at, row in enumerate(range(chunk.token_start, chunk.token_end)):
            made[row] = select.of(at)
    if metadata.decode is not None:
        select, at = selects[len(chunks)], 0
        packed, width = metadata.decode.requires_padding, len(select.ends)
        decodes = step.query_lens[:metadata.num_decodes]
        for request, rows in enumerate(decodes):
            begin = request * (width // metadata.num_decodes) if packed else at
            for place in range(rows):
                made[at + place] = select.of(begin + place)
            at += rows
    keys = [step.seq_lens[owner] for owner in step.owners]
    return tuple(row[:count] for row, count in zip(made, keys, strict=True))
