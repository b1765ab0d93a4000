"""Engines of our own, found by name in the workers too."""

import os
import pathlib
import sys

HERE = str(pathlib.Path(__file__).parent)
sys.path.insert(0, HERE)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [HERE, os.environ.get("PYTHONPATH")]))
