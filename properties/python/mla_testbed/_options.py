"""Python values as the numbers of the C interface."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ._tensors import BF16, FP8, FP8_ENCODING
from .errors import UsageError

#: Architectures by name, with the compute units of the product that carries each.
ARCHS: dict[str, int] = {"gfx942": 942, "gfx950": 950}
COMPUTE_UNITS: dict[str, int] = {"gfx942": 304, "gfx950": 256}

_DTYPE_NUMBERS: dict[Any, int] = {}

_FP8_NAMES = ("fp8", "float8_e4m3fn", "float8_e4m3fnuz")


def arch_number(arch: str) -> int:
    """942 or 950."""
    if not isinstance(arch, str) or arch not in ARCHS:
        raise UsageError(f"arch is '{arch}'; expected {' or '.join(ARCHS)}")
    return ARCHS[arch]


def fp8_encoding(arch: str) -> str:
    """The encoding of fp8 on an architecture."""
    arch_number(arch)
    return FP8_ENCODING[arch]


def compute_units_of(arch: str, compute_units: int | None) -> int:
    """The number given, or that of the product: 304 (MI300X), 256 (MI355X)."""
    arch_number(arch)
    return COMPUTE_UNITS[arch] if compute_units is None else number(compute_units, "compute_units")


def dtype_number(dtype: Any, name: str) -> int:
    """The number of a dtype: "bf16", "fp8", or a numpy, ml_dtypes or torch dtype of these."""
    try:
        known = _DTYPE_NUMBERS.get(dtype)
    except TypeError as e:  # no key of a dictionary, so no dtype
        raise UsageError(f"{name} is {dtype!r}; expected bf16 or fp8") from e
    if known is not None:
        return known
    text = str(dtype).removeprefix("torch.")
    if text in ("bf16", "bfloat16"):
        return _DTYPE_NUMBERS.setdefault(dtype, BF16)
    if text in _FP8_NAMES:
        return _DTYPE_NUMBERS.setdefault(dtype, FP8)
    raise UsageError(f"{name} is {dtype}; expected bf16 or fp8")


def dtype_text(dtype: Any, name: str) -> str:
    """"bf16" or "fp8"."""
    return "fp8" if dtype_number(dtype, name) == FP8 else "bf16"


def number(value: Any, name: str, low: int = -(1 << 63), high: int = (1 << 63) - 1) -> int:
    """A whole number of the C interface, which ctypes would cut to its last 64 bits."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError("a truth value is no count")
        found = operator.index(value)
    except (TypeError, ValueError, RuntimeError) as e:
        raise UsageError(f"{name} is {value!r}; expected a whole number") from e
    if not low <= found <= high:
        raise UsageError(f"{name} is {found}; expected {low} to {high}")
    return found


def flag(value: Any, name: str) -> int:
    """A truth value as 0 or 1: a bool, of Python or numpy, or one of these numbers."""
    try:
        return int(value) if isinstance(value, (bool, np.bool_)) else number(value, name, 0, 1)
    except UsageError as e:
        raise UsageError(f"{name} is {value!r}; expected a bool") from e


def real(value: Any, name: str) -> float:
    """A number of the C interface's type double."""
    try:
        if isinstance(value, (str, bytes, bytearray)):
            raise TypeError(f"{type(value).__name__} is no number")
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError) as e:
        raise UsageError(f"{name} is {value!r}; expected a number") from e


def text(value: Any, name: str) -> bytes:
    """A text of the C interface, which ends at the first NUL byte."""
    if not isinstance(value, str):
        raise UsageError(f"{name} is {value!r}; expected a text")
    if "\0" in value:
        raise UsageError(f"{name} is {value!r}, which has a NUL byte, where the text would end")
    try:
        return value.encode()
    except UnicodeEncodeError as e:
        raise UsageError(f"{name} is {value!r}; expected a text of Unicode: {e}") from e
