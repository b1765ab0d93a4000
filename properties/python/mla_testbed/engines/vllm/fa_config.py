"""A configuration of vLLM for one layer of grouped-query attention, without weights."""

from __future__ import annotations

from typing import Any

from ..fa.step import FaStep
from .config import LAYER, Limits, resized, speculation

#: A Llama with one layer.
MODEL: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_attention_heads": 8,
    "num_key_value_heads": 2, "head_dim": 128, "hidden_size": 1024, "num_hidden_layers": 1,
    "max_position_embeddings": 1 << 22, "vocab_size": 1024, "intermediate_size": 2048,
    "torch_dtype": "bfloat16",
}


def varied(config: Any, step: FaStep, limits: Limits) -> Any:
    """A copy for a step's heads, blocks and drafts, with room for `limits`; it has no layer yet."""
    heads = {"num_attention_heads": step.heads, "num_key_value_heads": step.kv_heads,
             "head_dim": step.head_dim}
    known = {"total_num_attention_heads": step.heads, "total_num_kv_heads": step.kv_heads,
             "head_size": step.head_dim}
    return resized(config, step, limits, heads, known, speculation("eagle3", step.draft))


def layer(config: Any, module: Any, step: FaStep) -> Any:
    """vLLM's Attention over the AITER FA backend; it enters itself into the configuration."""
    from vllm.model_executor.layers.attention import Attention

    return Attention(
        step.heads, step.head_dim, step.head_dim ** -0.5, num_kv_heads=step.kv_heads,
        cache_config=config.cache_config, prefix=LAYER,
        per_layer_sliding_window=step.window + 1 if step.window >= 0 else None,
        attn_backend=module.AiterFlashAttentionBackend)
