"""mla-testbed: AITER's MLA attention metadata, planned, judged and executed without a GPU.

>>> import mla_testbed
>>> sizes = mla_testbed.decode_sizes(batch_size=2, max_seqlen_qo=1, num_head_qo=16)
"""

from __future__ import annotations

from . import kernels
from ._library import backend, check_places, set_backend, set_threads, version
from .errors import (
    FaultError,
    InternalError,
    LibraryError,
    MlaError,
    OverrunError,
    RefusedError,
    TensorError,
    UnsupportedError,
    UsageError,
)
from .planning import (
    POISON,
    BufferSizes,
    PlanBuffers,
    allocate,
    decode_sizes,
    plan_decode,
    plan_prefill,
    prefill_sizes,
)

__all__ = [
    "POISON",
    "BufferSizes",
    "FaultError",
    "InternalError",
    "LibraryError",
    "MlaError",
    "OverrunError",
    "PlanBuffers",
    "RefusedError",
    "TensorError",
    "UnsupportedError",
    "UsageError",
    "allocate",
    "backend",
    "check_places",
    "decode_sizes",
    "kernels",
    "plan_decode",
    "plan_prefill",
    "prefill_sizes",
    "set_backend",
    "set_threads",
    "version",
]
