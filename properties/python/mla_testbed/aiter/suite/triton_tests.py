"""Which of AITER's Triton tests are run: of attention, its caches, and what goes before."""

from __future__ import annotations

from .tests import AiterTest

_FILES = (
    "attention/mla", "attention/mla_decode_rope", "attention/unified_attention",
    "attention/unified_attention_sparse_mla", "attention/pa_decode", "attention/pa_decode_sparse",
    "attention/pa_prefill", "attention/pa_prefill_sparse", "attention/prefill_attention",
    "attention/chunked_pa_prefill", "attention/extend_attention", "attention/fp8_mqa_logits",
    "attention/la", "attention/la_paged", "attention/hstu_attn", "attention/mha",
    "gather_kv_b_proj", "kv_cache", "fusions/fused_kv_cache", "fusions/fused_qk_concat",
    "fusions/fused_bmm_rope_kv_cache", "fusions/fused_reduce_qk_norm_rope_swa_write", "rope/rope",
    "rope/fused_qkv_split_qk_rope", "softmax", "topk", "normalization/rmsnorm", "quant/quant",
    "moe/moe_align_block_size", "moe/moe_routing",
)


def _file(name: str) -> str:
    folder, slash, last = name.rpartition("/")
    return f"triton_tests/{folder}{slash}test_{last}.py"


TRITON_TESTS = tuple(
    AiterTest(name, _file(name), pytest=True, triton=True, smallest=True) for name in _FILES)
