"""A host that is ahead of its device: which pinned memory must not be written yet.

A step's launches only wait in a queue when the host prepares the next step. A copy from pinned
memory that does not block is one of them: until the host waits for the device, the device may read
the memory at any time. So what is copied must stay as it is until then. A staging buffer that two
steps share breaks this: here it is found at the wait, whatever order a real device happens to take.
"""

from __future__ import annotations

import dataclasses
import sys
from types import FrameType

import torch
from torch.utils._python_dispatch import _disable_current_modes

#: Copies that wait at most. A device's queue is bounded too: a host that is this far ahead waits.
BOUND = 4096
_OUTSIDE = ("/torch/", "/mla_testbed/", "<")


@dataclasses.dataclass
class _Waiting:
    number: int
    source: torch.Tensor
    then: torch.Tensor
    where: str


class Ahead:
    """The copies from pinned memory that the device may still have to read.

    found: a sentence for each copy whose memory was written too early.
    """

    def __init__(self) -> None:
        self.found: list[str] = []
        self._queue: list[_Waiting] = []
        self._number = 0

    def copied(self, source: torch.Tensor) -> None:
        """A copy of this pinned memory was queued."""
        if len(self._queue) == BOUND:
            self.reached(self._queue[0].number)
        self._number += 1
        self._queue.append(_Waiting(self._number, source, _bytes(source).clone(), _caller()))

    def position(self) -> int:
        """Where the end of the queue is: what an event remembers."""
        return self._number

    def reached(self, position: int) -> None:
        """The host knows that the device is past this position: its copies have been read."""
        while self._queue and self._queue[0].number <= position:
            one = self._queue.pop(0)
            if not torch.equal(_bytes(one.source), one.then):
                self.found.append(
                    f"pinned memory of shape {list(one.source.shape)} was written before the "
                    f"device had read it: it was copied without blocking at {one.where}, and the "
                    "host did not wait for the device before it wrote there again")


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    with _disable_current_modes(), torch.inference_mode():
        # A clone of one element has a stride of its own, which `view` asks for.
        flat = tensor.reshape(-1).clone(memory_format=torch.contiguous_format)
        return flat.view(torch.uint8)


def _caller() -> str:
    """File and line outside of torch and of this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and any(part in frame.f_code.co_filename for part in _OUTSIDE):
        frame = frame.f_back
    if frame is None:
        return "an unknown place"
    name = "/".join(frame.f_code.co_filename.split("/")[-2:])
    return f"{name}:{frame.f_lineno}"
