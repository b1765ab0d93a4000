"""module_cache: what writes tokens into the cache."""

from __future__ import annotations

from .. import _library
from . import session
from .operation import _set_current_hip_stream, aiter_tensor_t, operation

__all__ = ["_set_current_hip_stream", "concat_and_cache_mla"]


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


_U8, _FP8 = 11, 0
