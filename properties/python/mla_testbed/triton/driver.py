"""The driver's half of the entry point: an emulated MI300X and an emulated MI355X.

Triton sees two devices, 0 for gfx942 and 1 for gfx950, so that it keeps their kernels apart.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from .. import gfx
from . import state
from .interface import DeviceInterface
from .launcher import EmulatorLauncher, Loaded


@functools.cache
def _device(arch: str) -> gfx.Device:
    return gfx.Device(arch)


class EmulatorUtils:
    """What Triton asks a driver for besides launching."""

    def load_binary(self, name: str, code_object: bytes, shared: int, device: int) -> Any:
        """(module, function, registers, spills, threads of a workgroup at most)."""
        module = _device(state.ARCHS[device]).load(code_object)
        kernel = module.kernel(name)
        spills = kernel.spilled_vgprs + kernel.spilled_sgprs
        threads = _device(state.ARCHS[device]).properties["max_threads"]
        return module, Loaded(module, kernel), kernel.vgprs, spills, threads

    def unload_module(self, module: Any) -> None:
        """Nothing: a module goes when nobody holds it."""

    def get_device_properties(self, device: int) -> dict[str, Any]:
        """What Triton and its helpers look up."""
        arch = state.ARCHS[device]
        properties = _device(arch).properties
        return {
            "max_shared_mem": properties["lds_bytes"],
            "multiprocessor_count": properties["compute_units"],
            "warpSize": properties["wave_size"],
            "arch": arch,
            "max_num_regs": 512,
            "cooperativeLaunch": False,
        }


class EmulatorDriver(DriverBase):  # type: ignore[misc]
    """Active where MLA_TESTBED_ARCH names an architecture, or after activate()."""

    def __init__(self) -> None:
        super().__init__()
        self.utils = EmulatorUtils()
        self.launcher_cls = EmulatorLauncher

    @classmethod
    def is_active(cls) -> bool:
        """Whether the environment names an architecture."""
        return bool(os.environ.get(state.ARCH_VARIABLE))

    def get_current_device(self) -> int:
        """0: gfx942, 1: gfx950."""
        return state.ARCHS.index(state.current_arch())

    def set_current_device(self, device: int) -> None:
        """0: gfx942, 1: gfx950."""
        state.set_arch(state.ARCHS[device])

    def get_current_stream(self, device: int) -> int:
        """There is one: everything is done at once."""
        return 0

    def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
        """As torch has it for these GPUs."""
        index = self.get_current_device() if device is None else device
        return (9, 4) if state.ARCHS[index] == "gfx942" else (9, 5)

    def get_current_target(self) -> Any:
        """What the compiler compiles for."""
        return GPUTarget("hip", state.current_arch(), 64)

    def get_device_interface(self) -> DeviceInterface:
        """In the place of torch.cuda."""
        return DeviceInterface(self)

    def get_active_torch_device(self) -> Any:
        """Where tensors of a launch lie: in host memory."""
        import torch

        return torch.device("cpu")

    def map_python_to_cpp_type(self, ty: str) -> str:
        """As AMD's own driver has it."""
        from triton.backends.amd.driver import ty_to_cpp

        name: str = ty_to_cpp(ty)
        return name

    def allocate_default_profile_scratch(self, size: int, alignment: int, stream: Any) -> Any:
        """Memory for a profiler that nobody set up."""
        import torch

        return torch.zeros(size, dtype=torch.int8)

    def get_empty_cache_for_benchmark(self) -> Any:
        """There is no cache to empty."""
        import torch

        return torch.empty(1, dtype=torch.int32)

    def clear_cache(self, cache: Any) -> None:
        """There is none."""

    def get_benchmarker(self) -> Callable[..., Any]:
        """Wave instructions of one call, in place of milliseconds.

        The emulator has no clock. An autotuner needs an order of its configurations: here it is
        that of the work, which is the same in every run.
        """

        def count(kernel_call: Callable[[], Any], *, quantiles: Sequence[float] | None = None,
                  **_: Any) -> Any:
            before = state.executed_instructions()
            kernel_call()
            work = float(state.executed_instructions() - before)
            return work if quantiles is None else [work] * len(quantiles)

        return count
