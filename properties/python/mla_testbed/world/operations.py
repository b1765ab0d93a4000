"""Operations that are registered in Python: their bodies run inside a world, as other code does."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import torch

from . import World

#: Namespaces of compiled operations: AITER's, and those of engines that Python stands in for here.
WHOLE = ("aiter", "_C", "_C_cache_ops", "_moe_C", "_rocm_C", "sgl_kernel")
#: What AITER's host code hands to a kernel without looking at its length.
ADDRESSES = {"aiter::mla_decode_stage1_asm_fwd": ("kv_page_indices",)}


def inside_operations(entered: World) -> Callable[[], None]:
    """Operations that are registered in Python from now on run inside the world, as all code does.

    What is returned ends that for operations to come.

    torch leaves its dispatch modes before it runs the body of an operation, and what the body
    allocates would be host memory.

    A graph records what runs inside: a replay does not run an engine's Python, which reads what
    it holds then, and not what it held at the capture. Operations of WHOLE are recorded as
    a whole: they stand for compiled ones, or launch what torch does not see.
    """
    entered.state.addresses.update(ADDRESSES)
    original = torch.library.Library.impl

    @functools.wraps(original)
    def impl(self: Any, op_name: Any, fn: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(fn, types.FunctionType):
            return original(self, op_name, fn, *args, **kwargs)

        whole = self.ns in WHOLE
        if not whole:
            entered.state.opened.add(_qualified(self.ns, op_name))

        @functools.wraps(fn)
        def inside(*values: Any, **named: Any) -> Any:
            if not whole:
                with entered.inside():
                    return fn(*values, **named)
            recording, entered.state.capture = entered.state.capture, None
            try:
                with entered.inside():
                    return fn(*values, **named)
            finally:
                entered.state.capture = recording

        made = original(self, op_name, inside, *args, **kwargs)
        if "CUDA" in (*args, kwargs.get("dispatch_key")) and not whole and not _has(
                _qualified(self.ns, op_name), "CPU"):
            # Memory of the device is the CPU's, and torch looks for an operation by that.
            original(self, op_name, inside, "CPU")
        return made

    def leave() -> None:
        torch.library.Library.impl = original  # type: ignore[method-assign]

    torch.library.Library.impl = impl  # type: ignore[method-assign]
    return leave


def _has(name: str, key: str) -> bool:
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, key))


def _qualified(namespace: str, name: Any) -> str:
    """"namespace::operation" of what Library.impl takes: a name, or an OpOverload."""
    name = name._schema.name if hasattr(name, "_schema") else str(name).partition(".")[0]
    return name if "::" in name else f"{namespace}::{name}"
