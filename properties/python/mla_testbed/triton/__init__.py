"""Triton kernels on an emulated MI300X (gfx942) or MI355X (gfx950), launched with CPU tensors.

>>> import mla_testbed.triton
>>> mla_testbed.triton.activate("gfx942")
>>> kernel[grid](x, y, n, BLOCK=256)          # an ordinary Triton launch, torch tensors on the CPU

or, without a line of it in the program, `MLA_TESTBED_ARCH=gfx942 python script.py`: the package is
an entry point of Triton, and that variable makes it the active driver.

The ordinary Triton compiles for the architecture; the machine code runs in the emulator. An access
outside the tensors of a launch raises KernelFault with kernel, source line, program, wave, lane and
tensor. `options()` switches on more checks.
"""

from __future__ import annotations

from .active import activate, emulated
from .compiling import Compiled, compile_only
from .faults import KernelFault
from .state import ARCHS, last_report, options, register, unregister

__all__ = [
    "ARCHS",
    "Compiled",
    "KernelFault",
    "activate",
    "compile_only",
    "emulated",
    "last_report",
    "options",
    "register",
    "unregister",
]
