"""The Triton driver of a world: the one that executes kernels, or one that only names a target."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch

from .. import world
from ..world.machines import Machine

_INSTALL = "pip install triton"


def activate(machine: Machine) -> Callable[[], None]:
    """Makes Triton compile for the machine's architecture; what is returned makes the driver the
    active one that was before. Without Triton, nothing happens: AITER says that it needs Triton.
    """
    try:
        from triton.runtime import driver as drivers  # noqa: PLC0415 an extra
    except ImportError:
        return lambda: None
    before = drivers._active
    try:
        driver = importlib.import_module("mla_testbed.triton.driver")
    except ModuleNotFoundError:
        drivers.set_active(_target_only(machine))
    else:
        drivers.set_active(_emulated(driver, machine))

    def put_back() -> None:
        drivers._active = before

    return put_back


def _emulated(driver: Any, machine: Machine) -> Any:
    """The emulator's driver, whose launches are those of the world."""

    class Launcher(driver.EmulatorLauncher):  # type: ignore[misc]
        """Refuses host tensors, as a GPU does; late copies come first; a graph records it."""

        def __call__(self, *args: Any) -> None:
            tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]
            for position, tensor in enumerate(tensors):
                if not world.on_device(tensor):
                    raise ValueError(
                        f"Pointer argument (tensor {position} of the launch, shape "
                        f"{list(tensor.shape)}) cannot be accessed from Triton (cpu tensor?)")
            launch = super().__call__
            entered = world.active()
            if entered is None:
                launch(*args)
            else:
                entered.launch(lambda: launch(*args), tensors)

    class Driver(driver.EmulatorDriver):  # type: ignore[misc]
        """Compiles for the machine of the world."""

        def __init__(self) -> None:
            super().__init__()
            self.launcher_cls = Launcher

        def get_current_target(self) -> Any:
            return driver.GPUTarget("hip", machine.arch, 64)

        def get_active_torch_device(self) -> Any:
            return torch.device("cuda", 0)

    return Driver()


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
