"""SIGTERM as an interrupt."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def sigterm_interrupts() -> Iterator[None]:
    """SIGTERM ends a command as SIGINT does, and afterwards does what it did before."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        # None: a handler that Python does not know.
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)
