"""A directory for AITER_JIT_DIR: replacements of AITER's compiled modules.

AITER imports a module such as module_mla_metadata from this directory, and loads a library such as
module_mla_asm.so from it. The modules are one-line files that refer to this package; the library
is libmla_testbed itself, which has AITER's entry points.
"""

from __future__ import annotations

import pathlib
from collections.abc import Set

from .. import _library

#: Module of AITER's -> module of this package.
MODULES = {
    "module_aiter_core": "core_module",
    "module_mla_metadata": "metadata",
    "module_ps_metadata": "metadata",
    "module_mla_reduce": "reduce",
    "module_cache": "cache",
    "module_quant": "quant",
    "module_rope_1c_cached_positions_fwd": "rope",
}
#: Libraries that AITER loads with ctypes.
LIBRARIES = ("module_mla_asm",)


def write(directory: pathlib.Path, ported: Set[str]) -> None:
    """Fills a directory with the modules that are ported; what is in it already is replaced."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, module in MODULES.items():
        if name not in ported:
            continue
        (directory / f"{name}.py").write_text(
            f'"""{name}, served by mla-testbed."""\n'
            "from mla_testbed.aiter import used\n"
            f"from mla_testbed.aiter.{module} import *  # noqa: F403\n"
            "from mla_testbed.aiter.imports import refuse_operation\n"
            "from mla_testbed.aiter.operation import _set_current_hip_stream  # noqa: F401\n"
            f"\nused.mark({name!r})\n"
            "__getattr__ = refuse_operation(__name__)\n",
            encoding="utf-8")
    for name in ported & set(LIBRARIES):
        link = directory / f"{name}.so"
        link.unlink(missing_ok=True)
        link.symlink_to(_library.library_path().resolve())
