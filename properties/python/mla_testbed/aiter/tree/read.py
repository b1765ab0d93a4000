"""Which files of a tree a process of it has used: Python of which a function ran, data that Python
opened, and what its modules were made from. MLA_TESTBED_READ names a folder for the answer. Code
objects are opened by AITER's C++ and are not among them.

`import aiter` imports hundreds of files. One that has functions counts when one of them runs; one
that has none is constants, and counts when it is imported. A Triton function counts when it was
compiled.
"""

from __future__ import annotations

import inspect
import json
import os
import pathlib
import sys
from collections.abc import Mapping
from types import CodeType, FrameType
from typing import Any

from ...module_use import counts
from ..own import cache

VARIABLE = "MLA_TESTBED_READ"
_OF_THE_RUN = {"run", "first_slot", "slots", "record_stages", "softmax_scale", "q_scale",
               "kv_scale"}


class Reading:
    """Watches from now on; an audit hook cannot be removed, so one for a process."""

    def __init__(self, tree: pathlib.Path, folder: pathlib.Path) -> None:
        self._tree, self._file = str(tree.resolve()) + os.sep, folder / f"{os.getpid()}.json"
        self._opened: set[str] = set()
        self._ran: set[CodeType] = set()
        self._told = -1
        self._shapes: set[str] = set()
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
            self._opened.add(arguments[0])

    def _call(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            self._ran.add(frame.f_code)

    def tell(self) -> None:
        """Writes what was used so far, unless that is told already; a call has ended."""
        sys.setprofile(None)
        names = set(self._opened)
        # The bodies of modules and of classes are no functions.
        names |= {code.co_filename for code in tuple(self._ran)
                  if code.co_flags & inspect.CO_OPTIMIZED}
        names |= {file for module in tuple(sys.modules.values())
                  if (file := getattr(module, "__file__", None)) and file.startswith(self._tree)
                  and counts(module)}
        below = {os.path.realpath(name) for name in names}
        found = {name[len(self._tree):] for name in below if name.startswith(self._tree)}
        found |= cache.read_of_tree()
        if len(found) != self._told:
            self._told = len(found)
            self._file.write_text(json.dumps(sorted(found)), encoding="utf-8")


def watch(tree: pathlib.Path) -> Reading | None:
    """None where nobody asks."""
    folder = os.environ.get(VARIABLE)
    return Reading(tree, pathlib.Path(folder)) if folder else None
