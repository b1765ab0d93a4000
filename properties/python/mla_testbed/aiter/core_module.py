"""module_aiter_core: enumerations and the descriptor of a tensor."""

from __future__ import annotations

from . import headers, session
from .operation import _set_current_hip_stream, aiter_tensor_t

_include = headers.include_directory(session.aiter_tree())

ActivationType = headers.enumeration(_include, "aiter_enum.h", "ActivationType")
QuantType = headers.enumeration(_include, "aiter_enum.h", "QuantType")
MlaVersion = headers.enumeration(_include, "aiter_enum.h", "MlaVersion")
MxScaleRoundMode = headers.enumeration(_include, "mx_quant_utils.h", "MxScaleRoundMode")
MxDtype = headers.enumeration(_include, "mx_quant_utils.h", "MxDtype")
kDefaultMxScaleRoundMode = headers.constant(
    _include, "mx_quant_utils.h", "kDefaultMxScaleRoundMode", MxScaleRoundMode)

__all__ = ["ActivationType", "MlaVersion", "MxDtype", "MxScaleRoundMode", "QuantType",
           "_set_current_hip_stream", "aiter_tensor_t", "kDefaultMxScaleRoundMode"]
