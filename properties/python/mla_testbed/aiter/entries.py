"""The entry points behind AITER's pybind11 modules, with their prototypes."""

from __future__ import annotations

import ctypes

from .. import _library, _structs

_TENSOR = ctypes.POINTER(_structs.Tensor)
_PROTOTYPES: dict[str, list[type]] = {
    "mla_aiter_reduce_v1": [_TENSOR] * 5 + [ctypes.c_int64] * 2 + [_TENSOR] * 2,
}
_declared = False


def load() -> ctypes.CDLL:
    """The library, its entry points declared."""
    global _declared
    library = _library.load()
    if not _declared:
        for name, arguments in _PROTOTYPES.items():
            function = getattr(library, name)
            function.argtypes = arguments
            function.restype = ctypes.c_int
        _declared = True
    return library
