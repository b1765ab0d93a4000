"""module_rope_1c_cached_positions_fwd: rotary embedding by tables and positions.

AITER's test of the cache writers rotates its reference with this operation. It is written in numpy
on purpose: a second implementation beside that of the fused writer.
"""

from __future__ import annotations

import numpy as np

from ..errors import FaultError
from . import arrays
from .operation import _set_current_hip_stream, aiter_tensor_t, operation

__all__ = ["_set_current_hip_stream", "rope_cached_positions_fwd_impl"]

NEOX, GPT_J = 0, 1


@operation
def rope_cached_positions_fwd_impl(
    output: aiter_tensor_t, input: aiter_tensor_t, cos: aiter_tensor_t, sin: aiter_tensor_t,
    positions: aiter_tensor_t, rotate_style: int, reuse_freqs_front_part: bool, nope_first: bool,
) -> None:
    """Rotates (s, b, h, d) by (s, b) positions; what the tables do not cover is copied."""
    if rotate_style not in (NEOX, GPT_J):
        raise RuntimeError(f"rotate_style is {rotate_style}; expected 0 (NEOX) or 1 (GPT-J)")
    given = arrays.values(input, "input")
    at = arrays.view(positions, "positions")
    tables = [arrays.values(t, name).reshape(t.shape[0], -1)
              for t, name in ((cos, "cos"), (sin, "sin"))]
    rows = tables[0].shape[0]
    if at.size and (at.min() < 0 or at.max() >= rows):
        raise FaultError(f"positions run from {at.min()} to {at.max()}, and cos has {rows} rows")
    by = [table[at][:, :, None, :] for table in tables]  # (s, b, 1, pairs or elements)
    if not reuse_freqs_front_part:
        half = by[0].shape[-1] // 2
        index = slice(None, half) if rotate_style == NEOX else slice(None, None, 2)
        by = [table[..., index] for table in by]
    width = 2 * by[0].shape[-1]
    if width > given.shape[-1]:
        raise RuntimeError(f"cos has {width // 2} pairs for {given.shape[-1]} elements of a head")
    start = given.shape[-1] - width if nope_first else 0
    part = given[..., start:start + width]
    first = slice(0, width // 2) if rotate_style == NEOX else slice(0, None, 2)
    second = slice(width // 2, None) if rotate_style == NEOX else slice(1, None, 2)
    x, y = part[..., first], part[..., second]
    rotated = np.empty_like(part)
    rotated[..., first] = x * by[0] - y * by[1]
    rotated[..., second] = y * by[0] + x * by[1]
    given[..., start:start + width] = rotated
    arrays.store(output, "output", given)
