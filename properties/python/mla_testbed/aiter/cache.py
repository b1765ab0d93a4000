"""module_cache: what writes tokens into the cache."""

from __future__ import annotations

import ctypes

from .. import _library, _structs
from . import session
from .operation import _set_current_hip_stream, aiter_tensor_t, operation

__all__ = ["_set_current_hip_stream", "concat_and_cache_mla",
           "fused_qk_rope_concat_and_cache_mla", "fused_qk_rope_concat_and_cache_mla_seg"]


@operation
def concat_and_cache_mla(
    kv_c: aiter_tensor_t, k_pe: aiter_tensor_t, kv_cache: aiter_tensor_t,
    slot_mapping: aiter_tensor_t, kv_cache_dtype: str, scale: aiter_tensor_t,
) -> None:
    """Writes latents and rope of each token into its slot; negative slots are padding."""
    if kv_cache.dtype == _U8 and kv_cache_dtype.startswith("fp8"):
        kv_cache.dtype = _FP8  # AITER passes a cache of bytes for fp8
    _library.check(_library.load().mla_concat_and_cache(
        session.arch_number(), kv_c, k_pe, kv_cache, slot_mapping, kv_cache_dtype.encode(), scale))


@operation
def fused_qk_rope_concat_and_cache_mla(
    q_nope: aiter_tensor_t, q_pe: aiter_tensor_t, kv_c: aiter_tensor_t, k_pe: aiter_tensor_t,
    kv_cache: aiter_tensor_t, q_out: aiter_tensor_t, slot_mapping: aiter_tensor_t,
    k_scale: aiter_tensor_t, q_scale: aiter_tensor_t, positions: aiter_tensor_t,
    cos_cache: aiter_tensor_t, sin_cache: aiter_tensor_t, is_neox: bool, is_nope_first: bool,
    compute_all_q_rope: bool = False,
) -> None:
    """Rotates new tokens; keys go into the cache, queries into q_out."""
    _rope_and_cache(
        (q_nope, q_pe, kv_c, k_pe, kv_cache, q_out, slot_mapping, k_scale, q_scale, positions,
         cos_cache, sin_cache),
        is_neox=is_neox, is_nope_first=is_nope_first, compute_all_q_rope=compute_all_q_rope)


@operation
def fused_qk_rope_concat_and_cache_mla_seg(
    q_nope: aiter_tensor_t, q_pe: aiter_tensor_t, kv_c: aiter_tensor_t, k_pe: aiter_tensor_t,
    kv_cache: aiter_tensor_t, q_out: aiter_tensor_t, slot_mapping: aiter_tensor_t,
    k_scale: aiter_tensor_t, q_scale: aiter_tensor_t, positions: aiter_tensor_t,
    cos_cache: aiter_tensor_t, sin_cache: aiter_tensor_t, is_neox: bool,
    is_nope_first: bool = True,
) -> None:
    """The same into pages of 64 tokens whose rope parts lie after all latent parts."""
    _rope_and_cache(
        (q_nope, q_pe, kv_c, k_pe, kv_cache, q_out, slot_mapping, k_scale, q_scale, positions,
         cos_cache, sin_cache),
        is_neox=is_neox, is_nope_first=is_nope_first, segmented=True)


def _rope_and_cache(tensors: tuple[aiter_tensor_t, ...], **choices: bool) -> None:
    options = _library.filled(_structs.RopeCacheOptions, "mla_rope_cache_defaults",
                              arch=session.arch_number(), **choices)
    struct = _structs.RopeCacheTensors(*(
        ctypes.pointer(_structs.Tensor.from_buffer(tensor)) for tensor in tensors))
    _library.check(_library.load().mla_rope_and_cache(ctypes.byref(options), ctypes.byref(struct)))


_U8, _FP8 = 11, 0
