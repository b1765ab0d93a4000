"""Arguments as the bytes that a kernel reads."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import gfx
from ..errors import UnsupportedError, UsageError


@dataclasses.dataclass(frozen=True)
class Value:
    """One argument after tuples and descriptors have been taken apart."""

    name: str
    type: str  # "*fp32", "i64", ...
    value: Any


_SIZES = {"i1": 1, "u1": 1, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "i64": 8,
          "u64": 8, "fp16": 2, "bf16": 2, "fp32": 4, "f32": 4, "fp64": 8}


def pointer_of(value: Any, name: str) -> int:
    """None is the null pointer, a number an address, anything else has data_ptr()."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    if not hasattr(value, "data_ptr"):
        raise UsageError(f"argument '{name}' is {type(value).__name__}; expected a tensor, an "
                         "address or None")
    return int(value.data_ptr())


def encoded(one: Value) -> bytes:
    """Little endian, in as many bytes as the type has."""
    if one.type.startswith("*"):
        return struct.pack("<Q", pointer_of(one.value, one.name))
    if one.type not in _SIZES:
        raise UnsupportedError(f"argument '{one.name}' has type {one.type}; no kernel for gfx942 "
                               "or gfx950 is given one of that type here")
    size = _SIZES[one.type]
    with np.errstate(over="ignore"):  # infinity, as a conversion in C gives
        if one.type == "fp16":
            return np.float16(one.value).tobytes()
        if one.type == "bf16":  # the upper half: cut off and not rounded, as AMD's launcher does
            return np.float32(one.value).tobytes()[2:]
        if one.type in ("fp32", "f32"):
            return np.float32(one.value).tobytes()
        if one.type == "fp64":
            return np.float64(one.value).tobytes()
    return (int(one.value) & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def packed(kernel: gfx.Kernel, values: Sequence[Value]) -> bytes:
    """The argument block, laid out as the code object says; hidden arguments are left out."""
    places = [argument for argument in kernel.arguments if not argument.hidden]
    if len(places) != len(values):
        raise UnsupportedError(
            f"the kernel '{kernel.name}' takes {len(places)} arguments, the launch has "
            f"{len(values)}: it was compiled by a Triton that this package does not know")
    block = bytearray(max((place.offset + place.size for place in places), default=0))
    for place, one in zip(places, values, strict=True):
        data = encoded(one)
        if len(data) != place.size:
            raise UnsupportedError(
                f"argument '{one.name}' has type {one.type} of {len(data)} bytes, the kernel "
                f"'{kernel.name}' takes {place.size}")
        block[place.offset:place.offset + place.size] = data
    return bytes(block)
