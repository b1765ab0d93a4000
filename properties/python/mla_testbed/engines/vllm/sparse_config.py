"""A configuration of vLLM for one layer of sparse MLA, and what its attention is made of."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from ..decode.result import SCALE
from ..sparse.indexer import CHUNK
from ..sparse.step import SparseStep
from .config import LAYER, Limits, layer, varied

_DIMS = {"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
         "qk_head_dim": 192, "v_head_dim": 128}

#: One case in so many has logits that end where its longest request does.
_EXACT = 4


def one_rank() -> None:
    """This process is all of the tensor parallel group: the backend's attention asks for its size.
    """
    from vllm.distributed import parallel_state

    parallel_state._TP = SimpleNamespace(  # noqa: SLF001 there is no other way in
        world_size=1, rank_in_group=0, device_group=None)


def most_rows(steps: Sequence[SparseStep]) -> int:
    """Rows that a configuration has to have room for, those of a graph's padding included."""
    limits = Limits.of(steps)
    graph = limits.requests * max(max(step.query_lens) for step in steps) * limits.graphs
    return max(graph, *(sum(step.query_lens) for step in steps))


def longest(step: SparseStep, limits: Limits) -> int:
    """max_model_len: the indexer's logits have as many columns. Mostly a multiple of a chunk of
    AITER's kernel, as servers have it; one case in four has just what its keys need."""
    if step.data_seed // 8 % _EXACT == _EXACT - 1:
        return limits.keys
    return -(-limits.keys // CHUNK) * CHUNK


def sparse(config: Any, step: SparseStep, limits: Limits, method: str, rows: int) -> Any:
    """A copy for a step, whose model selects `step.topk` keys.

    Args:
        method: of speculative decoding.
        rows: of all requests, padding included: vLLM's max_num_batched_tokens.
    """
    made = varied(config, step, limits, method)
    for name in ("hf_config", "hf_text_config"):
        model = copy.copy(getattr(made.model_config, name))
        model.index_topk = step.topk
        setattr(made.model_config, name, model)
    made.scheduler_config.max_num_batched_tokens = rows
    made.model_config.max_model_len = longest(step, limits)
    own = layer()
    own.impl = SimpleNamespace(sinks=None, use_aiter_sparse_mla=False)
    made.compilation_config.static_forward_context = {LAYER: own}
    return made


def implementation(module: Any, step: SparseStep, indices: Any, *, indexer: bool = True) -> Any:
    """The backend's attention, of a layer with an indexer that leaves its keys in `indices`, or of
    one without that finds them there."""
    return module.ROCMAiterMLASparseImpl(
        step.heads, 576, SCALE, 1, None, None, "fp8" if step.dtype_kv == "fp8" else "auto", None,
        "decoder", None, kv_b_proj=None, topk_indices_buffer=indices,
        indexer=SimpleNamespace(topk_indices_buffer=indices) if indexer else None, **_DIMS)
