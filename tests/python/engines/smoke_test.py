"""A short run over an installed engine, for every change (smoke.sh makes its environment).

Skipped unless MLA_TESTBED_SMOKE names the engine that this interpreter has.
"""

import os
import re
import subprocess
import sys

import pytest

ENGINE = os.environ.get("MLA_TESTBED_SMOKE", "")
if not ENGINE:
    pytest.skip("MLA_TESTBED_SMOKE names no engine (tests/python/engines/smoke.sh)",
                allow_module_level=True)
#: With AITER's sources a few cases are attended; without them the planners are this project's.
HOW = ["--attend", "3"] if os.environ.get("AITER_SRC") else ["--without-aiter"]
#: Defects of these versions that no attention is needed for: case and sentence.
WRONG = {"vllm": ("mla1:1q1s1;heads=32;pad=1", "the planner would read qo_indptr up to entry"),
         "sglang": ("mla1:1q1s17;heads=16;dtype=fp8/fp8",
                    "keys 16..17 of the request are covered by no work")}


def command(*arguments):
    how = HOW if arguments[0] == "run" else [text for text in HOW if text == "--without-aiter"]
    done = subprocess.run(
        [sys.executable, "-m", "mla_testbed.engines", *arguments, "--engine", ENGINE, *how],
        capture_output=True, text=True, timeout=600, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_random_cases_fail_only_as_the_ledger_says(arch):
    done = command("run", "--cases", "25", "--seed", "1", "--arch", arch)
    assert done.returncode == 0, done.stdout + done.stderr
    right = re.search(r"cases (\d+): (\d+) pass", done.stdout)
    steps = re.search(r"steps (\d+) built, (\d+) planned, (\d+) for graphs, (\d+) attended",
                      done.stdout)
    assert int(right[1]) >= 25
    assert int(right[2]) >= 12
    assert int(steps[1]) >= 15
    assert int(steps[2]) >= 8
    assert int(steps[3]) >= 1
    if "--without-aiter" in HOW:
        assert int(steps[4]) == 0
        assert "aiter none" in done.stdout
    else:
        assert int(steps[4]) >= 3


def test_a_defect_of_this_version_is_a_failure():
    case, sentence = WRONG[ENGINE]
    done = command("replay", case)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.startswith(f"FAIL P05 {case.partition(';')[0]};")
    assert sentence in done.stdout
