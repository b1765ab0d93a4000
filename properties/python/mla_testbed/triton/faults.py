"""What a launch did that no correct launch does, as an exception."""

from __future__ import annotations

import ast
import inspect
import os
import textwrap
from typing import Any

from .. import gfx
from ..errors import FaultError

#: What asks the host for help; with Triton 3.7 in a function that has no lines of its own.
_HOST_CALLS = ("device_assert", "device_print")
#: What to do about a problem.
_HINTS = {
    "not-implemented":
        "\n  the emulator does not execute it; docs/reference/emulator.md has the list",
    "instruction-limit":
        "\n  it waits for what never comes, or needs more: options(instruction_limit=N) or "
        "MLA_TESTBED_INSTRUCTION_LIMIT, with 0 for no limit",
}
Lines = tuple[str, tuple[int, ...]]


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

    def __init__(
        self, launch: gfx.Report, calls_host: bool = False, host_lines: Lines = ("", ())
    ) -> None:
        first = launch.events[0]
        self.launch = launch
        self.kernel = launch.kernel
        self.problem = first.problem
        self.program_id = first.workgroup
        self.wave, self.lane = first.wave, first.lane
        self.tensor, self.offset = first.range, first.range_offset
        self.file, self.line = first.file, first.line
        calls_host = calls_host and "null pointer" in first.text
        candidates: tuple[int, ...] = ()
        # A helper serves all assertions of a kernel: it has no line, or that of one of them.
        helper = not first.file or not first.place.startswith(f"{launch.kernel}+")
        if calls_host and helper and host_lines[1]:
            self.file, candidates = host_lines
            self.line = candidates[0] if len(candidates) == 1 else 0
        lines = [event.line_text for event in launch.events]
        super().__init__(_sentence(launch, first, calls_host, self._where(candidates)),
                         report="\n".join(lines))

    def _where(self, candidates: tuple[int, ...]) -> str:
        if not self.file:
            return "no source line is known"
        lines = [str(line) for line in candidates] or [str(self.line)]
        return f"{os.path.basename(self.file)}:{' or '.join(lines)}"


def host_lines(fn: Any) -> Lines:
    """File of a kernel, and its lines that may ask the host for help; "" where it has no source."""
    try:
        text, first = inspect.getsourcelines(fn)
        file = inspect.getsourcefile(fn) or ""
    except (OSError, TypeError):
        return "", ()
    found = {first + node.lineno - 1 for node in ast.walk(ast.parse(textwrap.dedent("".join(text))))
             if isinstance(node, ast.Call)
             and getattr(node.func, "attr", getattr(node.func, "id", "")) in _HOST_CALLS}
    return file, tuple(sorted(found))


def _sentence(launch: gfx.Report, first: gfx.Event, calls_host: bool, where: str) -> str:
    lane = f", lane {first.lane}" if first.lane >= 0 else ""
    more = len(launch.events) - 1 + launch.findings_dropped
    tail = f"\n  and {more} more: see the attribute `report`" if more else ""
    hint = _HINTS.get(first.problem, "")
    if "outside every registered range" in first.text:
        hint = "\n  memory that a kernel reaches through a pointer is made known by " \
               "mla_testbed.triton.register(tensor, name)"
    if calls_host:
        hint = "\n  the kernel calls the host, which does not answer: tl.device_print, or a " \
               "tl.device_assert that does not hold"
    return (f"{first.problem} in kernel '{launch.kernel}' ({where}), program "
            f"{first.workgroup}, wave {first.wave}{lane}: {first.text}\n"
            f"  at {first.place} `{first.disassembly}`{hint}{tail}")
