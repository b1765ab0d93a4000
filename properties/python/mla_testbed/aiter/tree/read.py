"""Which files of a tree a process of it has used: Python of which a function ran, data that Python
opened, and what its modules were made from. MLA_TESTBED_READ names a folder for the answer: a file
for a process and its copies, a line for each name. A name is written as soon as it is known, since
a check of AITER's may end the process before its call has ended. Code objects are opened by AITER's
C++ and are not among them.

`import aiter` imports hundreds of files. One that has functions counts when one of them runs; one
that has none is constants, and counts when the import or the call that imported it has ended. A
Triton function counts when it was compiled.
"""

from __future__ import annotations

import inspect
import os
import pathlib
import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any

from ...module_use import counts
from ..own import cache

VARIABLE = "MLA_TESTBED_READ"
_OF_THE_RUN = {"run", "first_slot", "slots", "record_stages", "softmax_scale", "q_scale",
               "kv_scale"}


class Reading:
    """Watches from now on; an audit hook cannot be removed, so one for a process."""

    def __init__(self, tree: pathlib.Path, folder: pathlib.Path) -> None:
        self._tree = str(tree.resolve()) + os.sep
        self._file = os.open(folder / str(os.getpid()), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._seen: set[str] = set()
        self._shapes: set[str] = set()
        cache.LISTENERS.append(lambda name: self._add(self._tree + name))
        sys.addaudithook(self._open)
        sys.setprofile(self._call)

    def begin(self, head: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """A call begins. What runs is watched for the first call of each shape only: watching makes
        Python several times slower, and the same shape takes the same way through AITER."""
        sizes = {name: array.shape for name, array in arrays.items() if array.ndim == 1}
        shape = repr(sorted((*sizes.items(), *(
            (name, value) for name, value in head.items() if name not in _OF_THE_RUN)), key=str))
        sys.setprofile(None if shape in self._shapes else self._call)
        self._shapes.add(shape)

    def _open(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str) and isinstance(arguments[1], str) \
                and "r" in arguments[1] and not arguments[0].endswith((".py", ".pyc")):
            self._add(arguments[0])

    def _call(self, frame: FrameType, event: str, _: Any) -> None:
        # The bodies of modules and of classes are no functions.
        if event == "call" and (code := frame.f_code).co_flags & inspect.CO_OPTIMIZED:
            self._add(code.co_filename)

    def _add(self, name: str) -> None:
        if name in self._seen:
            return
        self._seen.add(name)
        real = os.path.realpath(name)
        if real.startswith(self._tree):
            os.write(self._file, os.fsencode(f"{real[len(self._tree):]}\n"))

    def tell(self) -> None:
        """An import or a call has ended."""
        sys.setprofile(None)
        for module in tuple(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if file and file.startswith(self._tree) and file not in self._seen and counts(module):
                self._add(file)


def watch(tree: pathlib.Path) -> Reading | None:
    """None where nobody asks."""
    folder = os.environ.get(VARIABLE)
    return Reading(tree, pathlib.Path(folder)) if folder else None
