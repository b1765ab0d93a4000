"""Imported by every Python whose PYTHONPATH begins with this directory: captures MLA steps where
MLA_TESTBED_CAPTURE names a folder, then runs the sitecustomize that this one hides."""
import importlib.machinery
import importlib.util
import os
import pathlib
import sys

_HERE = pathlib.Path(__file__).resolve().parent


def _hidden() -> None:
    others = [path for path in sys.path if pathlib.Path(path or os.curdir).resolve() != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("MLA_TESTBED_CAPTURE"):
    # The package may not be where this Python looks: it is around this file.
    _package = str(_HERE.parents[1])
    sys.path.append(_package)
    try:
        from mla_testbed.capture_plugin import register

        register()
    finally:
        sys.path.remove(_package)
_hidden()
