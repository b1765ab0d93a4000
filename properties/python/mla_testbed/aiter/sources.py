"""The C++ of AITER that our modules stand for: is it still the C++ that they follow?

Our replacements of AITER's compiled modules are ports of one version. A change of AITER's C++ has
no effect on them, so a run over them says nothing about it. `compare` finds such changes: by the
SHA-256 of each source and of the headers below csrc that it includes, line endings normalised.
The table sources.json holds these numbers, and nothing of the sources. To make it anew:

    python -m mla_testbed.aiter.sources TREE VERSION > sources.json

Further sums of a file are those of releases whose served functions are the same. AITER 0.1.20 and
0.1.20.post1 differ in reshape_and_cache and its form _flash (cache_kernels.cu), in mrope_utils
(rope_common.h), in radix_traits (hip_reduce.h) and in an argument of inverse_rope_group_quant
(rocm_ops.hpp): our modules refuse all of these operations.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import re
import sys
from collections.abc import Iterable
from typing import Any

from ..ported import Ported

TABLE = pathlib.Path(__file__).with_name("sources.json")
#: Of each module the files that AITER's build description names.
ROOTS: dict[str, tuple[str, ...]] = {
    "module_aiter_core": ("pybind/aiter_core_pybind.cu",),
    "module_cache": ("pybind/cache_pybind.cu", "kernels/cache_kernels.cu"),
    "module_mla_asm": ("py_itfs_cu/asm_mla.cu",),
    "module_mla_metadata": ("pybind/mla_metadata_pybind.cu", "kernels/mla/metadata.cu"),
    "module_mla_reduce": ("pybind/mla_reduce_pybind.cu", "kernels/mla/reduce.cu"),
    "module_ps_metadata": ("pybind/ps_metadata_pybind.cu", "kernels/mla/metadata.cu"),
    "module_quant": ("pybind/quant_pybind.cu", "kernels/quant_kernels.cu"),
    "module_rope_1c_cached_positions_fwd": (
        "pybind/rope_1c_cached_positions_fwd_pybind.cu",
        "kernels/rope/general_1c_cached_positions_fwd_kernels.cu"),
}
#: Headers that our modules read from the tree under test (core_module.py).
READ = ("include/aiter_enum.h", "include/mx_quant_utils.h")
_INCLUDE = re.compile(rb"^\s*#\s*include\s*\"([^\"]+)\"", re.MULTILINE)


def compare(tree: pathlib.Path | None, modules: Iterable[str],
            table: pathlib.Path = TABLE) -> Ported:
    """Compares the sources of modules in a tree, or below an installed package's aiter_meta, with
    the version that ours follow. A module that the table does not know is compared with nothing.
    """
    known = json.loads(table.read_text(encoding="utf-8"))
    used = tuple(sorted(modules))
    csrc = None if tree is None else _csrc(tree)
    if csrc is None:
        where = "its package was not found" if tree is None else f"'{tree}' has no csrc/kernels"
        return Ported(known["version"], used, {}, f"{where}: give a source tree with --aiter")
    changed: dict[str, list[str]] = {}
    for module in used:
        for file in known["modules"].get(module, ()):
            if _sum(csrc / file) not in known["files"][file]:
                changed.setdefault(f"csrc/{file}", []).append(module)
    # Sources before headers, which explain less.
    order = sorted(changed, key=lambda file: ("/include/" in file, file))
    return Ported(known["version"], used, {file: tuple(changed[file]) for file in order})


def _csrc(tree: pathlib.Path) -> pathlib.Path | None:
    for directory in (tree / "csrc", tree / "aiter_meta" / "csrc"):
        if (directory / "kernels").is_dir():
            return directory
    return None


def _sum(file: pathlib.Path) -> str:
    """The SHA-256 of a text, whatever its line endings; "" for a file that cannot be read."""
    try:
        return hashlib.sha256(file.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
    except OSError:
        return ""


def table_of(tree: pathlib.Path, version: str) -> dict[str, Any]:
    """The contents of sources.json for a source tree.

    Raises:
        FileNotFoundError: a file of ROOTS is not there.
    """
    csrc = tree / "csrc"
    modules = {name: sorted(set(_closure(csrc, roots)) - set(READ))
               for name, roots in ROOTS.items()}
    files = sorted({file for names in modules.values() for file in names})
    return {"version": version, "modules": modules,
            "files": {file: [_sum(csrc / file)] for file in files}}


def _closure(csrc: pathlib.Path, roots: Iterable[str]) -> list[str]:
    """The files, and those below csrc that they include."""
    found: list[str] = []
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        text = (csrc / name).read_bytes()
        found.append(name)
        for included in _INCLUDE.findall(text):
            for base in (csrc / name).parent, csrc / "include":
                path = pathlib.Path(os.path.normpath(base / included.decode()))
                if path.is_file() and path.is_relative_to(csrc):
                    waiting.append(path.relative_to(csrc).as_posix())
                    break
    return found


if __name__ == "__main__":
    print(json.dumps(table_of(pathlib.Path(sys.argv[1]), sys.argv[2]), indent=1))
