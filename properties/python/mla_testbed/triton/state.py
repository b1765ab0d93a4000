"""What holds between launches: the architecture, how launches run, what the last one did."""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import os
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from .. import gfx
from ..errors import UsageError
from .memory import Registered

#: In the order of Triton's device numbers: a kernel is compiled once for each device.
ARCHS = ("gfx942", "gfx950")

ARCH_VARIABLE = "MLA_TESTBED_ARCH"
CHECKS_VARIABLE = "MLA_TESTBED_CHECKS"
FENCE_VARIABLE = "MLA_TESTBED_FENCE"
SCHEDULE_VARIABLE = "MLA_TESTBED_SCHEDULE"
ARRIVAL_VARIABLE = "MLA_TESTBED_ARRIVAL"


class _Thread(threading.local):
    report: gfx.Report | None = None
    instructions: int = 0


_thread = _Thread()
_registered = Registered()
_arch: contextvars.ContextVar[str | None] = contextvars.ContextVar("arch", default=None)
_options: contextvars.ContextVar[gfx.Options | None] = contextvars.ContextVar("o", default=None)
_default_arch: str | None = None  # of activate(): for every thread


def known_arch(arch: str) -> str:
    """UsageError for another one."""
    if arch not in ARCHS:
        raise UsageError(f"arch is '{arch}'; expected {' or '.join(ARCHS)}")
    return arch


def current_arch() -> str:
    """Of emulated(), else of activate(), else MLA_TESTBED_ARCH, else gfx942."""
    return _arch.get() or _default_arch or known_arch(os.environ.get(ARCH_VARIABLE) or "gfx942")


def set_arch(arch: str) -> contextvars.Token[str | None]:
    """For this context, as torch.cuda.set_device() is for a thread; `reset_arch` takes it back."""
    return _arch.set(known_arch(arch))


def reset_arch(token: contextvars.Token[str | None]) -> None:
    """What held before the set_arch() that returned the token."""
    _arch.reset(token)


def set_default_arch(arch: str) -> None:
    """For every thread and context that has none of its own."""
    global _default_arch
    _default_arch = known_arch(arch)


def named_checks(checks: str | Iterable[str]) -> frozenset[str]:
    """From "all", "", a name, names with commas between, or an iterable of names."""
    if isinstance(checks, str):
        if checks == "all":
            return gfx.ALL_CHECKS
        checks = (name.strip() for name in checks.split(",") if name.strip())
    return frozenset(checks)


def current_options() -> gfx.Options:
    """Of options(), else of the variables MLA_TESTBED_CHECKS, _FENCE, _SCHEDULE and _ARRIVAL."""
    chosen = _options.get()
    if chosen is not None:
        return chosen
    return gfx.Options(
        checks=named_checks(os.environ.get(CHECKS_VARIABLE) or ""),
        fence=_number(FENCE_VARIABLE, 0, "bytes")).timed(
            os.environ.get(SCHEDULE_VARIABLE) or "", os.environ.get(ARRIVAL_VARIABLE) or "")


def _number(variable: str, default: int, unit: str) -> int:
    text = os.environ.get(variable) or str(default)
    if not text.isdecimal():
        raise UsageError(f"{variable} is '{text}'; expected a number of {unit}")
    return int(text)


@contextlib.contextmanager
def options(*, checks: str | Iterable[str] | None = None, **fields: Any) -> Iterator[gfx.Options]:
    """Launches inside run with these options; see mla_testbed.gfx.Options for the fields.

    checks: names, or "all" for those that find mistakes (waits, LDS races, uninitialised).
    """
    if checks is not None:
        fields["checks"] = named_checks(checks)
    try:
        chosen = dataclasses.replace(current_options(), **fields)
    except TypeError as e:
        known = ", ".join(field.name for field in dataclasses.fields(gfx.Options))
        raise UsageError(f"{e}; expected {known}") from e
    token = _options.set(chosen)
    try:
        yield chosen
    finally:
        _options.reset(token)


def last_report() -> gfx.Report | None:
    """What this thread's last launch did; None before the first."""
    return _thread.report


def keep_report(report: gfx.Report) -> None:
    """Of the launch that just ended."""
    _thread.report = report
    _thread.instructions += report.statistics.instructions


def executed_instructions() -> int:
    """Of all launches of this thread."""
    return _thread.instructions


def register(tensor: Any, name: str) -> None:
    """Memory that kernels reach without being given it, such as through pointers in a tensor."""
    _registered.add(tensor, name)


def unregister(tensor: Any) -> None:
    """Takes register() back."""
    _registered.remove(tensor)


def registered_ranges() -> list[gfx.Range]:
    """Of register()."""
    return _registered.ranges()
