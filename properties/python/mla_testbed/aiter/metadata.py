"""module_mla_metadata and module_ps_metadata: AITER's planners."""

from __future__ import annotations

import ctypes
from typing import Any

from .. import _library, _structs
from . import session
from .operation import _set_current_hip_stream, aiter_tensor_t, operation

__all__ = ["_set_current_hip_stream", "get_mla_metadata_v1", "get_ps_metadata_v1"]

BF16 = 3
V32 = 0


@operation
def get_mla_metadata_v1(
    seqlens_qo_indptr: aiter_tensor_t, seqlens_kv_indptr: aiter_tensor_t,
    kv_last_page_lens: aiter_tensor_t, num_heads_per_head_k: int, num_heads_k: int,
    is_causal: bool, work_metadata_ptrs: aiter_tensor_t, work_info_set: aiter_tensor_t,
    work_indptr: aiter_tensor_t, reduce_indptr: aiter_tensor_t, reduce_final_map: aiter_tensor_t,
    reduce_partial_map: aiter_tensor_t, page_size: int = 1, kv_granularity: int = 16,
    max_seqlen_qo: int = -1, uni_seqlen_qo: int = -1, fast_mode: bool = True, topk: int = -1,
    max_split_per_batch: int = -1, intra_batch_mode: bool = False,
    is_cp_round_robin: bool = False, mla_version: int = 0, dtype_q_nope: int | None = None,
    dtype_q_rope: int | None = None, dtype_kv_nope: int | None = None,
    dtype_kv_rope: int | None = None,
) -> None:
    """Plans a decode step as AITER does, broken or not."""
    if mla_version != V32:
        raise RuntimeError(
            f"get_mla_metadata_v1: mla_version is {mla_version}; mla-testbed has 0 (V32) only")
    for name, nope, rope in (("q", dtype_q_nope, dtype_q_rope),
                             ("kv", dtype_kv_nope, dtype_kv_rope)):
        if rope is not None and rope != (BF16 if nope is None else nope):
            raise RuntimeError(
                f"get_mla_metadata_v1: dtype_{name}_rope is {rope} and dtype_{name}_nope is "
                f"{nope}; mla-testbed has equal ones only")
    options = _library.filled(
        _structs.DecodePlanOptions, "mla_decode_plan_defaults", arch=session.arch_number(),
        compute_units=session.compute_units(), num_heads_per_head_k=num_heads_per_head_k,
        num_heads_k=num_heads_k, is_causal=is_causal, page_size=page_size,
        kv_granularity=kv_granularity, max_seqlen_qo=max_seqlen_qo, uni_seqlen_qo=uni_seqlen_qo,
        fast_mode=fast_mode, topk=topk, max_split_per_batch=max_split_per_batch,
        intra_batch_mode=intra_batch_mode, is_cp_round_robin=is_cp_round_robin,
        dtype_q=BF16 if dtype_q_nope is None else dtype_q_nope,
        dtype_kv=BF16 if dtype_kv_nope is None else dtype_kv_nope,
        experimental=session.experimental(), as_aiter=True)
    buffers = _buffers(work_metadata_ptrs, work_indptr, work_info_set, reduce_indptr,
                       reduce_final_map, reduce_partial_map)
    _library.check(_library.load().mla_plan_decode(
        ctypes.byref(options), seqlens_qo_indptr, seqlens_kv_indptr, kv_last_page_lens,
        ctypes.byref(buffers)))


@operation
def get_ps_metadata_v1(
    seqlens_qo_indptr: aiter_tensor_t, pages_kv_indptr: aiter_tensor_t,
    context_lens: aiter_tensor_t, gqa_ratio: int, num_heads_k: int,
    work_metadata_ptrs: aiter_tensor_t, work_indptr: aiter_tensor_t, work_info: aiter_tensor_t,
    reduce_indptr: aiter_tensor_t, reduce_final_map: aiter_tensor_t,
    reduce_partial_map: aiter_tensor_t, qhead_granularity: int = 1, qlen_granularity: int = 256,
    kvlen_granularity: int = 1, block_size: int = 1, is_causal: bool = True,
) -> None:
    """Plans a prefill step as AITER does; the three lists are host memory.

    The results are copied to wherever the buffers are (hipMemcpyDefault): to the device, or to
    pinned memory from which an engine copies them later.
    """
    options = _library.filled(
        _structs.PrefillPlanOptions, "mla_prefill_plan_defaults",
        compute_units=session.compute_units(), gqa_ratio=gqa_ratio, num_heads_k=num_heads_k,
        qhead_granularity=qhead_granularity, qlen_granularity=qlen_granularity,
        kvlen_granularity=kvlen_granularity, block_size=block_size, is_causal=is_causal,
        as_aiter=True)
    buffers = _buffers(*map(_anywhere, (work_metadata_ptrs, work_indptr, work_info, reduce_indptr,
                                        reduce_final_map, reduce_partial_map)))
    _library.check(_library.load().mla_plan_prefill(
        ctypes.byref(options), seqlens_qo_indptr, pages_kv_indptr, context_lens,
        ctypes.byref(buffers)))


def _buffers(*tensors: aiter_tensor_t) -> Any:
    return _structs.PlanBuffers(*(ctypes.pointer(_base(tensor)) for tensor in tensors))


def _anywhere(tensor: aiter_tensor_t) -> aiter_tensor_t:
    """The same memory, called the device's."""
    copy = aiter_tensor_t.from_buffer_copy(tensor)
    copy.device_id = 0
    return copy


def _base(tensor: aiter_tensor_t) -> _structs.Tensor:
    return _structs.Tensor.from_buffer(tensor)
