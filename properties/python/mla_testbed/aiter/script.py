"""A script of AITER's, such as one of its tests, as a module: what a grid of ours calls."""

from __future__ import annotations

import importlib.util
import pathlib
from typing import Any


def imported(path: str) -> Any:
    """The module of a file. ImportError: it is none of Python's."""
    spec = importlib.util.spec_from_file_location(f"aiter_{pathlib.Path(path).stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"'{path}' cannot be imported")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
