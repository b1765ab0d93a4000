"""Which modules of AITER were used in a run: a mark for each, in a folder beside AITER_JIT_DIR.

AITER imports a module, or loads a library, at the first call of one of its operations. Marks are
files, so that forks of a process count too.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import sys
from typing import Any

from .. import _library

_FOLDER = "used"
_watching = False


def mark(module: str) -> None:
    """Called by a module of AITER_JIT_DIR when it is imported."""
    directory = os.environ.get("AITER_JIT_DIR")
    if directory:
        folder = pathlib.Path(directory).parent / _FOLDER
        with contextlib.suppress(OSError):  # the stage is over
            folder.mkdir(exist_ok=True)
            (folder / module).touch()


def marked(stage: pathlib.Path) -> tuple[str, ...]:
    """The modules that were used on a stage, by its directory."""
    folder = stage / _FOLDER
    return tuple(sorted(path.name for path in folder.iterdir())) if folder.is_dir() else ()


def watch_libraries() -> None:
    """Marks the libraries of AITER_JIT_DIR that ctypes loads; once for a process."""
    global _watching  # noqa: PLW0603 an audit hook cannot be removed
    if not _watching:
        _watching = True
        sys.addaudithook(_loaded)


def _loaded(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "ctypes.dlopen":
        return
    directory = os.environ.get("AITER_JIT_DIR")
    name = arguments[0]
    if directory and isinstance(name, (str, bytes, os.PathLike)):
        path = pathlib.Path(os.fsdecode(name))
        # One of AITER's own is a library of its own.
        if path.parent == pathlib.Path(directory) and \
                path.resolve() == _library.library_path().resolve():
            mark(path.stem)
