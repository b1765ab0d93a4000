"""What the parts of one world share."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import Any, Protocol

import torch

from .late import LateCopies
from .machines import Machine


class Recorder(Protocol):
    """A graph while it is captured (graphs.py)."""

    def before(self, tensors: list[torch.Tensor]) -> None:
        """An operation is about to write these tensors."""

    def add(self, step: Callable[[], Any]) -> None:
        """Records a launch that is no operation of torch."""

    def record(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Records an operation and where its results are."""


@dataclasses.dataclass
class State:
    """The machine, its queue of copies, and the graph that is being captured, if any."""

    machine: Machine
    late: LateCopies
    capture: Recorder | None = None
    # Operations by their qualified name whose Python bodies a graph records, not them as a whole.
    opened: set[str] = dataclasses.field(default_factory=set)
    # Arguments of operations that reach a kernel as an address, without their length.
    addresses: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    # Operations run on this thread make device memory although no argument is on the device.
    making: threading.local = dataclasses.field(default_factory=threading.local)

    @property
    def device(self) -> torch.device:
        """What a tensor on the device answers."""
        return torch.device("cuda", 0)

    def refuse_while_capturing(self, what: str) -> None:
        """Raises RuntimeError where a GPU would: the host cannot wait for a captured stream."""
        if self.capture is not None:
            raise RuntimeError(
                f"HIP error: operation not permitted when stream is capturing: {what}"
            )


def is_gpu(device: object) -> bool:
    """Whether a device argument (a string, an index or a torch.device) means the GPU."""
    if isinstance(device, torch.device):
        kind, index = device.type, device.index
    elif isinstance(device, bool) or device is None:
        return False
    elif isinstance(device, int):
        kind, index = "cuda", device
    elif isinstance(device, str):
        parsed = torch.device(device)
        kind, index = parsed.type, parsed.index
    else:
        return False
    if kind == "cuda" and index not in (None, 0):
        raise RuntimeError(
            f"HIP error: invalid device ordinal: device cuda:{index}; this machine has one GPU, "
            "cuda:0"
        )
    return kind == "cuda"
