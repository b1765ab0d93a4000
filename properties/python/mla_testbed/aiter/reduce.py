"""module_mla_reduce: the merge of partial results."""

from __future__ import annotations

import ctypes

from .. import _library
from . import entries
from .operation import _set_current_hip_stream, aiter_tensor_t, operation

__all__ = ["_set_current_hip_stream", "mla_reduce_v1"]


@operation
def mla_reduce_v1(
    partial_output: aiter_tensor_t, partial_lse: aiter_tensor_t, reduce_indptr: aiter_tensor_t,
    reduce_final_map: aiter_tensor_t | None, reduce_partial_map: aiter_tensor_t,
    max_seqlen_q: int, num_kv_splits: int, final_output: aiter_tensor_t,
    final_lse: aiter_tensor_t | None = None,
) -> None:
    """Merges the partial results of each tile into the output."""
    _library.check(entries.load().mla_aiter_reduce_v1(
        partial_output, partial_lse, reduce_indptr, reduce_final_map, reduce_partial_map,
        ctypes.c_int64(max_seqlen_q), ctypes.c_int64(num_kv_splits), final_output, final_lse))
