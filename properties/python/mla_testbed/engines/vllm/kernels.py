"""vLLM's compiled operations that a whole engine calls, in plain torch, by vLLM's schemas.

An installation without kernels lacks them. Each use is counted, so that a report can say what of a
run was not the engine's or AITER's own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import torch

from ...errors import FaultError
from ...world import notes
from .. import plain
from . import operations

_kept: list[Any] = []

#: Operations that speculation's imports ask for by name, and that nothing here calls.
_NEVER_CALLED = (
    "dynamic_scaled_fp8_quant(Tensor! result, Tensor input, Tensor! scale) -> ()",
    "dynamic_per_token_scaled_fp8_quant(Tensor! result, Tensor input, Tensor! scale, "
    "Tensor? scale_ub) -> ()",
    "silu_and_mul_quant(Tensor! result, Tensor input, Tensor scale) -> ()",
    "rms_norm_static_fp8_quant(Tensor! result, Tensor input, Tensor weight, Tensor scale, "
    "float epsilon) -> ()",
    "fused_add_rms_norm_static_fp8_quant(Tensor! result, Tensor input, Tensor! residual, "
    "Tensor weight, Tensor scale, float epsilon) -> ()",
    "rms_norm_dynamic_per_token_quant(Tensor! result, Tensor input, Tensor weight, Tensor! scale, "
    "float epsilon, Tensor? scale_ub, Tensor!? residual) -> ()",
    "rms_norm_per_block_quant(Tensor! result, Tensor input, Tensor weight, Tensor! scale, "
    "float epsilon, Tensor? scale_ub, Tensor!? residual, int group_size, bool is_scale_transposed)"
    " -> ()",
    "fused_qk_norm_rope(Tensor! qkv, int num_heads_q, int num_heads_k, int num_heads_v, "
    "int head_dim, float eps, Tensor q_weight, Tensor k_weight, Tensor cos_sin_cache, "
    "bool is_neox, Tensor position_ids) -> ()",
    "silu_and_mul_per_block_quant(Tensor! out, Tensor input, Tensor! scales, int group_size, "
    "Tensor? scale_ub, bool is_scale_transposed) -> ()",
)


def rotary_embedding(
    positions: torch.Tensor, query: torch.Tensor, key: torch.Tensor | None, head_size: int,
    cos_sin_cache: torch.Tensor, is_neox: bool, rope_dim_offset: int = 0, inverse: bool = False,
) -> None:
    """Rotates elements of each head in place.

    Args:
        query, key: (rows, heads * head_size) or (rows, heads, head_size).
        cos_sin_cache: (positions, rotary elements): cosines, then sines.
    """
    turned = cos_sin_cache[positions.flatten()].float()
    cos, sin = (half[:, None, :] for half in turned.chunk(2, dim=-1))
    count = turned.shape[-1]
    for tensor in (query, key):
        if tensor is None:
            continue
        heads = tensor.view(positions.numel(), -1, head_size)
        part = heads[..., rope_dim_offset:rope_dim_offset + count]
        plain.turn(part, cos, -sin if inverse else sin, is_neox=is_neox)


def concat_and_cache_mla(
    kv_c: torch.Tensor, k_pe: torch.Tensor, kv_cache: torch.Tensor, slot_mapping: torch.Tensor,
    kv_cache_dtype: str, scale: torch.Tensor, skip_scale: bool = False,
) -> None:
    """Writes latent and rotary elements to their slots; a negative slot is not written.

    Args:
        kv_c: (rows, 512). k_pe: (rows, 64). kv_cache: (blocks, block, 576).
        slot_mapping: (tokens,), of which there may be fewer than rows.

    Raises:
        FaultError: a slot is past the end of the cache.
    """
    slots = slot_mapping.flatten()
    live = slots >= 0
    slots = slots[live]
    size = kv_cache.shape[0] * kv_cache.shape[1]
    if slots.numel() and int(slots.max()) >= size:
        raise FaultError(f"concat_and_cache_mla: writes slot {int(slots.max())}; the cache has "
                         f"{size}")
    rows = torch.cat((kv_c, k_pe.reshape(kv_c.shape[0], -1)), -1)[:live.numel()][live]
    if kv_cache_dtype.startswith("fp8"):
        values = rows.float() if skip_scale else rows.float() / scale.float()
        kind = _fp8()
        most = torch.finfo(kind).max
        kv_cache.view(torch.uint8)[slots // kv_cache.shape[1], slots % kv_cache.shape[1]] = (
            values.clamp(-most, most).to(kind).view(torch.uint8))
    else:
        kv_cache[slots // kv_cache.shape[1], slots % kv_cache.shape[1]] = rows.to(kv_cache.dtype)


def concat_mla_q(ql_nope: torch.Tensor, q_pe: torch.Tensor, q_out: torch.Tensor) -> None:
    """q_out = [ql_nope, q_pe], (rows, heads, 512 and 64 elements)."""
    q_out[..., :ql_nope.shape[-1]] = ql_nope
    q_out[..., ql_nope.shape[-1]:] = q_pe


def static_scaled_fp8_quant(result: torch.Tensor, input: torch.Tensor, scale: torch.Tensor,
                            group_shape: Any = None) -> None:
    """result = input / scale, saturated. One scale."""
    most = torch.finfo(result.dtype).max
    result.copy_((input.float() / scale.float().reshape(-1)[0]).clamp(-most, most).to(result.dtype))


def per_token_group_fp8_quant(
    input: torch.Tensor, output_q: torch.Tensor, output_s: torch.Tensor, group_size: int,
    eps: float, fp8_min: float, fp8_max: float, scale_ue8m0: bool, transposed: bool, tma: bool,
) -> None:
    """Each group of a row with a scale of its own. vLLM 0.30's indexer quantises its query by it.

    Args:
        input, output_q: (…, elements). output_s: (…, groups), strided as it may be.
        scale_ue8m0: scales are powers of two. transposed, tma: say how output_s is strided.
    """
    groups = input.float().unflatten(-1, (-1, group_size))
    scale = groups.abs().amax(-1).clamp(min=eps) / fp8_max
    if scale_ue8m0:
        scale = torch.exp2(torch.ceil(torch.log2(scale.clamp(min=1e-10))))
    output_s.copy_(scale)
    output_q.copy_((groups / scale[..., None]).clamp(fp8_min, fp8_max).flatten(-2)
                   .to(output_q.dtype))


def device_view(cpu_tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of the device over the bytes of pinned memory, as a GPU maps them."""
    if cpu_tensor.numel() == 0:
        return notes.note(torch.empty_like(cpu_tensor), notes.DEVICE)
    size = cpu_tensor.untyped_storage().nbytes()
    memory = (ctypes.c_char * size).from_address(cpu_tensor.untyped_storage().data_ptr())
    memory.owner = cpu_tensor  # type: ignore[attr-defined] # lives as long as the view
    flat = torch.frombuffer(memory, dtype=cpu_tensor.dtype)
    made = flat.as_strided(cpu_tensor.shape, cpu_tensor.stride(), cpu_tensor.storage_offset())
    return notes.note(made, notes.DEVICE)


_SERVED: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("_C", "rms_norm(Tensor! result, Tensor input, Tensor? weight, float epsilon) -> ()",
     plain.rms_norm),
    ("_C", "fused_add_rms_norm(Tensor! input, Tensor! residual, Tensor? weight, float epsilon) "
     "-> ()", plain.fused_add_rms_norm),
    ("_C", "silu_and_mul(Tensor! result, Tensor input) -> ()", plain.silu_and_mul),
    ("_C", "rotary_embedding(Tensor positions, Tensor! query, Tensor!? key, int head_size, "
     "Tensor cos_sin_cache, bool is_neox, int rope_dim_offset=0, bool inverse=False) -> ()",
     rotary_embedding),
    ("_C", "static_scaled_fp8_quant(Tensor! result, Tensor input, Tensor scale, "
     "(int, int)? group_shape=None) -> ()", static_scaled_fp8_quant),
    ("_C", "per_token_group_fp8_quant(Tensor input, Tensor! output_q, Tensor! output_s, "
     "int group_size, float eps, float fp8_min, float fp8_max, bool scale_ue8m0, "
     "bool dummy_is_scale_transposed, bool dummy_is_tma_aligned) -> ()",
     per_token_group_fp8_quant),
    ("_C_cache_ops", "concat_and_cache_mla(Tensor kv_c, Tensor k_pe, Tensor! kv_cache, "
     "Tensor slot_mapping, str kv_cache_dtype, Tensor scale, bool skip_scale=False) -> ()",
     concat_and_cache_mla),
    ("_C_cache_ops", "concat_mla_q(Tensor ql_nope, Tensor q_pe, Tensor! q_out) -> ()",
     concat_mla_q),
    ("_rocm_C", "wvSplitK(Tensor in_a, Tensor in_b, Tensor? in_bias, int CuCount) -> Tensor",
     lambda a, b, bias, units: plain.linear(a, b, bias)),
    ("_rocm_C", "wvSplitKrc(Tensor in_a, Tensor in_b, Tensor? in_bias, int CuCount) -> Tensor",
     lambda a, b, bias, units: plain.linear(b, a, bias)),
    ("_rocm_C", "LLMM1(Tensor in_a, Tensor in_b, int rows_per_block) -> Tensor",
     lambda a, b, rows: plain.linear(a, b)),
)


def install() -> None:
    """Once in a process, inside a stage, after AITER and vLLM are imported."""
    operations.install()
    for namespace, schema, body in _SERVED:
        define(namespace, schema, plain.counted(schema.partition("(")[0], body))
    for schema in _NEVER_CALLED:
        define("_C", schema, None)
    torch.ops._C.get_cuda_view_from_cpu_tensor = device_view


def define(namespace: str, schema: str, body: Callable[..., Any] | None) -> None:
    """An operation of a compiled module that is not here; without a body it cannot be called."""
    name = schema.partition("(")[0]
    if hasattr(getattr(torch.ops, namespace), name):
        return
    library = torch.library.Library(namespace, "FRAGMENT")
    library.define(schema.replace("(int, int)?", "int[]?"))
    if body is not None:
        library.impl(name, body, "CPU")
    _kept.append(library)  # what it defines ends with it


def _fp8() -> torch.dtype:
    import aiter

    kind: torch.dtype = aiter.dtypes.fp8
    return kind
