"""What the calls of a tree have in common: its machine, and tensors on it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from ...triton.state import current_options, options
from ..own.runtime import runtime
from .wire import Array

#: What lists hold before a planner writes them: Plan's kPoison (core/plan/plan.hpp).
POISON = -0x5EADBEEF
_TRITON_CHECKS = {"waits": "waits", "lds": "lds_races", "uninitialised": "uninitialised",
                  "lanes": "lanes", "same-barrier": "same_barrier", "coherence": "coherence"}
DTYPES = {"bf16": torch.bfloat16, "gfx942 fp8": torch.float8_e4m3fnuz,
          "gfx950 fp8": torch.float8_e4m3fn}


def dtype_of(arch: str, name: str) -> torch.dtype:
    """An element type by its name in case lines: bf16, or the fp8 of the architecture."""
    return DTYPES[name if name == "bf16" else f"{arch} {name}"]


def on_device(array: Array) -> torch.Tensor:
    """A copy of an array in the memory of the emulated GPU."""
    made = torch.empty(array.shape, dtype=torch.from_numpy(np.empty(0, array.dtype)).dtype,
                       device="cuda")
    made.copy_(torch.from_numpy(array.copy()))
    return made


@contextlib.contextmanager
def run_as(words: dict[str, str]) -> Iterator[None]:
    """Launches of AITER's modules and of Triton inside run as these words of the command line say.

    words: checks, schedule, arrival, matrix.
    """
    usual = dict.fromkeys(words, "")
    runtime().set_run(**words)
    timed = current_options().timed(words["schedule"], words["arrival"])
    # Triton's launches take the checks that its driver has.
    timed = dataclasses.replace(timed, checks=timed.checks | {
        _TRITON_CHECKS[word] for word in words["checks"].split(",") if word in _TRITON_CHECKS})
    try:
        with options(**dataclasses.asdict(timed)):
            yield
    finally:
        runtime().set_run(**usual)


def set_compute_units(units: int) -> None:
    """What AITER's Python and its C++ are told from now on."""
    if os.environ.get("CU_NUM") == str(units):
        return
    os.environ["CU_NUM"] = os.environ["MLA_TESTBED_UNITS"] = str(units)
    runtime().set_units(units)
    # The size query of prefill steps reads it there.
    torch.cuda.get_device_properties(0).multi_processor_count = units
    from aiter.jit.utils import chip_info  # noqa: PLC0415 the tree is on sys.path by now

    clear: Any = getattr(chip_info.get_cu_num, "cache_clear", None)
    if clear is not None:
        clear()
