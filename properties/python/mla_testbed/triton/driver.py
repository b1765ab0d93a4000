"""The driver's half of the entry point: an emulated MI300X and an emulated MI355X.

Triton sees two devices, 0 for gfx942 and 1 for gfx950, so that it keeps their kernels apart.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
from collections.abc import Callable, Sequence
from typing import Any

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from .. import gfx
from ..errors import UsageError
from . import state
from .interface import DeviceInterface
from .launcher import EmulatorLauncher, Loaded

#: Of pyproject.toml, and Triton's variable that names the one of several active drivers to take.
_ENTRY_POINT, _CHOICE_VARIABLE = "mla_testbed", "TRITON_DEFAULT_BACKEND"


def _choose_ours() -> None:
    """Where an architecture is named and torch sees a GPU, two drivers are active, and Triton does
    not choose. Ours wins, unless the caller chose: Triton reads the variable before it asks them.
    """
    if os.environ.get(state.ARCH_VARIABLE) and not os.environ.get(_CHOICE_VARIABLE):
        entries = importlib.metadata.entry_points(group="triton.backends")
        if _ENTRY_POINT in entries.names:
            os.environ[_CHOICE_VARIABLE] = _ENTRY_POINT


_choose_ours()


@functools.cache
def _device(arch: str) -> gfx.Device:
    return gfx.Device(arch)


#: What the products have and the emulator has no use for. Clocks in kHz, as HIP says them; the bus
#: in bits. HIP's memory clock is a quarter of the published rate of a pin: 5.2 and 8 Gbit/s.
_PUBLISHED = {
    "gfx942": {"sm_clock_rate": 2_100_000, "mem_clock_rate": 1_300_000, "mem_bus_width": 8192},
    "gfx950": {"sm_clock_rate": 2_400_000, "mem_clock_rate": 2_000_000, "mem_bus_width": 8192},
}


def _arch_of(device: Any) -> str:
    """Of None (the current one), an index, or what has one, such as a torch.device.

    Tutorials pass `get_active_torch_device().index`, and that is None here: tensors are the host's.
    """
    index = getattr(device, "index", None) if not isinstance(device, int) else device
    if index is None and (device is None or hasattr(device, "index")):
        return state.current_arch()
    if not isinstance(index, int) or not 0 <= index < len(state.ARCHS):
        raise UsageError(
            f"device is {device!r}; expected 0 (gfx942), 1 (gfx950), a torch.device, or None for "
            "the current one")
    return state.ARCHS[index]


class EmulatorUtils:
    """What Triton asks a driver for besides launching."""

    def load_binary(self, name: str, code_object: bytes, shared: int, device: int) -> Any:
        """(module, function, registers, spills, threads of a workgroup at most).

        The numbers are those that HIP has of the kernel. Its spills are dwords of scratch.
        """
        emulated = _device(_arch_of(device))
        module = emulated.load(code_object)
        kernel = module.kernel(name)
        threads = kernel.max_threads or emulated.properties["max_threads"]
        return module, Loaded(module, kernel), kernel.vgprs, kernel.scratch_size // 4, threads

    def unload_module(self, module: Any) -> None:
        """Nothing: a module goes when nothing holds it."""

    def get_device_properties(self, device: Any = None) -> dict[str, Any]:
        """The fields of Triton's driver for AMD, with the values of MI300X and MI355X.

        Except for cooperativeLaunch, which the emulator does not have.
        """
        arch = _arch_of(device)
        properties = _device(arch).properties
        return {
            "max_shared_mem": properties["lds_bytes"],
            "max_num_regs": 65536,  # 32-bit registers of a workgroup
            "multiprocessor_count": properties["compute_units"],
            **_PUBLISHED[arch],
            "arch": f"{arch}:sramecc+:xnack-",
            "warpSize": properties["wave_size"],
            "max_threads_per_sm": 2048,
            "cooperativeLaunch": 0,
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

    def set_current_device(self, device: Any) -> None:
        """0: gfx942, 1: gfx950."""
        state.set_arch(_arch_of(device))

    def get_current_stream(self, device: Any) -> int:
        """There is one: everything is done at once."""
        return 0

    def get_device_capability(self, device: Any = None) -> tuple[int, int]:
        """As torch has it for these GPUs."""
        return (9, 4) if _arch_of(device) == "gfx942" else (9, 5)

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
        """Memory for a profiler that was not set up."""
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
