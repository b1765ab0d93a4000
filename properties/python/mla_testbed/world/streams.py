"""The one stream of a world, and its events. Waiting for either performs late copies."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any

from .state import State

#: Handles of streams come round, as torch's: 32 of them, none of the default stream's.
_handles = itertools.cycle(range(1, 33))


class Stream:
    """A stream: every stream is the one, since nothing runs beside anything else. Only handles
    tell them apart, for programs that look for one that is not taken."""

    state: State  # set by the world that is entered

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        self.priority = priority
        self.cuda_stream = self.stream_id = next(_handles)

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
        _entered.streams.append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        _entered.streams.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream)

    def __hash__(self) -> int:
        return 0


class _Entered(threading.local):
    """The streams that a thread is in, the innermost last."""

    def __init__(self) -> None:
        default = Stream()
        default.cuda_stream = default.stream_id = 0
        self.streams = [default]


_entered = _Entered()


def enter_default() -> None:
    """Begins a world: this thread is in its default stream alone."""
    _entered.streams[:] = [default()]


def current(device: Any = None) -> Stream:
    """The stream that this thread works in."""
    return _entered.streams[-1]


def default(device: Any = None) -> Stream:
    """The stream of whoever chose none."""
    return _Entered().streams[0]


def choose(stream: Any) -> None:
    """Makes a stream the one that this thread works in; None changes nothing."""
    if stream is not None:
        _entered.streams[-1] = stream


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
        _entered.streams.append(self.stream or current())

    def __exit__(self, *_: Any) -> None:
        _entered.streams.pop()
