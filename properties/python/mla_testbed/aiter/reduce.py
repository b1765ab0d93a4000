"""module_mla_reduce: the merge of partial results."""

from __future__ import annotations

import ctypes

import numpy as np

from .. import _library, _structs
from ..errors import FaultError, UnsupportedError
from . import session
from .operation import _set_current_hip_stream, aiter_tensor_t, operation

__all__ = ["_set_current_hip_stream", "mla_reduce_v1"]

#: Heads for which AITER compiles the kernel, by the values of a head; anything else aborts there.
HEADS = {
    64: (64,),
    128: (1, 2, 4, 8, 10, 16, 32, 40, 48, 64, 96, 128),
    512: (8, 16, 24, 32, 48, 64, 80, 96, 112, 128),
}


@operation
def mla_reduce_v1(
    partial_output: aiter_tensor_t, partial_lse: aiter_tensor_t, reduce_indptr: aiter_tensor_t,
    reduce_final_map: aiter_tensor_t | None, reduce_partial_map: aiter_tensor_t,
    max_seqlen_q: int, num_kv_splits: int, final_output: aiter_tensor_t,
    final_lse: aiter_tensor_t | None = None,
) -> None:
    """Merges the partial results of each tile into the output."""
    heads = partial_output.shape[max(partial_output.ndim - 2, 0)]
    values = final_output.shape[max(final_output.ndim - 1, 0)]
    if heads not in HEADS.get(values, ()):
        raise UnsupportedError(f"mla_reduce_v1 has no kernel for {heads} heads of {values} values")
    tensors = _structs.ReduceTensors(*(
        None if tensor is None else ctypes.pointer(_structs.Tensor.from_buffer(tensor))
        for tensor in (partial_output, partial_lse, reduce_indptr, reduce_final_map,
                       reduce_partial_map, final_output, final_lse)))
    _library.check(_library.load().mla_reduce(session.arch_number(), ctypes.byref(tensors)))
    _check_room(reduce_indptr, max(session.compute_units(), num_kv_splits))


def _check_room(reduce_indptr: aiter_tensor_t, most: int) -> None:
    """The kernel's LDS has room for so many pieces of a tile; beyond, it writes over others."""
    if reduce_indptr.numel < 2:
        return
    bounds = np.ctypeslib.as_array(
        ctypes.cast(reduce_indptr.ptr, ctypes.POINTER(ctypes.c_int32)), (reduce_indptr.numel,))
    pieces = np.diff(bounds)
    tile = int(pieces.argmax())
    if pieces[tile] > most:
        raise FaultError(
            f"mla_reduce_v1: reduce tile {tile} has {pieces[tile]} pieces, and the kernel's LDS "
            f"has room for {most} (compute units, or num_kv_splits if that is more)")
