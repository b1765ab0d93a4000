"""AITER's size queries and planners, bit for bit, on arrays that the caller allocates.

For tests that stand where `aiter.get_mla_metadata_info_v1` and its relatives stand. For a plan of a
case or of lengths in one call, see `mla_testbed.plan`.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _library, _options, _structs
from ._tensors import check_apart, describe
from .errors import UsageError

if TYPE_CHECKING:
    from .array_types import Array, Int32Array, UInt64Array


class BufferSizes(NamedTuple):
    """Elements of the six buffers of a plan.

    Attributes:
        work_meta_data: uint64 words, 2.
        work_indptr: int32 elements.
        work_items: records of 8 int32; the shape of `work_info_set` is (work_items, 8).
        reduce_indptr: int32 elements.
        reduce_final_rows: pairs of int32; the shape of `reduce_final_map` is (.., 2).
        reduce_partial_map: int32 elements.
    """

    work_meta_data: int
    work_indptr: int
    work_items: int
    reduce_indptr: int
    reduce_final_rows: int
    reduce_partial_map: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of each buffer, in the order of AITER's size query."""
        return {
            "work_meta_data": (self.work_meta_data,),
            "work_indptr": (self.work_indptr,),
            "work_info_set": (self.work_items, 8),
            "reduce_indptr": (self.reduce_indptr,),
            "reduce_final_map": (self.reduce_final_rows, 2),
            "reduce_partial_map": (self.reduce_partial_map,),
        }


#: What elements hold that were never written: no valid index, offset or count.
POISON = np.int32(-0x5EADBEEF)


class PlanBuffers(NamedTuple):
    """The six buffers of a plan, as arrays of numpy. Planners also fill six tensors of torch."""

    work_meta_data: UInt64Array
    work_indptr: Int32Array
    work_info_set: Int32Array
    reduce_indptr: Int32Array
    reduce_final_map: Int32Array
    reduce_partial_map: Int32Array


def allocate(sizes: BufferSizes) -> PlanBuffers:
    """Six numpy arrays of these sizes, full of POISON, so that what is not written is seen."""
    shapes = sizes.shapes()
    meta = np.zeros(shapes.pop("work_meta_data"), np.uint64)
    return PlanBuffers(meta, *(np.full(shape, POISON, np.int32) for shape in shapes.values()))


def _sizes(function: str, query: Any) -> BufferSizes:
    out = _structs.BufferSizes()
    _library.check(getattr(_library.load(), function)(ctypes.byref(query), ctypes.byref(out)))
    return BufferSizes(*(getattr(out, field) for field in BufferSizes._fields))


def decode_sizes(
    batch_size: int,
    max_seqlen_qo: int,
    num_head_qo: int,
    q_dtype: Any = "bf16",
    kv_dtype: Any = "bf16",
    *,
    is_sparse: bool = False,
    fast_mode: bool = True,
    num_kv_splits: int = 32,
    intra_batch_mode: bool = False,
    max_split_per_batch: int = -1,
    arch: str = "gfx942",
    compute_units: int | None = None,
    experimental: bool = False,
) -> BufferSizes:
    """What `aiter.get_mla_metadata_info_v1` answers on a machine with this architecture.

    Args:
        batch_size: requests.
        max_seqlen_qo: query rows of the longest request.
        num_head_qo: query heads of the rank, a multiple of 8.
        q_dtype, kv_dtype: "bf16" or "fp8", or a torch or ml_dtypes dtype of these.
        arch: "gfx942" or "gfx950".
        compute_units: of the device; None: those of MI300X (304) or MI355X (256).
        experimental: AITER_ENABLE_EXPERIMENTAL.

    Raises:
        UsageError, UnsupportedError: a value that the query cannot work with.
    """
    return _sizes("mla_decode_sizes", _library.filled(
        _structs.DecodeSizeQuery, "mla_decode_size_query_defaults",
        arch=_options.arch_number(arch),
        compute_units=_options.compute_units_of(arch, compute_units), batch_size=batch_size,
        max_seqlen_qo=max_seqlen_qo, num_head_qo=num_head_qo,
        q_dtype=_options.dtype_number(q_dtype, "q_dtype"),
        kv_dtype=_options.dtype_number(kv_dtype, "kv_dtype"), is_sparse=is_sparse,
        fast_mode=fast_mode, num_kv_splits=num_kv_splits, intra_batch_mode=intra_batch_mode,
        max_split_per_batch=max_split_per_batch, experimental=experimental))


def prefill_sizes(
    batch_size: int,
    num_head_k: int,
    max_qlen: int,
    qlen_granularity: int = 256,
    *,
    compute_units: int = 304,
) -> BufferSizes:
    """What `aiter.get_ps_metadata_info_v1` answers.

    Args:
        batch_size: requests.
        num_head_k: KV heads.
        max_qlen: query rows of the longest request.
        qlen_granularity: query rows of a tile.
        compute_units: of the device.

    Raises:
        UsageError, UnsupportedError: a value that the query cannot work with.
    """
    return _sizes("mla_prefill_sizes", _library.filled(
        _structs.PrefillSizeQuery, "mla_prefill_size_query_defaults", batch_size=batch_size,
        num_head_k=num_head_k, max_qlen=max_qlen, qlen_granularity=qlen_granularity,
        compute_units=compute_units))


_SIX_POINTERS = struct.Struct("6P")


#: Lists of a planner call, which share no memory with its buffers.
_DECODE_LISTS = ("seqlens_qo_indptr", "seqlens_kv_indptr", "kv_last_page_lens")
_PREFILL_LISTS = ("seqlens_qo_indptr", "pages_kv_indptr", "context_lens")
#: What the planners call these lists.
_DECODE_NAMES = {"qo_indptr": "seqlens_qo_indptr", "kv_indptr": "seqlens_kv_indptr",
                 "last_page_len": "kv_last_page_lens"}
_PREFILL_NAMES = {"qo_indptr": "seqlens_qo_indptr", "kv_indptr": "pages_kv_indptr"}


def _buffers(buffers: PlanBuffers | Sequence[Array | None], names: tuple[str, ...],
             lists: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    """The struct of six pointers, and what has to stay alive for it."""
    if not isinstance(buffers, (tuple, list)) or len(buffers) != len(PlanBuffers._fields):
        found = f"{len(buffers)} arrays" if isinstance(buffers, (tuple, list)) else repr(buffers)
        raise UsageError(f"buffers is {found}; expected the six of a plan, "
                         f"{', '.join(PlanBuffers._fields)}")
    described = [None if tensor is None else describe(tensor, name, written=True)
                 for name, tensor in zip(PlanBuffers._fields, buffers, strict=True)]
    check_apart((*names, *PlanBuffers._fields), [*lists, *described], PlanBuffers._fields)
    addresses = (0 if d is None else ctypes.addressof(d) for d in described)
    return _structs.PlanBuffers.from_buffer_copy(_SIX_POINTERS.pack(*addresses)), described


#: Options of a planner call by AITER's names, with the values they have where they are left out;
#: `num_cu` None is the product's number of compute units.
PLAN_DEFAULTS: dict[str, Any] = {
    "num_heads_per_head_k": 16, "num_heads_k": 1, "is_causal": True, "page_size": 1,
    "kv_granularity": 16, "max_seqlen_qo": -1, "uni_seqlen_qo": -1, "fast_mode": True, "topk": -1,
    "max_split_per_batch": -1, "intra_batch_mode": False, "is_cp_round_robin": False,
    "dtype_q": "bf16", "dtype_kv": "bf16", "arch": "gfx942", "num_cu": None,
}

_V12_KERNELS = {"automatic": 0, "serial": 1, "parallel": 2}


@functools.lru_cache(maxsize=1024, typed=True)  # 1.0 is no page size, although it equals 1
def _decode_options(
    arch: str, compute_units: int | None, num_heads_per_head_k: int, num_heads_k: int,
    is_causal: bool, page_size: int, kv_granularity: int, max_seqlen_qo: int, uni_seqlen_qo: int,
    fast_mode: bool, topk: int, max_split_per_batch: int, intra_batch_mode: bool,
    is_cp_round_robin: bool, dtype_q: Any, dtype_kv: Any, experimental: bool, kernel: str,
    as_aiter: bool,
) -> bytes:
    """The options of a call, which are the same step after step."""
    if not isinstance(kernel, str) or kernel not in _V12_KERNELS:
        raise UsageError(f"kernel is '{kernel}'; expected {', '.join(_V12_KERNELS)}")
    return bytes(_library.filled(
        _structs.DecodePlanOptions, "mla_decode_plan_defaults",
        arch=_options.arch_number(arch),
        compute_units=_options.compute_units_of(arch, compute_units),
        num_heads_per_head_k=num_heads_per_head_k, num_heads_k=num_heads_k, is_causal=is_causal,
        page_size=page_size, kv_granularity=kv_granularity, max_seqlen_qo=max_seqlen_qo,
        uni_seqlen_qo=uni_seqlen_qo, fast_mode=fast_mode, topk=topk,
        max_split_per_batch=max_split_per_batch, intra_batch_mode=intra_batch_mode,
        is_cp_round_robin=is_cp_round_robin,
        dtype_q=_options.dtype_number(dtype_q, "dtype_q"),
        dtype_kv=_options.dtype_number(dtype_kv, "dtype_kv"), experimental=experimental,
        v12_kernel=_V12_KERNELS[kernel], as_aiter=as_aiter))


def plan_decode(
    seqlens_qo_indptr: Array,
    seqlens_kv_indptr: Array,
    kv_last_page_lens: Array,
    num_heads_per_head_k: int,
    num_heads_k: int,
    is_causal: bool,
    buffers: PlanBuffers | Sequence[Array | None],
    *,
    page_size: int = 1,
    kv_granularity: int = 16,
    max_seqlen_qo: int = -1,
    uni_seqlen_qo: int = -1,
    fast_mode: bool = True,
    topk: int = -1,
    max_split_per_batch: int = -1,
    intra_batch_mode: bool = False,
    is_cp_round_robin: bool = False,
    dtype_q: Any = "bf16",
    dtype_kv: Any = "bf16",
    arch: str = "gfx942",
    compute_units: int | None = None,
    experimental: bool = False,
    kernel: str = "automatic",
    as_aiter: bool = False,
) -> None:
    """Plans a decode step into `buffers`, element for element as `aiter.get_mla_metadata_v1`.

    Elements that the original leaves alone keep what they hold. `work_meta_data` receives the
    addresses of `work_indptr` and `work_info_set`, and is valid as long as these live.

    Args:
        seqlens_qo_indptr: (batch + 1) int32, running sum of query rows.
        seqlens_kv_indptr: (batch + 1) int32, running sum of pages.
        kv_last_page_lens: (batch) int32, tokens in the last page of each request.
        num_heads_per_head_k: query heads that share a KV head.
        num_heads_k: KV heads.
        is_causal: whether rows see only the keys before them.
        buffers: six contiguous arrays, as large as `decode_sizes` says, none of which shares memory
            with another or with a list.
        page_size: tokens of a page, a power of two.
        kv_granularity: pages that are planned as one, a power of two.
        max_seqlen_qo, uni_seqlen_qo: rows of the longest request; of every request, or -1.
        fast_mode, intra_batch_mode: planner v1.2; without it v1.0 (intra-batch) or v1.1.
        topk: tokens of a row in sparse attention; -1: dense.
        max_split_per_batch: pieces of a request on average; -1: no cap.
        is_cp_round_robin: keys are dealt out over ranks, so nothing is trimmed.
        kernel: of v1.2, "automatic", "serial" or "parallel".
        as_aiter: repeat the original where it is broken, instead of refusing.
        The others as in `decode_sizes`.

    Raises:
        UsageError: options or lists that no planner can digest.
        UnsupportedError: what AITER refuses.
        RefusedError: what AITER takes and gets wrong, with `bug`.
        OverrunError: a buffer is too small; without `as_aiter` nothing has been written.
        TensorError: an array of another dtype, shape or layout.
    """
    values = (arch, compute_units, num_heads_per_head_k, num_heads_k, is_causal, page_size,
              kv_granularity, max_seqlen_qo, uni_seqlen_qo, fast_mode, topk, max_split_per_batch,
              intra_batch_mode, is_cp_round_robin, dtype_q, dtype_kv, experimental, kernel,
              as_aiter)
    try:
        filled = _decode_options(*values)
    except TypeError:  # a value that cannot be kept, such as a list: refused by name
        filled = _decode_options.__wrapped__(*values)
    options = _structs.DecodePlanOptions.from_buffer_copy(filled)
    lists = (describe(seqlens_qo_indptr, "seqlens_qo_indptr"),
             describe(seqlens_kv_indptr, "seqlens_kv_indptr"),
             describe(kv_last_page_lens, "kv_last_page_lens"))
    six, _alive = _buffers(buffers, _DECODE_LISTS, lists)
    qo, kv, last = lists
    with _library.named(_DECODE_NAMES):
        _library.check(_library.load().mla_plan_decode(
            ctypes.byref(options), ctypes.byref(qo), ctypes.byref(kv), ctypes.byref(last),
            ctypes.byref(six)))


def plan_prefill(
    seqlens_qo_indptr: Array,
    pages_kv_indptr: Array,
    context_lens: Array,
    gqa_ratio: int,
    num_heads_k: int,
    buffers: PlanBuffers | Sequence[Array | None],
    *,
    qhead_granularity: int = 1,
    qlen_granularity: int = 256,
    kvlen_granularity: int = 16,
    block_size: int = 16,
    is_causal: bool = True,
    compute_units: int = 304,
    as_aiter: bool = False,
) -> None:
    """Plans a prefill step into `buffers`, element for element as `aiter.get_ps_metadata_v1`.

    Args:
        seqlens_qo_indptr: (batch + 1) int32, running sum of query rows, in host memory.
        pages_kv_indptr: (batch + 1) int32, running sum of pages, in host memory.
        context_lens: (batch) int32, tokens of each request, the new ones included, in host memory.
        gqa_ratio: query heads of a KV head; the plan does not depend on it.
        num_heads_k: KV heads.
        buffers: as large as `prefill_sizes` says; `work_meta_data` is left alone and may be None.
        qhead_granularity: query heads of one work.
        qlen_granularity: query rows of a tile.
        kvlen_granularity: tokens of a unit of keys, a power of two.
        block_size: tokens of a page.
        compute_units, as_aiter: as in `plan_decode`.

    Raises: as `plan_decode`.
    """
    options = _library.filled(
        _structs.PrefillPlanOptions, "mla_prefill_plan_defaults", compute_units=compute_units,
        gqa_ratio=gqa_ratio, num_heads_k=num_heads_k, qhead_granularity=qhead_granularity,
        qlen_granularity=qlen_granularity, kvlen_granularity=kvlen_granularity,
        block_size=block_size, is_causal=is_causal, as_aiter=as_aiter)
    lists = (describe(seqlens_qo_indptr, "seqlens_qo_indptr"),
             describe(pages_kv_indptr, "pages_kv_indptr"),
             describe(context_lens, "context_lens"))
    six, _alive = _buffers(buffers, _PREFILL_LISTS, lists)
    with _library.named(_PREFILL_NAMES):
        _library.check(_library.load().mla_plan_prefill(
            ctypes.byref(options), *(ctypes.byref(one) for one in lists), ctypes.byref(six)))
