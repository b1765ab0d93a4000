"""The files that AITER reads on a stage last as long as the process, and no longer."""

import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="a stage needs torch, which is not installed")

SCRIPT = """
import gc, os, sys
from mla_testbed import world
from mla_testbed.aiter import Stage

directory = Stage(world.machine("gfx950")).directory
gc.collect()
print(directory, directory.is_dir())
if os.fork() == 0:
    sys.exit()  # not at once: with what Python does at the end of a process
os.wait()
print(directory.is_dir())
"""


def test_the_files_of_a_stage_outlive_it_and_end_with_the_process(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(tmp_path / "script.py")], capture_output=True,
                          text=True, check=True)
    directory, there, after_a_fork = done.stdout.split()
    assert (there, after_a_fork) == ("True", "True")
    assert not pathlib.Path(directory).exists()
