"""Functions of another project, taken unmodified from a source tree that the caller names.

Such a file imports half of its project. A kernel and its launcher need torch and Triton only, so
everything but the wanted functions and constants is blanked out; lines keep their numbers.
"""

from __future__ import annotations

import ast
import importlib.util
import pathlib
import tempfile
import types
from collections.abc import Iterable, Mapping
from typing import Any

from ...errors import UsageError

_IMPORTS = ("import functools, math; from typing import *; from collections.abc import Callable; "
            "from itertools import accumulate; import contextlib, torch, triton; "
            "import triton.language as tl\n")


def functions(tree: pathlib.Path, path: str, names: Iterable[str] | None,
              given: Mapping[str, Any] | None = None) -> types.ModuleType:
    """A module with these functions and constants of `path` below a tree; None: with all of them.

    given: what they use of the rest of their project, by name.

    Raises:
        UsageError: no such file, or it lacks a name.
    """
    source, wanted = tree / path, set(names or ())
    if not source.is_file():
        raise UsageError(f"'{source}' is not there; expected a source tree with {path}")
    text = source.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    kept, found = ["\n"] * len(lines), set()
    for node in ast.parse(text).body:
        if _name(node) not in wanted if names is not None else not _name(node):
            continue
        found.add(_name(node))
        decorators = getattr(node, "decorator_list", [])
        begin = min([node.lineno, *(item.lineno for item in decorators)])
        kept[begin - 1:node.end_lineno] = lines[begin - 1:node.end_lineno]
    if not wanted <= found:
        raise UsageError(f"'{source}' has no {', '.join(sorted(wanted - found))}: another version "
                         "than those that docs/use/sparse.md names")
    kept[0] = _IMPORTS
    copy = pathlib.Path(tempfile.mkdtemp(prefix="mla-testbed-sparse-")) / source.name
    copy.write_text("".join(kept), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"mla_testbed_of_{source.stem}", copy)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    vars(module).update(given or {})
    spec.loader.exec_module(module)
    return module


def _name(node: ast.stmt) -> str:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return ""
