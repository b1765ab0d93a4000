"""vLLM's compiled operations that its AITER FA backend and its MLA prefill call, and that an
installation without kernels lacks; and AITER's paged attention for tensors of the CPU."""

from __future__ import annotations

from typing import Any

import torch

from ...errors import FaultError

_kept: list[Any] = []


def install() -> None:
    """Once in a process, after AITER and vLLM are imported."""
    torch.ops._C_cache_ops.reshape_and_cache_flash = write_cache
    torch.ops._C_cache_ops.gather_and_maybe_dequant_cache = gather
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


def gather(
    src_cache: torch.Tensor, dst: torch.Tensor, block_table: torch.Tensor,
    cu_seq_lens: torch.Tensor, token_to_seq: torch.Tensor, num_tokens: int, kv_cache_dtype: str,
    scale: torch.Tensor, seq_starts: torch.Tensor | None = None,
) -> None:
    """gather_and_maybe_dequant_cache: latent rows of several requests, one after the other.

    Args:
        src_cache: (blocks, block, 576). dst: (tokens, 576). block_table: (requests, columns).
        cu_seq_lens: (requests + 1). token_to_seq: (tokens,). seq_starts: (requests,) first key.

    Raises:
        FaultError: a row is read or written outside of its tensor.
    """
    if num_tokens > dst.shape[0]:
        raise FaultError(f"gather_and_maybe_dequant_cache: {num_tokens} tokens; dst has "
                         f"{dst.shape[0]}")
    starts = torch.zeros_like(cu_seq_lens[:-1]) if seq_starts is None else seq_starts
    slots = slots_of(block_table, cu_seq_lens, starts, token_to_seq[:num_tokens],
                     src_cache.shape[1])
    if slots.numel() and not 0 <= int(slots.min()) <= int(slots.max()) < (
            src_cache.shape[0] * src_cache.shape[1]):
        raise FaultError(f"gather_and_maybe_dequant_cache: reads slots {int(slots.min())} to "
                         f"{int(slots.max())}; the cache has {src_cache.shape[0]} blocks")
    rows = src_cache.reshape(-1, src_cache.shape[-1])[slots]
    if kv_cache_dtype.startswith("fp8"):
        rows = rows.float() * scale.float()
    dst[:num_tokens] = rows.to(dst.dtype)


def slots_of(
    table: torch.Tensor, sums: torch.Tensor, starts: torch.Tensor, owners: torch.Tensor, block: int
) -> torch.Tensor:
    """Where the kernel finds each token: (tokens,) int64 slots; -1 outside of the table."""
    owner = owners.long()
    known = (owner >= 0) & (owner < starts.numel())
    owner = torch.where(known, owner, torch.zeros_like(owner))
    place = torch.arange(owner.numel(), device=owner.device) - sums.long()[owner]
    key = starts.long()[owner] + place
    column = torch.div(key, block, rounding_mode="floor")
    known &= (key >= 0) & (column < table.shape[1])
    column = torch.where(known, column, torch.zeros_like(column))
    slots = table.long()[owner, column] * block + key % block
    return torch.where(known, slots, torch.full_like(slots, -1))


def merge(
    output: torch.Tensor, output_lse: torch.Tensor | None, prefix_output: torch.Tensor,
    prefix_lse: torch.Tensor, suffix_output: torch.Tensor, suffix_lse: torch.Tensor,
    prefill_tokens_with_context: int | None = None, output_scale: torch.Tensor | None = None,
) -> None:
    """merge_attn_states: two partial results by their log-sum-exp; a part without keys has -inf.

    Args:
        output, prefix_output, suffix_output: (rows, heads, dim). The LSE: (heads, rows) float32.
        prefill_tokens_with_context: rows from this one on have no prefix.
    """
    if output_scale is not None:
        raise NotImplementedError("merge_attn_states into fp8 is not served here")
    if prefill_tokens_with_context is not None:
        prefix_lse = prefix_lse.clone()
        prefix_lse[:, prefill_tokens_with_context:] = -torch.inf
        prefix_output = prefix_output.clone()
        prefix_output[prefill_tokens_with_context:] = 0
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
