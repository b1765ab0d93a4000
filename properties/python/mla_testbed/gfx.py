"""AMD code objects for gfx942 and gfx950, executed on the CPU.

>>> device = Device("gfx942")
>>> module = device.load(code_object_bytes)
>>> report = module.run("kernel", grid=(8, 1, 1), block=(256, 1, 1), kernarg=arguments,
...                     ranges=[Range(address, size, "out")])
>>> report.faults
()

Device addresses are host addresses. A kernel reaches only the ranges that a launch names and those
that were registered with the device; anything else ends the launch with a fault in its report.
Sizes are bytes.
"""

from __future__ import annotations

import ctypes
import signal
from collections.abc import Sequence
from typing import Any

from . import _gfx_structs as structs
from . import _library
from ._gfx_types import (
    ALL_CHECKS,
    Argument,
    Event,
    Kernel,
    Options,
    Range,
    Report,
    Statistics,
)
from ._options import arch_number

__all__ = [
    "ALL_CHECKS",
    "Argument",
    "Device",
    "Event",
    "Kernel",
    "Module",
    "Options",
    "Range",
    "Report",
    "Statistics",
]


def _functions() -> Any:
    library = _library.load()
    if getattr(library, "_gfx_declared", False):
        return library
    for name, (result, arguments) in structs.PROTOTYPES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    library._gfx_declared = True  # type: ignore[attr-defined]
    return library


def _fields(struct: ctypes.Structure) -> dict[str, Any]:
    return {field[0]: getattr(struct, field[0]) for field in struct._fields_}


def _ends_on_interrupt() -> bool:
    """Whether SIGINT becomes a KeyboardInterrupt: another handler may want the launch to go on."""
    return signal.getsignal(signal.SIGINT) is signal.default_int_handler


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode("utf-8", "replace")


def _event(struct: structs.Event) -> Event:
    values: dict[str, Any] = {
        name: _text(value) if isinstance(value, bytes) else value
        for name, value in _fields(struct).items() if name != "is_fault"}
    values["workgroup"] = tuple(values["workgroup"])
    return Event(**values)


class Module:
    """A loaded code object."""

    def __init__(self, device: Device, handle: int) -> None:
        self.device = device
        self._handle = handle
        self._kernels: dict[str, Kernel] = {}

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            _functions().mla_gfx_unload(self._handle)

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """All kernels, sorted by their place in the code object."""
        names: list[str] = []
        while (name := _functions().mla_gfx_kernel_name(self._handle, len(names))) is not None:
            names.append(_text(name))
        return tuple(names)

    def kernel(self, name: str) -> Kernel:
        """UsageError if there is no such kernel."""
        if name not in self._kernels:
            self._kernels[name] = self._read_kernel(name)
        return self._kernels[name]

    def _read_kernel(self, name: str) -> Kernel:
        library, info = _functions(), structs.Kernel()
        _library.check(library.mla_gfx_kernel_of(self._handle, name.encode(), ctypes.byref(info)))
        values = _fields(info)
        arguments = []
        for index in range(values.pop("argument_count")):
            one = structs.Argument()
            _library.check(library.mla_gfx_argument_of(self._handle, name.encode(), index,
                                                       ctypes.byref(one)))
            arguments.append(Argument(one.offset, one.size, _text(one.kind)))
        return Kernel(name=name, arguments=tuple(arguments), **values)

    def run(self, kernel: str, *, grid: Sequence[int], block: Sequence[int], kernarg: bytes = b"",
            ranges: Sequence[Range] = (), dynamic_lds: int = 0,
            options: Options = Options()) -> Report:  # noqa: B008 (immutable)
        """Runs a kernel to its end, or to its first fault.

        grid: workgroups in x, y, z. block: threads in x, y, z. kernarg: the argument block; hidden
        arguments may be left out. Raises UsageError where the launch cannot start. Ctrl-C ends it
        with KeyboardInterrupt, in other threads than the main one with FaultError, and both say
        where the waves were. A handler of SIGINT or SIGTERM of the program's own is called when the
        launch has ended. SIGTERM without one says where they were, and ends the process.
        """
        library, launch = _functions(), structs.Launch()
        library.mla_gfx_launch_defaults(ctypes.byref(launch))
        launch.kernel = kernel.encode()
        launch.grid[:], launch.block[:] = tuple(grid), tuple(block)
        launch.kernarg, launch.kernarg_size = kernarg, len(kernarg)
        listed = (structs.Range * len(ranges))()
        for place, one in zip(listed, ranges, strict=True):
            place.address, place.size, place.name = one.address, one.size, one.name.encode()
            place.rights = structs.READ_WRITE if one.writable else structs.READ
        launch.ranges, launch.range_count = listed, len(ranges)
        launch.dynamic_lds = dynamic_lds
        launch.checks = sum(structs.CHECKS[check] for check in options.checks)
        launch.order = structs.ORDERS[options.order]
        launch.arrival = structs.ARRIVALS[options.arrival]
        if options.instruction_limit is not None:
            launch.instruction_limit = options.instruction_limit
        for field in ("fence", "fault_limit", "slice", "seed", "threads", "arrival_number"):
            setattr(launch, field, getattr(options, field))
        handle = ctypes.c_void_p()
        run = library.mla_gfx_run_interruptibly if _ends_on_interrupt() else library.mla_gfx_run
        try:
            status = run(self.device._handle, self._handle, ctypes.byref(launch),
                         ctypes.byref(handle))
        except KeyboardInterrupt:
            # Python's handler, as soon as the call is over: the library knows where the waves were.
            where = _text(library.mla_last_error())
            raise KeyboardInterrupt(where if " was interrupted: " in where else "") from None
        _library.check(status)
        try:
            return _read_report(kernel, handle)
        finally:
            library.mla_gfx_free(handle)


def _read_report(kernel: str, handle: ctypes.c_void_p) -> Report:
    library = _functions()
    faults: list[Event] = []
    findings: list[Event] = []
    for index in range(library.mla_gfx_event_count(handle)):
        event = structs.Event()
        _library.check(library.mla_gfx_event_of(handle, index, ctypes.byref(event)))
        (faults if event.is_fault else findings).append(_event(event))
    statistics = structs.Statistics()
    _library.check(library.mla_gfx_statistics_of(handle, ctypes.byref(statistics)))
    return Report(kernel, tuple(faults), tuple(findings),
                  library.mla_gfx_findings_dropped(handle), Statistics(**_fields(statistics)))


class Device:
    """An emulated gfx942 (MI300X) or gfx950 (MI355X)."""

    def __init__(self, arch: str) -> None:
        """UsageError for another architecture."""
        handle = ctypes.c_void_p()
        _library.check(_functions().mla_gfx_open(arch_number(arch), ctypes.byref(handle)))
        self.arch = arch
        self._handle = handle.value

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            _functions().mla_gfx_close(self._handle)

    @property
    def properties(self) -> dict[str, int]:
        """wave_size (lanes), lds_bytes (of a workgroup), compute_units, max_threads."""
        out = structs.Properties()
        _library.check(_functions().mla_gfx_properties_of(self._handle, ctypes.byref(out)))
        return _fields(out)

    def load(self, code_object: bytes) -> Module:
        """UsageError or UnsupportedError for what is no code object of this architecture."""
        handle = ctypes.c_void_p()
        _library.check(_functions().mla_gfx_load(self._handle, code_object, len(code_object),
                                                 ctypes.byref(handle)))
        assert handle.value is not None
        return Module(self, handle.value)

    def register(self, memory: Range) -> None:
        """Memory that every launch may touch, until release(); it stays the caller's."""
        rights = structs.READ_WRITE if memory.writable else structs.READ
        _library.check(_functions().mla_gfx_register(
            self._handle, memory.address, memory.size, memory.name.encode(), rights))

    def release(self, address: int) -> None:
        """Forgets the range that begins at `address`."""
        _library.check(_functions().mla_gfx_release(self._handle, address))
