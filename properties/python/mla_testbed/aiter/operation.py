"""What AITER's loader expects of a compiled operation, beside its body.

A module of AITER's is a pybind11 module. At the first call of an operation, the loader takes the
first line of its doc, in pybind11's spelling, and compares it with the Python signature.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from .. import _structs

F = TypeVar("F", bound=Callable[..., Any])


class aiter_tensor_t(_structs.Tensor):
    """AITER's descriptor of a tensor; made by AITER's Python for each tensor argument."""

    def __init__(self, data_ptr: int = 0, numel: int = 0, ndim: int = 0,
                 shape: Any = (), strides: Any = (), dtype: int = 0, device_id: int = -1) -> None:
        super().__init__()
        self.ptr, self.numel, self.ndim = data_ptr, numel, ndim
        self.shape[:ndim] = shape
        self.strides[:ndim] = strides
        self.dtype, self.device_id = dtype, device_id

    @property
    def numel_(self) -> int:
        """Number of elements."""
        return int(self.numel)


def operation(function: F) -> F:
    """Puts the signature in front of the doc, as pybind11 does."""
    parameters = []
    for parameter in inspect.signature(function).parameters.values():
        text = f"{parameter.name}: {parameter.annotation}"
        if parameter.default is not inspect.Parameter.empty:
            text += f" = {parameter.default}"
        parameters.append(text)
    signature = f"{function.__name__}({', '.join(parameters)}) -> None"
    function.__doc__ = f"{signature}\n\n{function.__doc__ or ''}"
    return function


def _set_current_hip_stream(stream_ptr: int) -> None:
    """Called by AITER before each operation; there is one stream."""
