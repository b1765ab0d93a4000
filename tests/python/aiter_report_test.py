"""A report's script over AITER itself: AITER's Python and code objects on the emulated device."""

import os
import pathlib
import subprocess
import sys

import pytest
from mla_testbed import aiter_cases, aiter_script

TREE = pathlib.Path(os.environ.get("AITER_SRC", "/nonexistent"))
LISTS = ("work_indptr", "work_info", "reduce_indptr", "reduce_final_map", "reduce_partial_map")

pytestmark = pytest.mark.skipif(not (TREE / "hsa/gfx950/mla").is_dir(),
                                reason="AITER_SRC names no tree with code objects")


def run(tmp_path, case):
    """Exit code and output of the script, over the plan of the core, which is AITER's."""
    call = aiter_cases.planner_call(case)
    words = {}
    if call["decisions"]["route"] != "split":
        words = {name: [0 if word is None else word for word in call[of]]
                 for name, of in zip(aiter_script.LISTS, LISTS, strict=True)}
    script = tmp_path / "script.py"
    script.write_text(aiter_script.script(call, words, "0123456789", "A title."))
    done = subprocess.run(
        [sys.executable, "-m", "mla_testbed.python_command", "--arch", call["arch"], "--backend",
         "aiter", "--aiter", str(TREE), "--ported", "--", str(script)],
        capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_mask_that_is_missing_without_a_plan_is_shown(tmp_path):
    # AITER-02
    code, said = run(tmp_path, "mla1:1q2s65;heads=128;planner=none;splits=1;arch=gfx950")
    assert code == 1, said
    assert "first: out[0, " in said
    assert "out: 0 of " not in said


@pytest.mark.parametrize("case", [
    "mla1:1q1s40;planner=none",
    "mla1:2q1s600;heads=16;cu=8;gran=1",  # its plan as words
    "mla1:1q2s200;heads=32;dtype=fp8/fp8;gran=1;arch=gfx950"])  # its plan by the planner
def test_what_is_right_ends_with_0(tmp_path, case):
    code, said = run(tmp_path, case)
    assert code == 0, said
    assert "out: 0 of " in said
