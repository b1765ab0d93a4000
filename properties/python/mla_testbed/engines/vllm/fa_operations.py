"""vLLM's compiled operations that its AITER FA backend calls, and that an installation without
kernels lacks; and AITER's paged attention for tensors of the CPU."""

from __future__ import annotations

from typing import Any

import torch

_kept: list[Any] = []


def install() -> None:
    """Once in a process, after AITER and vLLM are imported."""
    torch.ops._C_cache_ops.reshape_and_cache_flash = write_cache
    torch.ops._C.merge_attn_states = merge
    library = torch.library.Library("aiter", "IMPL")
    library.impl("paged_attention_v1", _paged_attention_v1, "CPU")
    _kept.append(library)  # the implementation ends with it


def _paged_attention_v1(*arguments: Any) -> Any:
    import aiter

    return aiter.ops.attention.paged_attention_v1(*arguments)


def write_cache(
    key: torch.Tensor, value: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor,
    slot_mapping: torch.Tensor, kv_cache_dtype: str, k_scale: torch.Tensor, v_scale: torch.Tensor,
) -> None:
    """reshape_and_cache_flash.

    Args:
        key, value: (rows, kv_heads, dim). key_cache, value_cache: (blocks, block, kv_heads, dim).
        slot_mapping: (tokens,); a negative slot is not written.
    """
    if kv_cache_dtype != "auto":
        raise NotImplementedError(f"a cache of {kv_cache_dtype} is not served here; expected auto")
    live = slot_mapping >= 0
    blocks, places = (slot_mapping[live] // key_cache.shape[1],
                      slot_mapping[live] % key_cache.shape[1])
    for new, cache in ((key, key_cache), (value, value_cache)):
        cache[blocks, places] = new[:slot_mapping.numel()][live]


def merge(
    output: torch.Tensor, output_lse: torch.Tensor | None, prefix_output: torch.Tensor,
    prefix_lse: torch.Tensor, suffix_output: torch.Tensor, suffix_lse: torch.Tensor,
    prefill_tokens_with_context: int | None = None, output_scale: torch.Tensor | None = None,
) -> None:
    """merge_attn_states: two partial results by their log-sum-exp; a part without keys has -inf.

    Args:
        output, prefix_output, suffix_output: (rows, heads, dim). The LSE: (heads, rows) float32.
    """
    if prefill_tokens_with_context not in (None, output.shape[0]) or output_scale is not None:
        raise NotImplementedError("merge_attn_states of a part of the rows, or into fp8, is not "
                                  "served here")
    top = torch.maximum(prefix_lse, suffix_lse)
    top = torch.where(torch.isinf(top), torch.zeros_like(top), top)
    first, second = torch.exp(prefix_lse - top), torch.exp(suffix_lse - top)
    total = first + second
    safe = torch.where(total > 0, total, torch.ones_like(total))
    merged = sum((part.float() * (weight / safe).T[..., None])
                 for part, weight in ((prefix_output, first), (suffix_output, second)))
    output.copy_(merged.to(output.dtype))
    if output_lse is not None:
        output_lse.copy_(torch.log(total) + top)
