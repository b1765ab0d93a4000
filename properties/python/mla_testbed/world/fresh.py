"""Device memory that was never written: torch.empty and its kin, filled with poison on request."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

#: Functions and methods that leave their memory as they find it.
FUNCTIONS = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided")

# NaNs that no computation produces, and for int32 no valid index, count or offset: those of
# mla_testbed.poison, which the reduce recognises.
_WORDS: dict[torch.dtype, tuple[torch.dtype, int]] = {
    torch.float32: (torch.int32, 0x7FA5A5A5),
    torch.bfloat16: (torch.int16, 0x7FA5),
    torch.float16: (torch.int16, 0x7DA5),
    torch.float8_e4m3fn: (torch.uint8, 0x7F),
    torch.float8_e4m3fnuz: (torch.uint8, 0x80),
    torch.int32: (torch.int32, -0x5EADBEEF),
}


def poison(tensor: Any) -> Any:
    """Fills the whole storage of a new tensor; types without a pattern stay as they are."""
    if not isinstance(tensor, torch.Tensor) or tensor.dtype not in _WORDS:
        return tensor
    words, value = _WORDS[tensor.dtype]
    with _disable_current_modes():
        storage = tensor.untyped_storage()
        torch.Tensor.set_(torch.zeros(0, dtype=words), storage).fill_(value)
    return tensor
