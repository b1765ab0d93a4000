"""module_aiter_core: enumerations and the descriptor of a tensor."""

from __future__ import annotations

from . import headers, session
from .operation import _set_current_hip_stream, aiter_tensor_t

_include = headers.include_directory(session.aiter_tree())

ActivationType = headers.enumeration(_include, "aiter_enum.h", "ActivationType")
QuantType = headers.enumeration(_include, "aiter_enum.h", "QuantType")
_later = headers.later(_include)
globals().update(_later)

__all__ = ["ActivationType", "QuantType", "_set_current_hip_stream", "aiter_tensor_t"]
__all__ += list(_later)
