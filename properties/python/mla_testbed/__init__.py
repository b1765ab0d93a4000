"""mla-testbed: AITER's MLA attention metadata, planned, judged and executed without a GPU.

>>> import mla_testbed
>>> bundle = mla_testbed.plan("mla1:2q4s900_1q1s513;heads=8;block=16;cu=4")
>>> mla_testbed.check(bundle).valid
True
>>> mla_testbed.run("mla1:2q4s900_1q1s513;heads=8;block=16;cu=4", properties=["P12"]).verdict
'pass'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .errors import (
    DeviceError,
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

if TYPE_CHECKING:
    from . import kernels
    from . import mla_capture as capture
    from ._cases import canonical, cases, draw, minimise, simpler
    from ._library import (
        backend,
        check_places,
        check_written,
        set_backend,
        set_threads,
        version,
    )
    from .array_types import Array
    from .asserting import assert_valid
    from .bundle import Bundle
    from .judging import (
        Answer,
        PropertyResult,
        Reference,
        Verdict,
        Violation,
        check,
        plan,
        reference,
        run,
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
    from .poison import POISON_BF16, POISON_F32, poisoned
    from .predicting import Prediction, predict

# Imported when they are first used: numpy alone takes longer to import than anything here.
_MODULES: dict[str, tuple[str, ...]] = {
    "_cases": ("canonical", "cases", "draw", "minimise", "simpler",),
    "_library": (
        "backend", "check_places", "check_written", "set_backend", "set_threads", "version",
    ),
    "array_types": ("Array",),
    "asserting": ("assert_valid",),
    "bundle": ("Bundle",),
    "judging": (
        "Answer",
        "PropertyResult",
        "Reference",
        "Verdict",
        "Violation",
        "check",
        "plan",
        "reference",
        "run",
    ),
    "planning": (
        "BufferSizes",
        "POISON",
        "PlanBuffers",
        "allocate",
        "decode_sizes",
        "plan_decode",
        "plan_prefill",
        "prefill_sizes",
    ),
    "poison": ("POISON_BF16", "POISON_F32", "poisoned",),
    "predicting": ("Prediction", "predict",),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}
_SUBMODULES = {"kernels": "kernels", "capture": "mla_capture"}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = __getattr__("version")()
    elif name in _SUBMODULES:
        value = importlib.import_module(f"{__name__}.{_SUBMODULES[name]}")
    elif name in _PLACES:
        value = getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
    else:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


__all__ = [
    "Answer",
    "Array",
    "BufferSizes",
    "Bundle",
    "DeviceError",
    "FaultError",
    "InternalError",
    "LibraryError",
    "MlaError",
    "OverrunError",
    "POISON",
    "POISON_BF16",
    "POISON_F32",
    "PlanBuffers",
    "Prediction",
    "PropertyResult",
    "Reference",
    "RefusedError",
    "TensorError",
    "UnsupportedError",
    "UsageError",
    "Verdict",
    "Violation",
    "allocate",
    "assert_valid",
    "backend",
    "canonical",
    "capture",
    "cases",
    "check",
    "check_places",
    "check_written",
    "decode_sizes",
    "draw",
    "kernels",
    "minimise",
    "plan",
    "plan_decode",
    "plan_prefill",
    "poisoned",
    "predict",
    "prefill_sizes",
    "reference",
    "run",
    "set_backend",
    "set_threads",
    "simpler",
    "version",
]
