"""What a launch did that no correct launch does, as an exception."""

from __future__ import annotations

import os

from .. import gfx
from ..errors import FaultError

_SHOWN = 5


class KernelFault(FaultError):
    """A kernel touched what it must not, or a check found a mistake.

    Attributes:
        kernel: its name.
        launch: the whole report of the launch (mla_testbed.gfx.Report).
        problem: "out-of-bounds", "missing-wait", ...
        program_id: of the first event, in x, y, z.
        wave, lane: which one; lane is -1 where it concerns the whole wave.
        tensor: the argument whose memory was meant, or "".
        offset: bytes from the begin of its storage.
        file, line: of the kernel's source; "" and 0 where they are not known.
        report: all events, one a line.
    """

    def __init__(self, launch: gfx.Report, calls_host: bool = False) -> None:
        first = launch.events[0]
        self.launch = launch
        self.kernel = launch.kernel
        self.problem = first.problem
        self.program_id = first.workgroup
        self.wave, self.lane = first.wave, first.lane
        self.tensor, self.offset = first.range, first.range_offset
        self.file, self.line = first.file, first.line
        lines = [event.line_text for event in launch.events]
        super().__init__(_sentence(launch, first, calls_host), report="\n".join(lines))


def _where(event: gfx.Event) -> str:
    if not event.file:
        return "no source line is known"
    return f"{os.path.basename(event.file)}:{event.line}"


def _sentence(launch: gfx.Report, first: gfx.Event, calls_host: bool) -> str:
    lane = f", lane {first.lane}" if first.lane >= 0 else ""
    more = len(launch.events) - 1 + launch.findings_dropped
    tail = f"\n  and {more} more: see the attribute `report`" if more else ""
    hint = ""
    if first.problem == "not-implemented":
        hint = "\n  the emulator does not execute it; docs/emulator.md has the list"
    if calls_host and "null pointer" in first.text:
        hint = "\n  the kernel calls the host, and nobody answers: tl.device_print, or a " \
               "tl.device_assert that does not hold"
    return (f"{first.problem} in kernel '{launch.kernel}' ({_where(first)}), program "
            f"{first.workgroup}, wave {first.wave}{lane}: {first.text}\n"
            f"  at {first.place} `{first.disassembly}`{hint}{tail}")
