"""mla-testbed-python on a test that AITER ships: what is known, what was compared, how it ends."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="the command needs torch, which is not installed")

import aiter_caller  # noqa: E402
import aiter_suite_test  # noqa: E402

# Named as a test of AITER's; no line of it is AITER's.
SCRIPT = """
import sys
import torch
from aiter.test_common import benchmark, checkAllclose

torch.set_default_device("cuda")

@benchmark()
def test(kvtype, share):
    a = torch.ones(100)
    b = a.clone()
    b[:share] = 2
    checkAllclose(a, b, msg="[golden vs aiter_asm]")

for argument in sys.argv[1:]:
    kvtype, share = argument.split(":")
    test(kvtype, int(share))
print("the script ended")
"""
KNOWN = "float8_e4m3fnuz:20"  # AITER-T01 of the shipped ledger
WRONG = "bfloat16:20"
RIGHT = "bfloat16:0"


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> pathlib.Path:
    made: pathlib.Path = aiter_caller.write_tree(tmp_path / "tree")
    (made / "aiter" / "test_common.py").write_text(aiter_suite_test.TEST_COMMON)
    (made / "op_tests").mkdir()
    for name in ("test_mla_persistent.py", "test_of_mine.py"):
        (made / "op_tests" / name).write_text(SCRIPT)
    return made


def run(tree: pathlib.Path, name: str, *cases: str,
        options: tuple[str, ...] = ()) -> tuple[int, str, list[str]]:
    """Exit code, what it printed, and the lines of the command's own."""
    found = subprocess.run(
        [sys.executable, "-m", "mla_testbed.python_command", "--aiter", str(tree), "--ported",
         *options, "--", str(tree / "op_tests" / name), *cases],
        capture_output=True, text=True, check=False,
        env={k: v for k, v in os.environ.items() if k != "AITER_SRC"})
    assert "Traceback" not in found.stderr
    lines = [line for line in found.stderr.splitlines()
             if line.startswith(("FAIL", "known", "mla-testbed-python: "))
             and "ports of AITER" not in line]
    return found.returncode, found.stdout, lines


def test_a_failure_of_the_ledger_is_known_and_the_script_goes_on(tree: pathlib.Path) -> None:
    code, out, said = run(tree, "test_mla_persistent.py", KNOWN, RIGHT)
    assert (code, out) == (0, "the script ended\n")
    assert said[0].startswith("known AITER-T01 (1): ")
    assert said[1:] == ["mla-testbed-python: 2 comparisons, 1 failed, 1 of them as known"]


def test_a_failure_that_is_not_in_the_ledger_ends_the_script_with_1(tree: pathlib.Path) -> None:
    code, out, said = run(tree, "test_mla_persistent.py", KNOWN, WRONG, RIGHT)
    assert (code, out) == (1, "")
    assert said[0] == ("FAIL [golden vs aiter_asm] (20.0% outside the tolerance) "
                       "[kvtype=bfloat16 share=20]")
    assert said[1].startswith("known AITER-T01 (1): ")
    assert said[2:] == ["mla-testbed-python: 2 comparisons, 2 failed, 1 of them as known"]


def test_keep_going_runs_what_comes_after_a_failure(tree: pathlib.Path) -> None:
    code, out, said = run(tree, "test_mla_persistent.py", WRONG, RIGHT, options=("--keep-going",))
    assert (code, out) == (1, "the script ended\n")
    assert said[1:] == ["mla-testbed-python: 2 comparisons, 1 failed"]


def test_a_test_of_aiters_that_compares_nothing_ends_with_4(tree: pathlib.Path) -> None:
    code, out, said = run(tree, "test_mla_persistent.py")
    assert (code, out) == (4, "the script ended\n")
    assert said == ["mla-testbed-python: 0 comparisons, 0 failed",
                    "mla-testbed-python: nothing was compared: no case of this test has these "
                    "arguments"]


def test_the_ledger_is_about_aiters_tests_alone(tree: pathlib.Path) -> None:
    code, _, said = run(tree, "test_of_mine.py", KNOWN)
    assert (code, said[0][:4]) == (1, "FAIL")
    assert run(tree, "test_of_mine.py") == (0, "the script ended\n", [])
