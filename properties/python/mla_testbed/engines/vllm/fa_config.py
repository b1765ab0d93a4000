"""A configuration of vLLM for one layer of grouped-query attention, without weights."""

from __future__ import annotations

import copy
import json
import pathlib
import tempfile
from types import SimpleNamespace
from typing import Any

from ..fa.step import FaStep
from .config import LAYER, Limits

_MODEL = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_attention_heads": 8,
    "num_key_value_heads": 2, "head_dim": 128, "hidden_size": 1024, "num_hidden_layers": 1,
    "max_position_embeddings": 1 << 22, "vocab_size": 1024, "intermediate_size": 2048,
    "torch_dtype": "bfloat16",
}


def base() -> Any:
    """One real VllmConfig of a Llama with one layer."""
    from vllm.config import (
        CacheConfig,
        CompilationConfig,
        DeviceConfig,
        ModelConfig,
        ParallelConfig,
        SchedulerConfig,
        VllmConfig,
    )

    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "config.json").write_text(json.dumps(_MODEL), encoding="utf-8")
        model = ModelConfig(model=folder, tokenizer=folder, skip_tokenizer_init=True,
                            dtype="bfloat16", max_model_len=4096)
        return VllmConfig(
            model_config=model, cache_config=CacheConfig(block_size=16),
            scheduler_config=SchedulerConfig(max_num_seqs=64, max_num_batched_tokens=8192,
                                             max_model_len=4096, is_encoder_decoder=False),
            parallel_config=ParallelConfig(), compilation_config=CompilationConfig(),
            device_config=DeviceConfig("cuda"))


def varied(config: Any, step: FaStep, limits: Limits) -> Any:
    """A copy for a step's heads, blocks and drafts, with room for `limits`; it has no layer yet."""
    from vllm.config import CUDAGraphMode

    made = copy.copy(config)
    made.model_config = copy.copy(config.model_config)
    for name in ("hf_config", "hf_text_config"):
        hf = copy.copy(getattr(config.model_config, name))
        hf.num_attention_heads, hf.num_key_value_heads = step.heads, step.kv_heads
        hf.head_dim = step.head_dim
        setattr(made.model_config, name, hf)
    known = copy.copy(getattr(config.model_config, "model_arch_config", None))
    if known is not None:  # newer versions read the layer's shape here
        known.total_num_attention_heads, known.total_num_kv_heads = step.heads, step.kv_heads
        known.head_size = step.head_dim
        made.model_config.model_arch_config = known
    made.model_config.max_model_len = limits.keys
    made.cache_config = copy.copy(config.cache_config)
    made.cache_config.block_size = step.block_size
    made.scheduler_config = copy.copy(config.scheduler_config)
    made.scheduler_config.max_num_seqs = limits.requests
    made.compilation_config = copy.copy(config.compilation_config)
    made.compilation_config.cudagraph_mode = (
        CUDAGraphMode.FULL if limits.graphs else CUDAGraphMode.NONE)
    made.compilation_config.static_forward_context = {}
    made.speculative_config = None
    if step.draft:
        made.speculative_config = SimpleNamespace(
            method="eagle3", num_speculative_tokens=step.draft, parallel_drafting=False,
            enforce_eager=False, use_eagle=lambda: True)
    return made


def layer(config: Any, module: Any, step: FaStep) -> Any:
    """vLLM's Attention over the AITER FA backend; it enters itself into the configuration."""
    from vllm.model_executor.layers.attention import Attention

    return Attention(
        step.heads, step.head_dim, step.head_dim ** -0.5, num_kv_heads=step.kv_heads,
        cache_config=config.cache_config, prefix=LAYER,
        per_layer_sliding_window=step.window + 1 if step.window >= 0 else None,
        attn_backend=module.AiterFlashAttentionBackend)
