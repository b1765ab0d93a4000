"""Which lines of an engine's builder a case runs: what guides fuzzing."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from types import CodeType, FrameType
from typing import Any


class Coverage:
    """Lines of some source files, of all cases so far.

    Attributes:
        lines: (file, line) that ran.
        fresh: how many of them the last case added.
    """

    def __init__(self, sources: Sequence[str]) -> None:
        self._sources = frozenset(sources)
        self._codes: dict[CodeType, bool] = {}
        self.lines: set[tuple[str, int]] = set()
        self.fresh = 0

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Watches what runs inside; slower by the price of a Python call for each call."""
        before = len(self.lines)
        if self._sources:
            sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(None)
            self.fresh = len(self.lines) - before

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        wanted = self._codes.get(code)
        if wanted is None:
            wanted = self._codes[code] = code.co_filename in self._sources
        return self._line if wanted else None

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line
