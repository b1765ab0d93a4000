"""What the replacements of AITER's modules read about the machine that they stand on."""

from __future__ import annotations

import os
import pathlib
import sys

ARCHS = {"gfx942": 942, "gfx950": 950}


def arch() -> str:
    """The architecture, as AITER reads it."""
    found = os.environ.get("GPU_ARCHS", "")
    if found not in ARCHS:
        raise RuntimeError(
            f"GPU_ARCHS is '{found}'; expected {' or '.join(ARCHS)}: start the script with "
            "mla-testbed-python")
    return found


def arch_number() -> int:
    """942 or 950."""
    return ARCHS[arch()]


def compute_units() -> int:
    """The number of compute units, as AITER reads it."""
    found = os.environ.get("CU_NUM", "")
    if not found.isdigit() or int(found) == 0:
        raise RuntimeError(f"CU_NUM is '{found}'; expected a number of compute units")
    return int(found)


def experimental() -> bool:
    """AITER_ENABLE_EXPERIMENTAL, read as AITER's C++ does."""
    try:
        return int(os.environ.get("AITER_ENABLE_EXPERIMENTAL", "0")) != 0
    except ValueError:
        return False


def aiter_tree() -> pathlib.Path:
    """The root of the AITER that is imported, or being imported."""
    module = sys.modules.get("aiter")
    file = getattr(module, "__file__", None)
    if file is None:
        raise ImportError("module_aiter_core was imported without AITER: import aiter first")
    return pathlib.Path(file).resolve().parents[1]
