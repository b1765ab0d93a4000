"""Which of AITER's compiled modules are its own in a run, and which are our ports."""

from __future__ import annotations

import dataclasses
import importlib.util
import pathlib
import shutil
from typing import Any

from ... import rocm
from ...errors import LibraryError
from .. import jit_directory, sources
from ..session import aiter_tree

MODES = ("auto", "own", "ported")


@dataclasses.dataclass(frozen=True)
class Choice:
    """ported: the modules that ours take the place of. own_rest: all others are AITER's own; else
    they are refused. why: said once, for the user; "" where all is as ever."""

    ported: frozenset[str]
    own_rest: bool = False
    why: str = ""

    def own(self, module: str) -> bool:
        """Whether a module is built from AITER's sources."""
        return self.own_rest and module not in self.ported


_ALL = frozenset((*jit_directory.MODULES, *jit_directory.LIBRARIES))


def choose(mode: str, tree: pathlib.Path | None) -> Choice:
    """The choice for an AITER; tree: its source tree, None for the installed one.

    own: every module is AITER's own. ported: none is. auto: as ported where the C++ is that which
    ours follow; else the modules that pass each other tensors are own together, and a library
    where it changed. LibraryError where own modules are asked for and cannot be built.
    """
    if mode not in MODES:
        raise ValueError(f"modules is '{mode}'; expected one of {', '.join(MODES)}")
    if mode == "ported":
        return Choice(_ALL)
    missing = unmet()
    if mode == "own":
        if missing:
            raise LibraryError(f"AITER's own modules cannot be built: {missing}")
        return Choice(frozenset(), True, "AITER's own modules, all of them")
    changed = _changed(tree)
    if not changed:
        return Choice(_ALL)
    if missing:
        return Choice(_ALL, False, f"AITER's C++ was changed, and cannot be built: {missing}")
    own = {module for module in jit_directory.LIBRARIES if module in changed}
    if any(module in changed for module in jit_directory.MODULES):
        own |= set(jit_directory.MODULES)
    named = ", ".join(sorted(changed))
    return Choice(_ALL - own, True, f"AITER's C++ of {named} is not the one that the ports follow: "
                                    f"own modules for {', '.join(sorted(own))}")


def _changed(tree: pathlib.Path | None) -> set[str]:
    found = sources.compare(tree if tree is not None else _installed(), sources.ROOTS)
    return {module for modules in found.changed.values() for module in modules}


def _installed() -> pathlib.Path | None:
    try:
        return aiter_tree()
    except ImportError:
        spec: Any = importlib.util.find_spec("aiter")
    if spec is None or spec.origin is None:
        return None
    return pathlib.Path(spec.origin).resolve().parents[1]


def unmet() -> str:
    """What AITER's JIT would miss on this machine; "" if nothing."""
    try:
        home = rocm.home()
    except LibraryError as e:
        return str(e)
    missing = [name for name in ("ninja", "c++") if shutil.which(name) is None]
    missing += [name for name in ("pybind11", "psutil", "pandas")
                if importlib.util.find_spec(name) is None]
    if missing:
        return f"{', '.join(missing)} is not installed"
    return "" if _has_clang(home) else "there is no clang++ from 20 on (Debian: clang-22 lld-22 " \
                                      "llvm-22)"


def _has_clang(home: pathlib.Path) -> bool:
    names = [f"clang++-{number}" for number in range(24, 19, -1)]
    return (home / "bin" / "hipcc").exists() and any(map(shutil.which, names))
