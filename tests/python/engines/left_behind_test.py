"""What is left of an engine when the command has ended: no process, no file, no signal handler."""

import os
import pathlib
import signal
import time

import pytest
from command_test import run
from mla_testbed.engines.__main__ import main


def is_running(pid):
    """Whether there is such a process, and not only one that waits for its parent to ask."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_an_engine_leaves_neither_temporary_files_nor_processes(tmp_path):
    (tmp_path / "littering_engine.py").write_text(
        "import pathlib, subprocess, tempfile\nfrom fake_engine import FakeEngine\n"
        "def Litter(machine):\n"
        "    folder = pathlib.Path(tempfile.mkdtemp())\n"
        "    child = subprocess.Popen(['sleep', '600'])\n"
        f"    pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(child.pid))\n"
        "    return FakeEngine(machine, 'Sound')\n")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    variables = {**os.environ, "TMPDIR": str(temporary),
                 "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])}
    run("replay", "mla1:1q1s9", "--engine", "littering_engine:Litter", code=0, env=variables)
    assert list(temporary.iterdir()) == []
    until = time.monotonic() + 30
    while is_running((tmp_path / "pid").read_text()) and time.monotonic() < until:
        time.sleep(0.1)
    assert not is_running((tmp_path / "pid").read_text())


def test_no_worker_outlives_the_command(tmp_path):
    path = tmp_path / "pid"
    (tmp_path / "pid_engine.py").write_text(
        "import os, pathlib\nfrom fake_engine import FakeEngine\n"
        "def Pid(machine):\n"
        f"    pathlib.Path({str(path)!r}).write_text(str(os.getpid()))\n"
        "    return FakeEngine(machine, 'Sound')\n")
    variables = {**os.environ,
                 "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])}
    run("replay", "mla1:1q1s9", "--engine", "pid_engine:Pid", code=0, env=variables)
    assert not pathlib.Path(f"/proc/{path.read_text()}").exists()


@pytest.mark.parametrize("handler", [signal.SIG_DFL, lambda number, frame: None])
def test_a_command_called_from_python_leaves_sigterm_as_it_was(handler):
    before = signal.signal(signal.SIGTERM, handler)
    try:
        assert main(["replay", "no case", "--engine", "fake_engine:Sound"]) == 2
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)
