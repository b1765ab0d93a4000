"""The memory that AITER's descriptors name, as numpy arrays."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .operation import aiter_tensor_t

_WORDS: dict[int, Any] = {2: np.float16, 3: np.uint16, 4: np.float32, 8: np.int32, 12: np.int64}
BF16 = 3


def view(tensor: aiter_tensor_t, name: str) -> np.ndarray[Any, Any]:
    """The tensor itself, with its strides; bf16 as uint16. RuntimeError for another dtype."""
    if tensor.dtype not in _WORDS:
        raise RuntimeError(f"{name}: dtype {tensor.dtype} is not one of {sorted(_WORDS)}")
    words = np.dtype(_WORDS[tensor.dtype])
    shape = tuple(tensor.shape[:tensor.ndim])
    strides = tuple(tensor.strides[:tensor.ndim])
    if tensor.numel == 0:
        return np.empty(shape, words)
    last = sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    memory = (ctypes.c_char * ((last + 1) * words.itemsize)).from_address(tensor.ptr)
    return np.lib.stride_tricks.as_strided(
        np.frombuffer(memory, words), shape, [stride * words.itemsize for stride in strides])


def values(tensor: aiter_tensor_t, name: str) -> np.ndarray[Any, Any]:
    """A copy as float32."""
    words = view(tensor, name)
    if tensor.dtype == BF16:
        return (words.astype(np.uint32) << 16).view(np.float32)
    return words.astype(np.float32)


def store(tensor: aiter_tensor_t, name: str, found: np.ndarray[Any, Any]) -> None:
    """Writes float32 values, rounded to nearest even."""
    words = view(tensor, name)
    if tensor.dtype != BF16:
        words[...] = found.astype(words.dtype)
        return
    bits = np.ascontiguousarray(found, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    words[...] = np.where(np.isnan(found), (bits >> 16) | 0x40, rounded).astype(np.uint16)
