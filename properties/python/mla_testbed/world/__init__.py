"""torch as a machine with one GPU, on a CPU.

Inside a world, CPU-only torch answers as on a machine with one MI300X or MI355X: `device="cuda"`,
`torch.cuda`, pinned memory, streams, events, graphs. All memory is the CPU's; a note on each
storage tells which would be on the device, so that tensors of two devices that meet are refused as
on a GPU.

    from mla_testbed import world
    with world.entered(world.machine("gfx942")):
        ...

Needs torch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

try:
    import torch
except ImportError as e:
    raise ImportError(
        "mla_testbed.world needs torch, which is not installed: pip install torch") from e

from torch.utils._python_dispatch import _disable_current_modes

from . import conversions, cuda, factories, notes
from .dispatch import Dispatch
from .late import LateCopies
from .machines import BACKENDS, Machine, machine
from .notes import on_device
from .patches import Patches
from .state import State

__all__ = ["BACKENDS", "Machine", "World", "active", "entered", "machine", "on_device"]

_active: World | None = None


class World:
    """A world that torch was moved into; `leave()` puts torch back."""

    def __init__(self, of: Machine) -> None:
        global _active
        if _active is not None:
            raise RuntimeError(f"a world of {_active.machine.arch} is entered already")
        if torch.cuda.is_available():
            raise RuntimeError(
                f"torch {torch.__version__} sees a GPU; a world takes its place, and is for "
                "machines without one (hide it: HIP_VISIBLE_DEVICES= CUDA_VISIBLE_DEVICES=)"
            )
        self.machine: Machine = of
        self.state = State(of, LateCopies(of.late_copies))
        self._patches = Patches()
        self._dispatch = Dispatch(self.state)
        factories.install(self.state, self._patches)
        conversions.install(self.state, self._patches)
        cuda.install(self.state, self._patches)
        self._dispatch.__enter__()
        _active = self

    def launch(self, launch: object, tensors: list[torch.Tensor]) -> None:
        """Runs a launch that is no operation of torch, a Triton kernel's for example.

        launch: called without arguments; recorded while a graph is captured. tensors: its
        operands. Late copies happen before it.
        """
        if not callable(launch):
            raise TypeError(f"launch is {type(launch).__name__}; expected a function")
        self.state.late.before_launch()
        if self.state.capture is not None:
            self.state.capture.before([tensor for tensor in tensors if on_device(tensor)])
            self.state.capture.add(launch)
        # What it does inside is not recorded a second time.
        with _disable_current_modes(), self.kernel():
            launch()

    @contextlib.contextmanager
    def kernel(self) -> Iterator[None]:
        """Code that stands for a kernel: it may look at values of the device, and the host does not
        wait for that."""
        late = self.state.late
        before, late.in_kernel = late.in_kernel, True
        try:
            late.before_launch()
            yield
        finally:
            late.in_kernel = before

    def inside(self) -> Dispatch:
        """The mode to enter in code that torch runs without modes: bodies of Python operations."""
        return self._dispatch

    def storages(self) -> list[tuple[torch.UntypedStorage, int, int]]:
        """The device's memory that is allocated: storages, their addresses and sizes in bytes."""
        return [(one, one.data_ptr(), one.nbytes()) for one in notes.device_storages()
                if one.nbytes()]

    def early_writes(self) -> list[str]:
        """With late copies: a sentence for each copy from pinned memory that the host wrote again
        before it had waited for the device. The copies are looked at when the host waits."""
        return list(self.state.late.ahead.found)

    def leave(self) -> None:
        """Performs what is queued and puts torch back."""
        global _active
        self.state.late.wait()
        torch.set_default_device(None)
        self._dispatch.__exit__(None, None, None)
        self._patches.undo()
        _active = None


def active() -> World | None:
    """The world that is entered, or None."""
    return _active


@contextlib.contextmanager
def entered(of: Machine) -> Iterator[World]:
    """Enters a world for a block."""
    world = World(of)
    try:
        yield world
    finally:
        world.leave()


def place(tensor: torch.Tensor) -> str:
    """"host", "pinned" or "device"."""
    return notes.place(tensor)
