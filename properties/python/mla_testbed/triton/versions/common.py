"""What the known versions share."""

from __future__ import annotations

import re
from typing import Any

from ...errors import UnsupportedError
from ..kernarg import Value

_DESCRIPTOR = re.compile(r"tensordesc(?:_im2col)?<([^\[>]*)\[")


def descriptor(name: str, kind: str, value: Any) -> list[Value]:
    """A tensor descriptor without hardware for it: pointer, shape and strides as the load wants
    them, then shape and strides once more as the kernel's own code does."""
    match = _DESCRIPTOR.match(kind)
    if match is None:
        raise UnsupportedError(f"argument '{name}' has type {kind}; expected a tensor descriptor")
    out = [Value(name, "*" + match[1], value.base)]
    out += [Value(f"{name}.shape", "i64", size) for size in value.shape]
    out += [Value(f"{name}.strides", "i64", stride) for stride in value.strides]
    out.append(Value(f"{name}.padding", "i1", value.padding == "nan"))
    out.append(Value(f"{name}.round_f32_to_tf32", "i1", value.round_f32_to_tf32))
    out += [Value(f"{name}.shape", "i32", size) for size in value.shape]
    out += [Value(f"{name}.strides", "i64", stride) for stride in value.strides]
    return out


def flattened(name: str, kind: Any, value: Any, nested_descriptors: bool) -> list[Value]:
    """Tuples are taken apart; what was constant at compile time is left out."""
    if isinstance(kind, tuple):
        out: list[Value] = []
        for index, (inner, item) in enumerate(zip(kind, value, strict=True)):
            place = f"{name}[{index}]"
            if not nested_descriptors and str(inner).startswith("tensordesc"):
                raise UnsupportedError(f"argument '{place}' is a tensor descriptor in a tuple; "
                                       "Triton 3.8 and later take these")
            out += flattened(place, inner, item, nested_descriptors)
        return out
    if kind == "constexpr":
        return []
    if kind.startswith("tensordesc"):
        return descriptor(name, kind, value)
    return [Value(name, kind, value)]


def arguments(signature: dict[str, Any], metadata: Any, args: tuple[Any, ...],
              nested_descriptors: bool) -> list[Value]:
    """What the kernel takes, without the scratch pointers."""
    if getattr(metadata, "tensordesc_meta", None):
        raise UnsupportedError(f"kernel '{metadata.name}' wants hardware tensor descriptors, "
                               "which gfx942 and gfx950 do not have")
    out: list[Value] = []
    for (name, kind), value in zip(signature.items(), args, strict=True):
        out += flattened(name, kind, value, nested_descriptors)
    return out


def allocated(size: int, alignment: int, grid: tuple[int, int, int], stream: int,
              allocator: Any) -> Any:
    """Scratch for every program, or None; an allocator that was not set raises."""
    if size == 0:
        return None
    return allocator(size * grid[0] * grid[1] * grid[2], alignment, stream)
