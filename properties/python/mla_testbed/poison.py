"""Memory that shows whether it was written."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import UsageError

#: Bits that no computation produces: NaNs of float32 and of bf16.
POISON_F32 = 0x7FA5A5A5
POISON_BF16 = 0x7FA5

_WORDS: dict[str, tuple[Any, int]] = {
    "float32": (np.uint32, POISON_F32), "uint16": (np.uint16, POISON_BF16),
    "float16": (np.uint16, 0x7DA5), "float64": (np.uint64, 0x7FF5A5A5A5A5A5A5),
    "int32": (np.uint32, 0xA1524111), "uint8": (np.uint8, 0x7F),
}


def poisoned(shape: int | tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """An array that was never written, as `check_written` recognises it.

    Args:
        shape: as for numpy.empty.
        dtype: float32, uint16 (bf16), float16, float64, int32 (then `POISON`) or uint8 (fp8: a
            NaN of e4m3fn).

    Raises:
        UsageError: another dtype.
    """
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = repr(dtype)
    if name not in _WORDS:
        raise UsageError(f"dtype is {name}; expected {', '.join(_WORDS)}")
    words, value = _WORDS[name]
    return np.full(shape, value, words).view(np.dtype(dtype))
