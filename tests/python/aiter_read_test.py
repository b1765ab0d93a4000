"""What a process of a tree says that it used."""

import os
import signal
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
import os, pathlib, sys
import numpy as np
from mla_testbed.aiter.own import cache
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
if "abort" in sys.argv:
    reading.begin(dict(head, heads=32), {"kv": np.zeros(3)})
    aiter.shaped.later()
    cache.tell_of_tree(["csrc/module.cu"])
    os.abort()
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


def used(tmp_path, word, end=0):
    for name, text in FILES.items():
        place = tmp_path / "tree" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    said = tmp_path / "said"
    said.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "tree"), word], check=False,
        env={**os.environ, "MLA_TESTBED_READ": str(said), "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == end
    (file,) = said.iterdir()
    return set(file.read_text().splitlines())


@pytest.mark.parametrize(("word", "more"), [
    ("", set()), ("shape", {"aiter/shaped.py"}), ("batch", {"aiter/shaped.py"}),
    ("compile", {"aiter/jitted.py"})])
def test_functions_count_when_they_run_for_the_first_call_of_a_shape_and_constants_always(
        tmp_path, word, more):
    assert used(tmp_path, word) == USED | more


def test_a_call_that_ends_its_process_has_used_what_ran_and_what_its_modules_were_made_from(
        tmp_path):
    read = used(tmp_path, "abort", end=-signal.SIGABRT)
    assert read == USED | {"aiter/shaped.py", "csrc/module.cu"}
