"""The Triton driver of a world: the one that executes kernels, or one that only names a target."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from ..world.machines import Machine

_INSTALL = "pip install triton"


def activate(machine: Machine) -> None:
    """Makes Triton compile for the machine's architecture. Without Triton, nothing happens.

    AITER itself then says that it needs Triton.
    """
    try:
        import triton  # noqa: PLC0415 an extra
    except ImportError:
        return
    try:
        driver = importlib.import_module("mla_testbed.triton.driver")
    except ModuleNotFoundError:
        triton.runtime.driver.set_active(_target_only(machine))
        return
    triton.runtime.driver.set_active(driver.EmulatorDriver())


def _target_only(machine: Machine) -> Any:
    from triton.backends.compiler import GPUTarget  # noqa: PLC0415
    from triton.backends.driver import DriverBase  # noqa: PLC0415

    class TargetOnly(DriverBase):  # type: ignore[misc]
        """Answers what it compiles for, and launches nothing."""

        @classmethod
        def is_active(cls) -> bool:
            return False  # never chosen by itself

        def get_current_target(self) -> Any:
            return GPUTarget("hip", machine.arch, 64)

        def get_active_torch_device(self) -> Any:
            return torch.device("cuda", 0)

        def map_python_to_cpp_type(self, ty: str) -> str:
            raise NotImplementedError("this driver launches no kernel")

        def get_benchmarker(self) -> Any:
            raise NotImplementedError("this driver measures no kernel")

        def get_current_device(self) -> int:
            raise RuntimeError(
                "a Triton kernel was launched, and mla_testbed.triton is not installed")

    return TargetOnly()
