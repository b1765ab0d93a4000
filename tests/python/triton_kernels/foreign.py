"""Kernels of other projects, taken unmodified from a source tree that the caller names.

Such a file imports half of its project. A kernel needs Triton only, so everything but the wanted
functions and constants is blanked out; lines keep their numbers.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import pathlib
import types
from collections.abc import Mapping
from typing import Any

import pytest

_IMPORTS = "import torch, triton; import triton.language as tl\n"


def _name(node: ast.stmt) -> str:
    if isinstance(node, ast.FunctionDef):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ""


def kernels(variable: str, path: str, names: list[str], folder: pathlib.Path,
            given: Mapping[str, Any] | None = None) -> types.ModuleType:
    """A module with these functions and constants of `path`, below the tree `variable` names.

    `given` has what they use of the rest of their project, by name. Skips the test where there is
    no tree, or no such file; a name that is missing fails it.
    """
    root = os.environ.get(variable)
    if not root:
        pytest.skip(f"{variable} names no source tree")
    source = pathlib.Path(root) / path
    if not source.is_file():
        pytest.skip(f"{source} is not there")
    text = source.read_text()
    lines = text.splitlines(keepends=True)
    kept = ["\n"] * len(lines)
    found = set()
    for node in ast.parse(text).body:
        if _name(node) not in names:
            continue
        found.add(_name(node))
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(item.lineno for item in decorators)])
        kept[first - 1:node.end_lineno] = lines[first - 1:node.end_lineno]
    assert found == set(names), f"{source} lacks {set(names) - found}"
    assert kept[0] == "\n", "the first line is that of the imports"
    kept[0] = _IMPORTS
    copy = folder / source.name
    copy.write_text("".join(kept))
    spec = importlib.util.spec_from_file_location(f"foreign_{source.stem}", copy)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    vars(module).update(given or {})
    spec.loader.exec_module(module)
    return module
