"""The structs of mla_testbed.h, field by field."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

ABI_VERSION = 2
MAX_DIMS = 8


class Tensor(ctypes.Structure):
    """aiter_tensor_t: 160 bytes. Beside them, where its elements begin and end in memory."""

    __slots__ = ("begin", "end")

    begin: int
    end: int
    _fields_ = [
        ("ptr", ctypes.c_void_p),
        ("numel", ctypes.c_size_t),
        ("ndim", ctypes.c_int),
        ("shape", ctypes.c_int64 * MAX_DIMS),
        ("strides", ctypes.c_int64 * MAX_DIMS),
        ("dtype", ctypes.c_int),
        ("device_id", ctypes.c_int),
    ]


class Array(ctypes.Structure):
    """mla_array: a tensor of a bundle."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int64),
        ("element_bytes", ctypes.c_int64),
        ("dims", ctypes.c_int64),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("data", ctypes.c_void_p),
    ]


def _struct(name: str, fields: Sequence[str], field_type: Any = ctypes.c_int64) -> Any:
    """A struct whose fields are all of one type, as the header promises."""
    return type(name, (ctypes.Structure,), {"_fields_": [(f, field_type) for f in fields]})


BufferSizes = _struct("BufferSizes", (
    "work_meta_data", "work_indptr", "work_items", "reduce_indptr", "reduce_final_rows",
    "reduce_partial_map"))

DecodeSizeQuery = _struct("DecodeSizeQuery", (
    "arch", "compute_units", "batch_size", "max_seqlen_qo", "num_head_qo", "q_dtype", "kv_dtype",
    "is_sparse", "fast_mode", "num_kv_splits", "intra_batch_mode", "max_split_per_batch",
    "experimental"))

PrefillSizeQuery = _struct("PrefillSizeQuery", (
    "compute_units", "batch_size", "num_head_k", "max_qlen", "qlen_granularity"))

PlanBuffers = _struct("PlanBuffers", (
    "work_meta_data", "work_indptr", "work_info_set", "reduce_indptr", "reduce_final_map",
    "reduce_partial_map"), ctypes.POINTER(Tensor))

DecodePlanOptions = _struct("DecodePlanOptions", (
    "arch", "compute_units", "num_heads_per_head_k", "num_heads_k", "is_causal", "page_size",
    "kv_granularity", "max_seqlen_qo", "uni_seqlen_qo", "fast_mode", "topk", "max_split_per_batch",
    "intra_batch_mode", "is_cp_round_robin", "dtype_q", "dtype_kv", "experimental", "v12_kernel",
    "as_aiter"))

PrefillPlanOptions = _struct("PrefillPlanOptions", (
    "compute_units", "gqa_ratio", "num_heads_k", "qhead_granularity", "qlen_granularity",
    "kvlen_granularity", "block_size", "is_causal", "as_aiter"))

Stage1Options = _struct("Stage1Options", (
    "arch", "max_seqlen_q", "page_size", "nhead_kv", "causal"))

Stage1Tensors = _struct("Stage1Tensors", (
    "q", "kv", "qo_indptr", "kv_indptr", "kv_page_indices", "kv_last_page_lens",
    "num_kv_splits_indptr", "work_meta_data", "work_indptr", "work_info_set", "split_data",
    "split_lse", "output", "lse", "q_scale", "kv_scale"), ctypes.POINTER(Tensor))

ReduceTensors = _struct("ReduceTensors", (
    "partial_output", "partial_lse", "reduce_indptr", "reduce_final_map", "reduce_partial_map",
    "final_output", "final_lse"), ctypes.POINTER(Tensor))

ReferenceResults = _struct("ReferenceResults", (
    "out", "out_bound", "lse", "lse_bound"), ctypes.c_void_p)

RopeCacheOptions = _struct("RopeCacheOptions", (
    "arch", "is_neox", "is_nope_first", "compute_all_q_rope", "segmented"))

RopeCacheTensors = _struct("RopeCacheTensors", (
    "q_nope", "q_pe", "kv_c", "k_pe", "kv_cache", "q_out", "slot_mapping", "k_scale", "q_scale",
    "positions", "cos_cache", "sin_cache"), ctypes.POINTER(Tensor))

PrefillTensors = _struct("PrefillTensors", (
    "q", "k", "v", "qo_indptr", "kv_indptr", "kv_page_indices", "work_indptr", "work_info_set",
    "split_data", "split_lse", "output", "q_scale", "k_scale", "v_scale"), ctypes.POINTER(Tensor))
