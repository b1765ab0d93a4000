"""Descriptors of arrays: numpy arrays, and torch tensors without an import of torch.

Nothing is copied. bf16 travels as 16-bit words and fp8 as bytes: a numpy array of uint16 is bf16,
and one of uint8 is fp8 where the parameter says so. The dtypes of ml_dtypes and torch carry their
names; of fp8 only the encoding of the architecture is taken (e4m3fnuz on gfx942, e4m3fn on gfx950).
"""

from __future__ import annotations

import ctypes
import itertools
import math
import operator
from collections.abc import Callable, Collection, Iterable, Sequence
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
#: Bytes of an element.
_SIZES: dict[int, int] = {FP8: 1, FP16: 2, BF16: 2, FP32: 4, U32: 4, I32: 4, I16: 2, I8: 1, U8: 1,
                          I64: 8, U64: 8}
#: The encoding of fp8 on each architecture.
FP8_ENCODING: dict[str, str] = {"gfx942": "float8_e4m3fnuz", "gfx950": "float8_e4m3fn"}

_place: Callable[[Any], int] | None = None

#: Numbers of the dtypes met so far, and descriptors of numpy arrays without their address, with
#: what lies before it and after it: looking these up costs a tenth of making them.
_NUMBERS: dict[Any, int] = {}
_TEMPLATES: dict[Any, tuple[bytes, int, int]] = {}
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
            number for, a mask, memory of a real device, the other encoding of fp8, an output that
            is read-only or whose elements share memory.
    """
    if written:
        _check_writable(tensor, name)
    if type(tensor) is np.ndarray:
        template = _TEMPLATES.get((tensor.shape, tensor.strides, tensor.dtype, fp8))
        if template is not None:
            d = _structs.Tensor.from_buffer_copy(template[0])
            d.ptr = at = _address(tensor)
            d.begin, d.end = at + template[1], at + template[2]
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
        refuse_mask(tensor, name)
        return _from_numpy(tensor, name, dtype, fp8)
    if is_torch(tensor):
        return _from_torch(tensor, name, dtype)
    raise TensorError(f"{name}: expected a numpy array or a torch tensor, found "
                      f"{type(tensor).__name__}")


def refuse_mask(array: Any, name: str) -> None:
    """Kernels and planners would read what a mask hides.

    Raises:
        TensorError: an array of numpy.ma.
    """
    if isinstance(array, np.ma.MaskedArray):
        raise TensorError(f"{name}: expected an array without a mask, found one of numpy.ma; "
                          "filled() makes one of it")


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
    around = _around(array.shape, array.strides, size)
    _TEMPLATES[array.shape, array.strides, array.dtype, fp8] = bytes(d), *around
    d.ptr = _address(array)
    _place_at(d, int(d.ptr or 0), around)
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
    size = tensor.element_size()
    _place_at(d, tensor.data_ptr(), _around(
        tensor.shape, [size * stride for stride in tensor.stride()], size))
    return d


def _place_at(d: _structs.Tensor, at: int, around: tuple[int, int]) -> None:
    d.begin, d.end = at + around[0], at + around[1]


def _around(shape: Sequence[int], strides: Sequence[int], size: int) -> tuple[int, int]:
    """Where the elements begin and end, in bytes from the first one."""
    if 0 in shape:
        return 0, 0
    far = [stride * (n - 1) for stride, n in zip(strides, shape, strict=True)]
    return sum(way for way in far if way < 0), sum(way for way in far if way > 0) + size


def describe_all(given: dict[str, Any], outputs: Collection[str], *, fp8: str | None = None,
                 encoded: Collection[str] = (), same: Collection[str] = ()
                 ) -> dict[str, _structs.Tensor]:
    """The descriptors of a call's tensors, by name.

    Args:
        given: the tensors by the names of the parameters.
        outputs, same: see `check_apart`.
        fp8, encoded: how the bytes of some of the tensors are read, and which ones.

    Raises:
        TensorError: as `describe` and `check_apart`.
    """
    alive = {name: describe(tensor, name, fp8=fp8 if name in encoded else None,
                            written=name in outputs)
             for name, tensor in given.items()}
    check_apart(alive, [*alive.values()], outputs, same)
    return alive


def check_apart(names: Iterable[str], tensors: Sequence[_structs.Tensor | None],
                outputs: Collection[str], same: Collection[str] = ()) -> None:
    """Refuses an output that shares memory with another output or with an input.

    Args:
        names: of the parameters.
        tensors: their descriptors, None where nothing was given.
        outputs: names of those that the call writes into.
        same: names of two that may begin at the same place, with one dtype.

    Raises:
        TensorError: naming both.
    """
    begins = sorted([d.begin for d in tensors if d is not None])
    ends = sorted([d.end for d in tensors if d is not None])
    if all(map(operator.le, ends, begins[1:])):
        return  # one ends before the next begins, whatever it is
    given = [(name, d) for name, d in zip(names, tensors, strict=True) if d is not None]
    for (one, a), (other, b) in itertools.combinations(given, 2):
        if (one not in outputs and other not in outputs) or not (_meet(a, b) and _share(a, b)):
            continue
        if one in same and other in same and (a.begin, a.dtype) == (b.begin, b.dtype):
            continue
        output, found = (one, other) if one in outputs else (other, one)
        raise TensorError(f"{output}: expected memory of its own, found some of {found} in it")


def _meet(a: _structs.Tensor, b: _structs.Tensor) -> bool:
    """Whether two tensors share memory. Rows side by side at one pitch, such as the columns of a
    pool, do not, although their memory lies within each other's."""
    if not (a.numel and b.numel and a.begin < b.end and b.begin < a.end):
        return False
    (run, pitch), (other_run, other_pitch) = _rows(a), _rows(b)
    common = math.gcd(pitch, other_pitch)
    if common == 0:
        return True
    later = (b.begin - a.begin) % common
    return later < run or later + other_run > common


def _share(a: _structs.Tensor, b: _structs.Tensor) -> bool:
    """The same to the byte, such as for heads of one pool; True where that is too much to find."""
    shares: Any = np.shares_memory  # numpy's stubs know no limit
    try:
        return bool(shares(_in_place(a), _in_place(b), max_work=10_000))
    except RuntimeError:  # numpy's TooHardError
        return True


class _InPlace:
    def __init__(self, d: _structs.Tensor) -> None:
        size = _SIZES[d.dtype]
        self.__array_interface__ = {
            "version": 3, "data": (d.ptr, True), "typestr": f"|V{size}",
            "shape": tuple(d.shape[:d.ndim]),
            "strides": tuple(size * stride for stride in d.strides[:d.ndim])}


def _in_place(d: _structs.Tensor) -> np.ndarray:
    """An array that lies where the tensor does; nothing is read."""
    return np.asarray(_InPlace(d))


def _rows(d: _structs.Tensor) -> tuple[int, int]:
    """Bytes that are taken one after the other, and what divides every way from such a row to the
    next, 0 where there is one row."""
    run, pitch = _SIZES[d.dtype], 0
    steps = zip(d.strides[:d.ndim], d.shape[:d.ndim], strict=True)
    for stride, n in sorted((abs(stride) * _SIZES[d.dtype], n) for stride, n in steps if n > 1):
        if pitch == 0 and stride <= run:
            run += stride * (n - 1)
        else:
            pitch = math.gcd(pitch, stride)
    return run, pitch
