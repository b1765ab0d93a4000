"""Where each rank of a process tree is, in memory that all of them share.

The tree reads it: a rank that waits for a collective which another one never reaches would wait for
ever, and says nothing itself.
"""

from __future__ import annotations

import dataclasses
import mmap
import struct
import time

_RECORD, _TEXT = struct.Struct("<qdq"), 256
_SIZE = _RECORD.size + _TEXT


def when(step: int) -> str:
    """In words; -1: no step has begun."""
    return f"in its step {step}" if step >= 0 else "before its first step"


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a rank is.

    Attributes:
        call: number of the collective that it waits in; 0: it computes.
        since: when it got there, by time.monotonic(). step: of its runner, from 0; -1: none yet.
        what: the collective, with shapes and dtypes.
    """

    call: int
    since: float
    step: int
    what: str


class Board:
    """A place for each rank. To be made before ranks are forked."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self._memory = mmap.mmap(-1, ranks * _SIZE)

    def put(self, rank: int, call: int, step: int, what: str) -> None:
        """A rank says where it is."""
        text = what.encode(errors="replace")[:_TEXT].ljust(_TEXT)
        record = _RECORD.pack(call, time.monotonic(), step) + text
        self._memory[rank * _SIZE:(rank + 1) * _SIZE] = record

    def place(self, rank: int) -> Place:
        """Where a rank was when it last said so."""
        record = self._memory[rank * _SIZE:(rank + 1) * _SIZE]
        call, since, step = _RECORD.unpack(record[:_RECORD.size])
        return Place(call, since, step, record[_RECORD.size:].decode(errors="replace").strip("\0 "))
