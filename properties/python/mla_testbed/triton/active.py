"""Makes the emulated GPUs Triton's, from here on or for a block."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..errors import UnsupportedError
from . import state


def _drivers() -> Any:
    """Triton's; UnsupportedError where it is not installed."""
    try:
        from triton.runtime import driver
    except ModuleNotFoundError as e:
        raise UnsupportedError(
            "Triton is not installed: pip install 'triton>=3.7,<3.10' torch") from e
    return driver


def _set_driver() -> None:
    driver = _drivers()
    from .driver import EmulatorDriver

    if type(driver._active) is not EmulatorDriver:  # that of AITER's world refuses host tensors
        driver.set_active(EmulatorDriver())


def activate(arch: str = "gfx942") -> None:
    """From here on Triton kernels are compiled for `arch` and run in the emulator."""
    state.known_arch(arch)
    _set_driver()
    state.set_default_arch(arch)


@contextlib.contextmanager
def emulated(arch: str = "gfx942", **fields: Any) -> Iterator[None]:
    """Inside, launches run on this architecture; `fields` as for options()."""
    driver = _drivers()
    before = driver._active
    token = state.set_arch(arch)
    try:
        _set_driver()
        with state.options(**fields):
            yield
    finally:
        state.reset_arch(token)
        driver._active = before
