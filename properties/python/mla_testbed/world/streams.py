"""The one stream of a world, and its events. Waiting for either performs late copies."""

from __future__ import annotations

import time
from typing import Any

from .state import State


class Stream:
    """A stream: every stream is the one, since nothing runs beside anything else."""

    state: State  # set by the world that is entered
    cuda_stream = 0
    stream_id = 0

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        self.priority = priority

    @property
    def device(self) -> Any:
        """The device of the stream."""
        return self.state.device

    @property
    def device_index(self) -> int:
        """The index of its device."""
        return 0

    def synchronize(self) -> None:
        """Waits for everything that was queued."""
        self.state.refuse_while_capturing("Stream.synchronize()")
        self.state.late.wait()

    def query(self) -> bool:
        """Whether everything that was queued has happened; it then has."""
        self.state.late.wait()
        return True

    def wait_stream(self, stream: Any) -> None:
        """Orders this stream after another: it is, always."""

    def wait_event(self, event: Any) -> None:
        """Orders this stream after an event: it is, always."""

    def record_event(self, event: Event | None = None) -> Event:
        """Records an event."""
        event = event or Event()
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream)

    def __hash__(self) -> int:
        return 0


class Event:
    """An event. Its times are the host's: they measure this machine, not a GPU."""

    state: State  # set by the world that is entered

    def __init__(self, enable_timing: bool = False, blocking: bool = False,
                 interprocess: bool = False, external: bool = False) -> None:
        self._time: float | None = None
        self._position = 0

    def record(self, stream: Any = None) -> None:
        """Records the event."""
        self._time = time.perf_counter()
        self._position = self.state.late.ahead.position()

    def synchronize(self) -> None:
        """Waits for everything that was queued before the event."""
        self.state.refuse_while_capturing("Event.synchronize()")
        self.state.late.wait(self._position)

    def wait(self, stream: Any = None) -> None:
        """Orders a stream after the event: it is, always."""

    def query(self) -> bool:
        """Whether the event has happened; it then has."""
        self.state.late.wait(self._position)
        return True

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds between two recorded events."""
        if self._time is None or end._time is None:
            raise RuntimeError("elapsed_time() of an event that was never recorded")
        return (end._time - self._time) * 1e3


class AnyEvent(Event):
    """torch.Event, which takes a device before the rest."""

    def __init__(self, device: Any = None, **options: Any) -> None:
        super().__init__(**options)


class StreamContext:
    """`with torch.cuda.stream(s):`, as often as one likes."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: Any) -> None:
        return None
