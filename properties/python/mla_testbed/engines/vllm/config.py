"""A configuration of vLLM for one MLA layer, without weights: real objects, then varied."""

from __future__ import annotations

import copy
import dataclasses
import json
import pathlib
import tempfile
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from ..step import EngineStep

LAYER = "layer"
#: Rows of a request up to which it is taken for speculative decode; more are a prompt's.
MOST_DECODE_ROWS = 16
#: DeepSeek-V3 with one layer.
MODEL: dict[str, Any] = {
    "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3",
    "num_attention_heads": 16, "num_key_value_heads": 16, "hidden_size": 2048,
    "num_hidden_layers": 1, "first_k_dense_replace": 1, "kv_lora_rank": 512, "q_lora_rank": 1536,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
    "max_position_embeddings": 1 << 22, "vocab_size": 1024, "intermediate_size": 2048,
    "moe_intermediate_size": 256, "n_routed_experts": 8, "num_experts_per_tok": 2, "n_group": 1,
    "topk_group": 1, "torch_dtype": "bfloat16",
}


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a configuration has room for: requests, keys of a request, rows of one in a decode."""

    requests: int
    keys: int
    rows: int
    graphs: bool

    @classmethod
    def of(cls, steps: Sequence[EngineStep]) -> Limits:
        """The smallest that hold these steps; graphs where a step has padding."""
        rows = [r for step in steps for r in step.query_lens if r <= MOST_DECODE_ROWS]
        return cls(requests=max(step.requests + step.pad for step in steps),
                   keys=max(max(step.seq_lens) for step in steps), rows=max(rows, default=1),
                   graphs=any(step.pad > 0 for step in steps))


class Prefill:
    """The prefill backend of the layer: prefills are not attended here."""

    def clone(self) -> Prefill:
        """Each builder has its own."""
        return Prefill()

    def get_name(self) -> str:
        """What ROCm chooses."""
        return "FLASH_ATTN"

    def prepare_metadata(self, metadata: object) -> None:
        """Nothing to prepare."""


def base(model: dict[str, Any]) -> Any:
    """One real VllmConfig.

    Args:
        model: its config.json.
    """
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
        (pathlib.Path(folder) / "config.json").write_text(json.dumps(model), encoding="utf-8")
        made = ModelConfig(model=folder, tokenizer=folder, skip_tokenizer_init=True,
                           dtype="bfloat16", max_model_len=4096)
        return VllmConfig(
            model_config=made, cache_config=CacheConfig(block_size=16),
            scheduler_config=SchedulerConfig(max_num_seqs=64, max_num_batched_tokens=8192,
                                             max_model_len=4096, is_encoder_decoder=False),
            parallel_config=ParallelConfig(), compilation_config=CompilationConfig(),
            device_config=DeviceConfig("cuda"))


def varied(config: Any, step: EngineStep, limits: Limits, method: str) -> Any:
    """A copy for a step's heads, dtypes and blocks, with room for `limits`.

    Args:
        method: of speculative decoding, "mtp" or "eagle3".
    """
    heads = {"num_attention_heads": step.heads, "num_key_value_heads": step.heads}
    made = resized(config, step, limits, heads, {"total_num_attention_heads": step.heads},
                   speculation(method, limits.rows - 1))
    made.cache_config.cache_dtype = "fp8" if step.dtype_kv == "fp8" else "auto"
    made.compilation_config.static_forward_context = {LAYER: layer()}
    return made


def resized(
    config: Any, step: EngineStep, limits: Limits, model: dict[str, int], known: dict[str, int],
    drafts: Any,
) -> Any:
    """A copy with room for `limits`, and no layer yet.

    Args:
        model: fields of the model's configuration.
        known: the same as newer versions read them, of its architecture's.
        drafts: what `speculation` returned.
    """
    from vllm.config import CUDAGraphMode

    made = copy.copy(config)
    for name in ("model_config", "cache_config", "scheduler_config", "compilation_config"):
        setattr(made, name, copy.copy(getattr(config, name)))
    for name, fields in (("hf_config", model), ("hf_text_config", model),
                         ("model_arch_config", known)):
        part = copy.copy(getattr(config.model_config, name, None))
        if part is None:
            continue
        for field, value in fields.items():
            setattr(part, field, value)
        setattr(made.model_config, name, part)
    made.model_config.max_model_len = limits.keys
    made.cache_config.block_size = step.block_size
    made.scheduler_config.max_num_seqs = limits.requests
    made.compilation_config.cudagraph_mode = (
        CUDAGraphMode.FULL if limits.graphs else CUDAGraphMode.NONE)
    made.compilation_config.static_forward_context = {}
    made.speculative_config = drafts
    return made


def speculation(method: str, tokens: int) -> SimpleNamespace | None:
    """What builders read of a speculative configuration; None for no draft tokens."""
    if tokens <= 0:
        return None
    return SimpleNamespace(
        method=method, num_speculative_tokens=tokens, parallel_drafting=False,
        enforce_eager=False, enable_adaptive_verification=False,
        use_eagle=lambda: method.startswith("eagle"))


def layer() -> SimpleNamespace:
    """What a builder reads of its attention layer."""
    return SimpleNamespace(
        q_lora_rank=1536, kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64,
        v_head_dim=128, dcp_manager=None, non_causal_multi_token_decode=False,
        prefill_backend=Prefill())
