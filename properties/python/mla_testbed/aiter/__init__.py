"""AITER's own, unmodified Python on a CPU.

AITER finds its compiled modules in the directory that AITER_JIT_DIR names. `entered()` provides
such a directory, whose modules call this library, the programs that AITER asks about the machine,
and torch as a machine with one GPU (mla_testbed.world). Everything above stays AITER's.

    from mla_testbed import aiter, world
    with aiter.entered(world.machine("gfx942")):
        import aiter  # the installed one, or a checkout on sys.path
"""

from __future__ import annotations

from .findings import ComparisonError, Finding, Findings
from .imports import NotServedError
from .stage import Stage, entered

__all__ = ["ComparisonError", "Finding", "Findings", "NotServedError", "Stage", "entered"]
