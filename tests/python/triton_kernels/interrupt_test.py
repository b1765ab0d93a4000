"""A signal while a kernel spins: it ends, also where other threads execute it."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap
import time

import pytest

_PROGRAM = '''
import signal, sys, threading
import mla_testbed, mla_testbed.triton
import torch, triton, triton.language as tl

@triton.jit
def spin(flag):
    while tl.atomic_add(flag, 0) == 0:
        pass

@triton.jit
def copy(source, target):
    tl.store(target, tl.load(source))

mla_testbed.triton.activate(sys.argv[1])
flag = torch.zeros(1, dtype=torch.int32)
spin.warmup(flag, grid=(1,))
def launch():
    print("spinning", flush=True)
    spin[(int(sys.argv[2]),)](flag)
'''


@pytest.fixture
def interrupted(tmp_path):
    """Runs the program with this end, sends a signal while it spins; exit code, stdout, stderr."""
    def run(arch, end, programs=1, number=signal.SIGINT, **environment):
        script = pathlib.Path(tmp_path) / "program.py"
        script.write_text(_PROGRAM + textwrap.dedent(end))
        # A shell that starts the tests in the background has them ignore SIGINT.
        with subprocess.Popen([sys.executable, str(script), arch, str(programs)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
                              env={**os.environ, "OMP_NUM_THREADS": "2", **environment}) as process:
            assert process.stdout.readline() == "spinning\n"
            time.sleep(3 if environment else 1)  # into the launch
            process.send_signal(number)
            try:
                out, error = process.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                pytest.fail("the kernel still spins 30 s after the signal")
        return process.returncode, out, error
    return run


def lines_of_ours(error):
    """Triton warns on stderr, too."""
    return re.findall(r"^mla-testbed: (.*)$", error, re.MULTILINE)


@pytest.mark.parametrize("programs", [1, 5])
def test_ctrl_c_ends_a_spinning_kernel_and_the_program(arch, interrupted, programs):
    code, _, error = interrupted(arch, "launch()", programs)
    assert code == -signal.SIGINT
    last = error.rstrip().splitlines()[-1]
    assert re.match(
        r"KeyboardInterrupt: kernel 'spin' was interrupted: workgroup \(\d,0,0\) waves? [\d,]+ "
        r"had executed \d+( to \d+)? instructions and (stood|waited) at spin\+0x.*program\.py:\d+",
        last)


def test_sigterm_ends_the_program_which_says_where_the_waves_were(arch, interrupted):
    code, _, error = interrupted(arch, "launch()", 2, signal.SIGTERM)
    assert code == -signal.SIGTERM
    said = lines_of_ours(error)[-1]
    assert said.startswith("kernel 'spin' was interrupted: workgroup (0,0,0) wave")
    assert re.search(r"; workgroup \(1,0,0\) waves? [\d,]+ had executed", said)
    assert "program.py:" in said


def test_a_launch_above_two_seconds_says_how_far_it_is_where_that_is_asked_for(arch, interrupted):
    _, _, error = interrupted(arch, "launch()", MLA_TESTBED_PROGRESS="1")
    first = lines_of_ours(error)[0]
    assert re.fullmatch(r"spin: 0 of 1 workgroups, \d+ million instructions, 2 s", first)


def test_after_ctrl_c_a_program_that_goes_on_can_launch_again(arch, interrupted):
    code, out, error = interrupted(arch, """
        try:
            launch()
        except KeyboardInterrupt:
            target = torch.zeros(1, dtype=torch.int32)
            copy[(1,)](flag + 7, target)
            print("copied", target.item(), signal.getsignal(signal.SIGINT).__name__)
    """)
    assert (code, out) == (0, "copied 7 default_int_handler\n"), error


def test_ctrl_c_ends_the_launches_of_other_threads_which_say_where_they_were(arch, interrupted):
    code, out, error = interrupted(arch, """
        # Not Thread.join: until Python 3.13 one that was interrupted takes the thread for ended.
        ended = threading.Event()
        def other():
            try:
                launch()
            except mla_testbed.FaultError as e:
                print(e, flush=True)
            ended.set()
        threading.Thread(target=other).start()
        try:
            ended.wait()
        except KeyboardInterrupt:
            ended.wait()
    """)
    assert code == 0, error
    assert out.startswith("kernel 'spin' was interrupted: workgroup (0,0,0) wave")
    assert re.search(r" (stood|waited) at spin\+0x", out)


def test_a_program_with_a_handler_of_its_own_is_asked_after_the_launch(arch, interrupted):
    code, out, error = interrupted(arch, """
        signal.signal(signal.SIGINT, lambda *_: print("handled"))
        try:
            with mla_testbed.triton.options(instruction_limit=40_000_000):
                launch()
        except mla_testbed.triton.KernelFault as e:
            print(e.problem)
    """)
    assert (code, out) == (0, "handled\ninstruction-limit\n"), error
