"""libamdhip64.so of the stand-in: device memory of torch as its memory, faults as exceptions."""

from __future__ import annotations

import ctypes
import functools
import inspect
import pathlib
from collections.abc import Callable
from typing import Any

import torch

from ... import rocm
from ...errors import FaultError, UsageError
from ...ported import OWN_RAN
from ...world import notes
from .compare import Call, Differences, twin

_MOST_TEXT = 1 << 16
_SHOWN = 16


class Ranges:
    """What kernels may touch: each storage of a world that is on the device, or pinned."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._names: dict[int, str] = {}
        self._added: dict[int, tuple[int, str]] = {}

    def name(self, storage: torch.UntypedStorage, name: str) -> None:
        """What a fault calls this storage in the next call."""
        self._names[storage.data_ptr()] = name

    def update(self) -> None:
        """Brings the library's ranges up to date."""
        wanted: dict[int, tuple[int, str]] = {}
        last = end = 0
        storages = {one.data_ptr(): one.nbytes() for one in notes.reached_storages()}
        for address, size in sorted(storages.items()):
            if address < end:  # two storages over the same bytes
                end = max(end, address + size)
                wanted[last] = (end - last, wanted[last][1])
            elif size != 0:
                last, end = address, address + size
                wanted[address] = (size, self._names.get(address, "device memory"))
        for address in [a for a, told in self._added.items() if wanted.get(a) != told]:
            self._library.hipTestbedRemoveRange(ctypes.c_void_p(address))
            del self._added[address]
        for address, (size, name) in wanted.items():
            if address not in self._added:
                self._library.hipTestbedAddRange(
                    ctypes.c_void_p(address), ctypes.c_size_t(size), name.encode())
                self._added[address] = (size, name)
        self._names.clear()


class Runtime:
    """The emulator as AITER's modules see it; one for a process."""

    def __init__(self) -> None:
        path: pathlib.Path = rocm.home() / "lib" / "libamdhip64.so.6"
        # Before any module that needs it: they find this one by its name.
        self._library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        self._library.hipTestbedDeferFaults(1)
        self.ranges = Ranges(self._library)
        self.used: set[str] = set()
        self.differences: Differences | None = None  # kept where calls are compared

    def before(self, arguments: dict[str, Any]) -> None:
        """An operation is about to be called with these arguments."""
        for name, value in arguments.items():
            if isinstance(value, torch.Tensor) and notes.place(value) != notes.HOST:
                self.ranges.name(value.untyped_storage(), name)
        self.ranges.update()

    def after(self, operation: str) -> None:
        """FaultError: what the kernels of the operation did wrong, and what checks found."""
        count, report = self._taken()
        if count == 0:
            return
        lines = report.split("\n")
        more = f"\n... {count - _SHOWN} more" if count > _SHOWN else ""
        raise FaultError("\n".join([f"{operation}:", *lines[:_SHOWN]]) + more, report=report)

    def _taken(self) -> tuple[int, str]:
        text = ctypes.create_string_buffer(_MOST_TEXT)
        count: int = self._library.hipTestbedTakeFaults(text, _MOST_TEXT)
        return count, text.value.decode(errors="replace").rstrip("\n")

    def take_launches(self) -> list[str]:
        """The kernels that were launched since the last call, in their order; the first 1024."""
        text = ctypes.create_string_buffer(_MOST_TEXT)
        self._library.hipTestbedTakeLaunches(text, _MOST_TEXT)
        return text.value.decode(errors="replace").splitlines()

    def set_units(self, units: int) -> None:
        """What the device's properties answer from now on. ValueError: not 1 to 1024."""
        if self._library.hipTestbedSetUnits(units) != 0:
            raise ValueError(f"{units} compute units; expected 1 to 1024")

    def set_run(self, checks: str, schedule: str, arrival: str, matrix: str) -> None:
        """How launches run from now on, in the words of the command line. UsageError: other words.
        """
        if self._library.hipTestbedSetRun(checks.encode(), schedule.encode(), arrival.encode(),
                                          matrix.encode()) != 0:
            raise UsageError(self._taken()[1])

    def counted(self) -> tuple[int, int]:
        """Launches and wave instructions so far."""
        launches, instructions = ctypes.c_ulonglong(), ctypes.c_ulonglong()
        self._library.hipTestbedCount(ctypes.byref(launches), ctypes.byref(instructions))
        return launches.value, instructions.value

    def around_operations(self, core: Any, own: Callable[[str], bool]) -> None:
        """The change of aiter.jit.core: `around` for the operations of own modules."""
        real = core.compile_ops

        @functools.wraps(real)
        def compile_ops(md_name: str, fc_name: str | None = None, *args: Any,
                        **kwargs: Any) -> Any:
            decorate = real(md_name, fc_name, *args, **kwargs)
            if not own(md_name):
                return decorate

            def decorated(function: Any) -> Any:
                name = fc_name or function.__name__
                return self.around(decorate(function), inspect.signature(function), md_name, name)

            return decorated

        core.compile_ops = compile_ops

    def lines(self) -> list[str]:
        """What a report says; nothing where no own module was used."""
        if not self.used:
            return []
        launches, instructions = self.counted()
        return [f"{OWN_RAN}{', '.join(sorted(self.used))} ({launches:,} launches, "
                f"{instructions:,} wave instructions)",
                *(self.differences.lines() if self.differences is not None else [])]

    def around(self, function: Callable[..., Any], signature: inspect.Signature, module: str,
               name: str) -> Callable[..., Any]:
        """The function of AITER's Python that calls an operation, with both of these around it."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                arguments = dict(signature.bind(*args, **kwargs).arguments)
            except TypeError:  # the function itself says what is wrong
                arguments = {}
            self.used.add(module)
            self.before(arguments)
            compared = self._compared(module, name, signature, args, kwargs)
            result = function(*args, **kwargs)
            self.after(f"{module}.{name}")
            if compared is not None and self.differences is not None:
                compared.compare(self.differences)
            return result

        call.__signature__ = signature  # type: ignore[attr-defined]
        return call


    def _compared(self, module: str, name: str, signature: inspect.Signature, args: Any,
                  kwargs: Any) -> Call | None:
        port = None if self.differences is None else twin(module, name)
        return None if port is None else Call(module, name, port, signature.bind(*args, **kwargs))


_runtime: Runtime | None = None


def runtime() -> Runtime:
    """The one of this process."""
    global _runtime
    if _runtime is None:
        _runtime = Runtime()
    return _runtime
