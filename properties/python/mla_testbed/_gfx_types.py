"""What goes into a launch on an emulated GPU, and what comes out of it."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from . import _gfx_structs as structs
from .errors import UsageError


@dataclasses.dataclass(frozen=True)
class Range:
    """Memory that a launch may touch."""

    address: int
    size: int
    name: str
    writable: bool = True


@dataclasses.dataclass(frozen=True)
class Event:
    """A fault, which ended the launch, or a finding of a check.

    `lane` is -1 where it concerns the whole wave, `line` is 0 and `file` empty where the code
    object has no debug information, `range` is empty where no memory was meant.
    """

    problem: str
    workgroup: tuple[int, int, int]
    wave: int
    lane: int
    file: str
    line: int
    column: int
    place: str
    disassembly: str
    pc: int
    address: int
    range: str
    range_offset: int
    range_size: int
    text: str
    line_text: str

    def __str__(self) -> str:
        return self.line_text


@dataclasses.dataclass(frozen=True)
class Statistics:
    """What a launch executed; instructions are those of waves, bytes those of active lanes."""

    instructions: int
    workgroups: int
    waves: int
    bytes_read: int
    bytes_written: int
    lds_bytes_read: int
    lds_bytes_written: int
    scratch_bytes: int
    lds_bank_conflicts: int
    matrix_instructions: int


@dataclasses.dataclass(frozen=True)
class Report:
    """What one launch did."""

    kernel: str
    faults: tuple[Event, ...]
    findings: tuple[Event, ...]
    findings_dropped: int
    statistics: Statistics

    @property
    def clean(self) -> bool:
        """Neither a fault nor a finding."""
        return not self.faults and not self.findings

    @property
    def events(self) -> tuple[Event, ...]:
        """Faults, then findings."""
        return self.faults + self.findings


@dataclasses.dataclass(frozen=True)
class Argument:
    """An argument as the code object names it."""

    offset: int
    size: int
    kind: str

    @property
    def hidden(self) -> bool:
        """Filled in by the launch, and not by the caller."""
        return self.kind.startswith("hidden_")


@dataclasses.dataclass(frozen=True)
class Kernel:
    """What a code object says of a kernel. `vgprs` has the accumulation registers in it."""

    name: str
    lds_size: int
    scratch_size: int
    kernarg_size: int
    max_threads: int
    vgprs: int
    agprs: int
    sgprs: int
    spilled_vgprs: int
    spilled_sgprs: int
    arguments: tuple[Argument, ...]


@dataclasses.dataclass(frozen=True)
class Options:
    """How a launch runs.

    checks: of "waits", "lds_races", "uninitialised"; "bank_conflicts" (counted in the statistics);
        "dropped" (buffer accesses past the number of records, which hardware drops, other than at
        the offset by which Triton masks a lane: others may rely on it); "lanes" (shuffles and
        barriers from which lanes of the wave are missing); "same_barrier" (waves that wait for each
        other at different instructions); "coherence" (what another workgroup wrote, used without a
        release and an acquire; the launch then takes one thread).
    fence: 0, or how many unregistered bytes lie around each range: the launch then works on copies
        of the ranges, so that an index which is wrong by much never lands in another one.
    fault_limit: the launch ends after so many faults.
    instruction_limit: for each wave; 0: none; None: MLA_TESTBED_INSTRUCTION_LIMIT, else 10^9.
    slice: instructions of a wave before the next one runs; 0: to the barrier.
    order: "round_robin", "reverse" or "random" (with `seed`).
    arrival: when memory answers: "early", "late" (no sooner than a wait asks for it), "random"
        (`arrival_number` is its seed) or "after" (so many instructions); without checks.
    threads: of the host; 0: as many as OpenMP chooses.
    """

    checks: frozenset[str] = frozenset()
    fence: int = 0
    fault_limit: int = 1
    instruction_limit: int | None = None
    slice: int = 4
    order: str = "round_robin"
    seed: int = 1
    threads: int = 0
    arrival: str = "early"
    arrival_number: int = 0

    def __post_init__(self) -> None:
        for check in self.checks:
            if check not in structs.CHECKS:
                raise UsageError(f"check '{check}' is not known; expected of "
                                 f"{', '.join(structs.CHECKS)}")
        if self.order not in structs.ORDERS:
            raise UsageError(f"order is '{self.order}'; expected {', '.join(structs.ORDERS)}")
        if self.arrival not in structs.ARRIVALS:
            raise UsageError(f"arrival is '{self.arrival}'; expected "
                             f"{', '.join(structs.ARRIVALS)}")
        for field in ("fence", "fault_limit", "instruction_limit", "slice", "seed", "threads",
                      "arrival_number"):
            if (getattr(self, field) or 0) < 0:
                raise UsageError(f"{field} is {getattr(self, field)}; expected 0 or more")

    def timed(self, schedule: str, arrival: str) -> Options:
        """The same with a timing in the words of --schedule and --arrival; "" leaves it.

        UsageError: words that are none.
        """
        fields: dict[str, Any] = {}
        for word in schedule.split(",") if schedule else ():
            if found := re.fullmatch(r"slice=(\d+)", word):
                fields["slice"] = int(found[1])
            elif word in _ORDERS:
                fields["order"] = _ORDERS[word]
            elif found := re.fullmatch(r"order=shuffled\.(\d+)", word):
                fields.update(order="random", seed=int(found[1]))
            else:
                raise UsageError(f"schedule is '{schedule}'; expected slice=<n> and order=in-turn, "
                                 "reverse or shuffled.<seed>, with a comma between")
        if found := re.fullmatch(r"(random|after)\.(\d+)", arrival):
            fields.update(arrival=found[1], arrival_number=int(found[2]))
        elif arrival in ("early", "late"):
            fields.update(arrival=arrival, arrival_number=0)
        elif arrival:
            raise UsageError(f"arrival is '{arrival}'; expected early, late, random.<seed> or "
                             "after.<instructions>")
        return dataclasses.replace(self, **fields)


_ORDERS = {"order=in-turn": "round_robin", "order=reverse": "reverse"}
#: The checks that every correct kernel passes.
ALL_CHECKS = frozenset({"waits", "lds_races", "uninitialised"})
