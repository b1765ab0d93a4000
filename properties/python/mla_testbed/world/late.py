"""Late copies: a copy that does not block happens as late as a stream allows.

On a GPU `device.copy_(pinned, non_blocking=True)` returns at once and reads the pinned memory
later. Writing that memory again before the copy ran changes what arrives. With late
copies, such a copy waits until device work touches its memory, or the host waits for the device:
host buffers that are reused too early are then found every time. A copy to the host waits until
the host waits for the device; the values are those of the moment at which it was queued.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

import torch

from .ahead import Ahead


@dataclasses.dataclass
class Pending:
    """One copy that was queued: `perform` does it; `device` is its end on the device."""

    device: torch.Tensor
    perform: Callable[[], None]
    to_host: bool


class LateCopies:
    """The queue of one stream. Without `enabled`, every copy happens at once."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self.performed = 0
        self.ahead = Ahead()
        # What runs now stands for a kernel: where it looks at a value, no host waits.
        self.in_kernel = False
        self._queue: list[Pending] = []

    def add(self, device: torch.Tensor, perform: Callable[[], None], *, to_host: bool,
            source: torch.Tensor | None = None) -> None:
        """Queues a copy, or performs it."""
        if self.enabled:
            if source is not None:
                self.ahead.copied(source)
            self._queue.append(Pending(device, perform, to_host))
        else:
            perform()

    def pending(self) -> int:
        """Copies that have not happened yet."""
        return len(self._queue)

    def before_work_on(self, tensors: Iterable[torch.Tensor]) -> None:
        """Device work is about to touch these tensors: what was queued for them comes first."""
        if not self._queue:
            return
        touched = {tensor.untyped_storage().data_ptr() for tensor in tensors}
        last = -1
        for index, copy in enumerate(self._queue):
            if not copy.to_host and copy.device.untyped_storage().data_ptr() in touched:
                last = index
        self._perform(last + 1)

    def before_launch(self) -> None:
        """A launch whose memory is not known from its arguments: all copies to the device."""
        last = max((i for i, c in enumerate(self._queue) if not c.to_host), default=-1)
        self._perform(last + 1)

    def wait(self, position: int | None = None) -> None:
        """The host waits for the device: everything has happened.

        position: of an event (Ahead.position); what came after it may still be read.
        """
        if self.in_kernel:
            self.before_launch()
            return
        self._perform(len(self._queue))
        self.ahead.reached(self.ahead.position() if position is None else position)

    def _perform(self, count: int) -> None:
        # In the order of the queue: a later copy may read what an earlier one wrote.
        head, self._queue = self._queue[:count], self._queue[count:]
        for copy in head:
            # An inference tensor is written in this mode only, whoever it is that waits.
            with torch.inference_mode():
                copy.perform()
            self.performed += 1
