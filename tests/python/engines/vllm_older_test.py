"""The whole of an older, unmodified vLLM: scenarios that the newest passes, and no other code.

Skipped unless MLA_TESTBED_OLDER names its version (smoke.sh makes its environment).
"""

import json
import os
import subprocess
import sys

import pytest
from mla_testbed.engines.vllm import releases

VERSION = os.environ.get("MLA_TESTBED_OLDER", "")
if not VERSION or not os.environ.get("AITER_SRC"):
    pytest.skip("MLA_TESTBED_OLDER names no version, or AITER_SRC no sources "
                "(tests/python/engines/smoke.sh)", allow_module_level=True)

#: Of each kind one, as small as it can be: tokens of one process, chunks with late copies, drafts
#: from graphs, flash attention, and keys that an indexer selects.
SCENARIOS = (
    "e2e1:requests=3;tokens=6;longest=40;chunk=32;late=1",
    "e2e1:requests=3;tokens=8;longest=40;layers=1;spec=mtp;draft=3;graphs=1;late=1",
    "e2e1:arch=gfx950;requests=3;tokens=6;longest=40;heads=8;cache=fp8",
    "e2e1:model=llama;heads=8;requests=3;tokens=6;longest=40;chunk=24;prefix=1",
    "e2e1:model=dsa;block=1;requests=2;tokens=4;longest=150;graphs=1;layers=1",
)


def test_the_version_is_one_of_those_that_are_said_to_be_served():
    assert VERSION in releases.SERVED


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_an_older_vllm_generates_what_float32_does(scenario, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mla_testbed.engines", "e2e", scenario, "--engine", "vllm",
         "--python", sys.executable, "--json", tmp_path / "found", "--ported"],
        capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "found").read_text())
    assert (found["version"], found["verdict"]) == (VERSION, "pass")
    assert "graphs=1" not in scenario or found["replayed"] > 0
    assert "mtp" not in scenario or found["accepted"] > 0
    assert "model=llama" in scenario or found["lists"] > 0
