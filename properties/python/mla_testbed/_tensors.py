"""Descriptors of arrays: numpy arrays, and torch tensors without an import of torch.

Nothing is copied. bf16 travels as 16-bit words and fp8 as bytes: a numpy array of uint16 is bf16,
and one of uint8 is fp8 where the parameter says so. The dtypes of ml_dtypes and torch carry their
names; of fp8 only the encoding of the architecture is taken (e4m3fnuz on gfx942, e4m3fn on gfx950).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _structs
from .errors import TensorError

FP8, FP16, BF16, FP32 = 0, 2, 3, 4
U32, I32, I16, I8, U8, I64, U64 = 7, 8, 9, 10, 11, 12, 13

#: By the name of a numpy, ml_dtypes or torch dtype.
DTYPES: dict[str, int] = {
    "float8_e4m3fn": FP8, "float8_e4m3fnuz": FP8, "float16": FP16, "bfloat16": BF16,
    "float32": FP32, "uint32": U32, "int32": I32, "int16": I16, "int8": I8, "uint8": U8,
    "int64": I64, "uint64": U64, "uint16": BF16,
}
#: The encoding of fp8 on each architecture.
FP8_ENCODING: dict[str, str] = {"gfx942": "float8_e4m3fnuz", "gfx950": "float8_e4m3fn"}

_place: Callable[[Any], int] | None = None

#: Numbers of the dtypes met so far, and descriptors of numpy arrays without their address:
#: looking these up costs a tenth of making them.
_NUMBERS: dict[Any, int] = {}
_TEMPLATES: dict[Any, bytes] = {}
_MOST_TEMPLATES = 4096
_BYTE_AT = ctypes.c_char.from_buffer


def set_place(place: Callable[[Any], int] | None) -> None:
    """Who knows where a torch tensor would lie: device number, or -1 for host memory.

    With None, as at the start, a torch tensor must lie in host memory.
    """
    global _place
    _place = place


def is_torch(tensor: Any) -> bool:
    """Whether it is a torch tensor, told without importing torch."""
    return hasattr(tensor, "data_ptr") and hasattr(tensor, "stride")


def dtype_name(tensor: Any) -> str:
    """The name of the element type: "float32", "bfloat16", "float8_e4m3fn", ..."""
    return str(tensor.dtype).removeprefix("torch.")


def describe(tensor: Any, name: str, *, fp8: str | None = None,
             written: bool = False) -> _structs.Tensor:
    """The descriptor of `tensor`, which the caller keeps alive.

    Args:
        tensor: a numpy array or a torch tensor.
        name: the parameter, for error messages.
        fp8: the encoding that fp8 has to have ("float8_e4m3fn", ...); an array of uint8 is fp8
            then. None: the parameter takes no fp8, and uint8 is uint8.
        written: the call writes into it.

    Raises:
        TensorError: no array, more than 8 dimensions, an element type that the C interface has no
            number for, memory of a real device, the other encoding of fp8, an output that is
            read-only or whose elements share memory.
    """
    if written:
        _check_writable(tensor, name)
    if type(tensor) is np.ndarray:
        template = _TEMPLATES.get((tensor.shape, tensor.strides, tensor.dtype, fp8))
        if template is not None:
            d = _structs.Tensor.from_buffer_copy(template)
            d.ptr = _address(tensor)
            return d
    dtype = _NUMBERS.get(getattr(tensor, "dtype", None))
    if dtype is None:
        dtype = _number(tensor, name)
    if fp8 is not None:
        if dtype == U8:
            dtype = FP8
        elif dtype == FP8 and dtype_name(tensor) != fp8:
            raise TensorError(f"{name}: expected {fp8}, which is fp8 of this architecture, "
                              f"found {dtype_name(tensor)}")
    if isinstance(tensor, np.ndarray):
        return _from_numpy(tensor, name, dtype, fp8)
    if is_torch(tensor):
        return _from_torch(tensor, name, dtype)
    raise TensorError(f"{name}: expected a numpy array or a torch tensor, found "
                      f"{type(tensor).__name__}")


def _check_writable(tensor: Any, name: str) -> None:
    if isinstance(tensor, np.ndarray):
        if not tensor.flags.writeable:
            raise TensorError(f"{name}: expected an array that can be written, found one that is "
                              "read-only")
        if tensor.flags.c_contiguous:
            return
        strides, unit = tensor.strides, tensor.itemsize
    elif is_torch(tensor):
        strides, unit = tuple(tensor.stride()), 1
    else:
        return  # refused by its type
    if _shared(tensor.shape, strides, unit):
        raise TensorError(f"{name}: expected memory of its own for each element, found shape "
                          f"{tuple(tensor.shape)} with strides {strides}"
                          f"{' bytes' if isinstance(tensor, np.ndarray) else ''}")


def _shared(shape: Any, strides: tuple[int, ...], unit: int) -> bool:
    """Whether elements may share memory: a step of some dimension stays within what the dimensions
    of smaller steps take up. Each element is `unit` long."""
    if 0 in shape:
        return False
    taken = unit
    for stride, size in sorted((abs(stride), size)
                               for stride, size in zip(strides, shape, strict=True) if size > 1):
        if stride < taken:
            return True
        taken += stride * (size - 1)
    return False


def _address(array: Any) -> int:
    """Of the first element. Asking for a buffer is four times faster than __array_interface__."""
    try:
        return ctypes.addressof(_BYTE_AT(array))
    except (TypeError, ValueError, BufferError):  # read-only, strided, empty, or a foreign dtype
        return int(array.__array_interface__["data"][0])


def _number(tensor: Any, name: str) -> int:
    """The number of a dtype that is met for the first time."""
    found = dtype_name(tensor) if hasattr(tensor, "dtype") else type(tensor).__name__
    if found not in DTYPES:
        raise TensorError(f"{name}: expected an array of {', '.join(DTYPES)}, found {found}")
    _NUMBERS[tensor.dtype] = DTYPES[found]
    return DTYPES[found]


def _from_numpy(array: Any, name: str, dtype: int, fp8: str | None) -> _structs.Tensor:
    ndim = array.ndim
    if ndim > _structs.MAX_DIMS:
        raise TensorError(f"{name}: expected at most 8 dimensions, found {ndim}")
    d = _structs.Tensor()
    d.numel = array.size
    d.ndim = ndim
    d.shape[:ndim] = array.shape
    size = array.itemsize
    for stride in array.strides:
        if stride % size:
            raise TensorError(f"{name}: expected strides of whole elements, found "
                              f"{array.strides} bytes")
    d.strides[:ndim] = [stride // size for stride in array.strides]
    d.dtype = dtype
    d.device_id = -1
    if len(_TEMPLATES) >= _MOST_TEMPLATES:
        _TEMPLATES.clear()
    _TEMPLATES[array.shape, array.strides, array.dtype, fp8] = bytes(d)
    d.ptr = _address(array)
    return d


def _from_torch(tensor: Any, name: str, dtype: int) -> _structs.Tensor:
    ndim = tensor.dim()
    if ndim > _structs.MAX_DIMS:
        raise TensorError(f"{name}: expected at most 8 dimensions, found {ndim}")
    if _place is not None:
        device = _place(tensor)
    elif tensor.device.type == "cpu":
        device = -1
    else:
        raise TensorError(f"{name}: expected a tensor in host memory, found one on "
                          f"{tensor.device}")
    d = _structs.Tensor()
    d.ptr = tensor.data_ptr()
    d.numel = tensor.numel()
    d.ndim = ndim
    d.shape[:ndim] = list(tensor.shape)
    d.strides[:ndim] = list(tensor.stride())
    d.dtype = dtype
    d.device_id = device
    return d
