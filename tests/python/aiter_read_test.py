"""What a process of a tree says that it used."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="the package of a tree's process needs torch")

FILES = {
    "aiter/__init__.py": "from . import constants, idle, jitted, ran, shaped\n",
    "aiter/constants.py": "FOUR = 4\n",
    "aiter/idle.py": "class A:\n    X = 1\n\ndef never():\n    pass\n",
    "aiter/ran.py": "def now(name):\n    return open(name).read()\n",
    "aiter/shaped.py": "def later():\n    pass\n",
    "aiter/jitted.py": "class Fn:\n    arg_names = ()\n    cache_key = ''\n"
                       "    hash = None\n    def __call__(self):\n        pass\n"
                       "fn = Fn()\nfn.__module__ = __name__\n",
    "aiter/data.json": "{}",
}
PROGRAM = """
import pathlib, sys, types
import numpy as np
from mla_testbed.aiter.tree import read
tree = pathlib.Path(sys.argv[1])
reading = read.watch(tree)
sys.path.insert(0, str(tree))
import aiter
aiter.ran.now(str(tree / "aiter/data.json"))
head = {"call": "decode", "heads": 16, "run": {"arrival": ""}}
reading.begin(head, {"kv": np.zeros(3)})
if "compile" in sys.argv:
    aiter.jitted.fn.hash = "compiled"
reading.tell()
other = dict(head, run={"arrival": "late"})
if "shape" in sys.argv:
    other["heads"] = 32
if "batch" in sys.argv:
    reading.begin(other, {"kv": np.zeros(4)})
else:
    reading.begin(other, {"kv": np.zeros(3)})
aiter.shaped.later()
reading.tell()
"""
USED = {"aiter/__init__.py", "aiter/constants.py", "aiter/ran.py", "aiter/data.json"}


@pytest.mark.parametrize(("word", "more"), [
    ("", set()), ("shape", {"aiter/shaped.py"}), ("batch", {"aiter/shaped.py"}),
    ("compile", {"aiter/jitted.py"})])
def test_functions_count_when_they_run_for_the_first_call_of_a_shape_and_constants_always(
        tmp_path, word, more):
    for name, text in FILES.items():
        place = tmp_path / "tree" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    said = tmp_path / "said"
    said.mkdir()
    subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path / "tree"), word], check=True,
                   env={**os.environ, "MLA_TESTBED_READ": str(said),
                        "PYTHONDONTWRITEBYTECODE": "1"})
    (file,) = said.glob("*.json")
    assert set(json.loads(pathlib.Path(file).read_text())) == USED | more
