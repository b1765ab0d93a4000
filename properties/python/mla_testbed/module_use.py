"""What of a module has been used, where no function of it is seen to run."""

from __future__ import annotations

import inspect
from types import CodeType, ModuleType
from typing import Any


def _own(module: ModuleType) -> list[Any]:
    return [value for value in vars(module).values()
            if getattr(value, "__module__", None) == module.__name__]


def compiled(module: ModuleType) -> list[Any]:
    """Its Triton functions that were compiled."""
    return [value for value in _own(module)
            if hasattr(value, "arg_names") and hasattr(value, "cache_key")
            and getattr(value, "hash", None) is not None]


def counts(module: ModuleType) -> bool:
    """It has no function of its own, or a Triton function that was compiled."""
    return bool(compiled(module)) or not any(
        callable(value) and not inspect.isclass(value) for value in _own(module))


def function_lines(code: CodeType) -> set[int]:
    """The lines of a function that do something, or of the functions in the body of a module or a
    class, which is none itself: its lines run when it is imported."""
    lines: set[int] = set()
    if code.co_flags & inspect.CO_OPTIMIZED:
        lines |= {line for _, _, line in code.co_lines()
                  if line is not None and line > code.co_firstlineno}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            lines |= function_lines(constant)
    return lines
