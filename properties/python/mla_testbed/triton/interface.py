"""What torch.cuda is to a driver for a GPU: devices, streams, events. Calls are done at once."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any


class Event:
    """Times are those of the host."""

    def __init__(self, enable_timing: bool = False, **_: Any) -> None:
        self._at = 0.0

    def record(self, stream: Any = None) -> None:
        """Takes the time."""
        self._at = time.perf_counter()

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds."""
        return (end._at - self._at) * 1e3

    def synchronize(self) -> None:
        """Everything has been done."""


class DeviceInterface:
    """The part that Triton's own testing helpers use."""

    Event = Event

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    def current_device(self) -> int:
        """0: gfx942, 1: gfx950."""
        index: int = self._driver.get_current_device()
        return index

    def device_count(self) -> int:
        """One of each architecture."""
        return 2

    def is_available(self) -> bool:
        """They always are."""
        return True

    def set_device(self, device: int) -> None:
        """0: gfx942, 1: gfx950."""
        self._driver.set_current_device(device)

    def synchronize(self, device: Any = None) -> None:
        """Every launch has ended before it returns."""

    def current_stream(self, device: Any = None) -> int:
        """The only one."""
        return 0

    def default_stream(self, device: Any = None) -> int:
        """The only one."""
        return 0

    def stream(self, stream: Any = None) -> contextlib.AbstractContextManager[None]:
        """Changes nothing: there is one."""
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def device(self, device: int) -> Iterator[None]:
        """Inside, this device is the current one."""
        before = self.current_device()
        self.set_device(device)
        try:
            yield
        finally:
            self.set_device(before)
