"""module_quant: casts to fp8 with a scale. Its other formats are refused by name."""

from __future__ import annotations

import numpy as np

from .. import _library
from ..errors import UnsupportedError
from . import arrays, session
from .operation import _set_current_hip_stream, aiter_tensor_t, operation

__all__ = ["_set_current_hip_stream", "dynamic_per_tensor_quant",
           "dynamic_per_token_scaled_quant", "static_per_tensor_quant"]

GIVEN, OF_TENSOR, OF_ROW = 0, 1, 2
_FP8 = 0


@operation
def static_per_tensor_quant(
    out: aiter_tensor_t, input: aiter_tensor_t, scale: aiter_tensor_t
) -> None:
    """Casts with the scale that is given."""
    _cast("static_per_tensor_quant", GIVEN, out, input, scale)


@operation
def dynamic_per_tensor_quant(
    out: aiter_tensor_t, input: aiter_tensor_t, scale: aiter_tensor_t
) -> None:
    """Writes the scale of the whole tensor, and casts with it."""
    _cast("dynamic_per_tensor_quant", OF_TENSOR, out, input, scale)


@operation
def dynamic_per_token_scaled_quant(
    out: aiter_tensor_t, input: aiter_tensor_t, scales: aiter_tensor_t,
    scale_ub: aiter_tensor_t | None = None, shuffle_scale: bool = False,
    num_rows: aiter_tensor_t | None = None, num_rows_factor: int = 1,
) -> None:
    """Writes a scale for each row, and casts with it; AITER does not read scale_ub either."""
    if shuffle_scale:
        raise UnsupportedError("dynamic_per_token_scaled_quant: shuffle_scale is not served here; "
                               "scales in row order are")
    if num_rows is not None:
        rows = int(arrays.view(num_rows, "num_rows").reshape(-1)[0]) * num_rows_factor
        out, input, scales = _first(out, rows), _first(input, rows), _first(scales, rows, flat=True)
    _cast("dynamic_per_token_scaled_quant", OF_ROW, out, input, scales)


def _first(tensor: aiter_tensor_t, rows: int, *, flat: bool = False) -> aiter_tensor_t:
    """The first rows of a contiguous tensor, as a matrix (or, flat, as a list)."""
    width = 1 if flat else int(tensor.shape[tensor.ndim - 1])
    total = int(tensor.numel) // max(width, 1)
    kept = int(np.clip(rows, 0, total))
    shape, strides = ((kept,), (1,)) if flat else ((kept, width), (width, 1))
    return aiter_tensor_t(tensor.ptr or 0, kept * width, len(shape), shape, strides, tensor.dtype,
                          tensor.device_id)


def _cast(
    name: str, kind: int, out: aiter_tensor_t, input: aiter_tensor_t, scales: aiter_tensor_t
) -> None:
    if out.dtype != _FP8:
        raise UnsupportedError(f"{name}: out has dtype {out.dtype}; only fp8 (0) is served here")
    _library.check(_library.load().mla_quantise_fp8(
        session.arch_number(), kind, input, out, scales))
