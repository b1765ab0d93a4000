"""The whole of another release of an engine, unmodified: scenarios that the usual one passes too.

Skipped unless MLA_TESTBED_RELEASE names its version (smoke.sh makes its environment).
"""

import importlib
import json
import os
import subprocess
import sys

import pytest

VERSION, ENGINE = os.environ.get("MLA_TESTBED_RELEASE", ""), os.environ.get("MLA_TESTBED_SMOKE", "")
if not VERSION or not os.environ.get("AITER_SRC"):
    pytest.skip("MLA_TESTBED_RELEASE names no version, or AITER_SRC no sources "
                "(tests/python/engines/smoke.sh)", allow_module_level=True)

#: Chunks with late copies, drafts from graphs, a Gluon kernel, flash attention, two ranks.
SCENARIOS = {"vllm": (
    "e2e1:requests=3;tokens=6;longest=40;chunk=32;late=1",
    "e2e1:requests=3;tokens=8;longest=40;layers=1;spec=mtp;draft=3;graphs=1;late=1",
    "e2e1:arch=gfx950;heads=8;requests=3;tokens=6;longest=40",
    "e2e1:model=llama;heads=8;requests=3;tokens=6;longest=40;chunk=24;prefix=1",
), "sglang": (
    "e2e1:requests=3;tokens=6;longest=60;layers=1;chunk=32;prefix=1;late=1",
    "e2e1:requests=3;tokens=6;longest=40;layers=1;spec=mtp;draft=3;graphs=1",
    "e2e1:arch=gfx950;model=dsa;block=64;requests=3;tokens=4;longest=200;layers=1",
    "e2e1:requests=3;tokens=6;longest=40;layers=1;graphs=1;ranks=2",
)}
#: What a release raises instead, docs/findings/vllm.md#releases; others serve the scenario.
INDEXED = "e2e1:model=dsa;block=1;requests=2;tokens=4;longest=150;graphs=1;layers=1"
RAISES = {"0.30.0": "has no attribute 'record_logical_topk_ready' (mla.py:235"}


def test_the_version_is_one_of_those_that_are_said_to_be_served():
    releases = importlib.import_module(f"mla_testbed.engines.{ENGINE}.releases")
    assert VERSION in releases.SERVED


def served(scenario, folder):
    """Exit code and result of a scenario."""
    done = subprocess.run(
        [sys.executable, "-m", "mla_testbed.engines", "e2e", scenario, "--engine", ENGINE,
         "--python", sys.executable, "--json", folder / "found", "--ported"],
        capture_output=True, text=True, timeout=1800, check=False)
    assert (folder / "found").is_file(), done.stdout + done.stderr
    found = json.loads((folder / "found").read_text())
    assert found["version"] == VERSION
    return done.returncode, found


@pytest.mark.parametrize("scenario", SCENARIOS.get(ENGINE, ()))
def test_another_release_generates_what_float32_does(scenario, tmp_path):
    code, found = served(scenario, tmp_path)
    assert (code, found["verdict"], found["findings"]) == (0, "pass", [])
    assert "graphs=1" not in scenario or found["replayed"] > 0
    assert "mtp" not in scenario or found["accepted"] > 0
    assert "model=llama" in scenario or found["lists"] > 0


def test_a_model_with_an_indexer_is_served_or_raises_what_is_known(tmp_path):
    code, found = served(INDEXED, tmp_path)
    if VERSION in RAISES:
        assert (code, found["verdict"]) == (1, "fail")
        assert RAISES[VERSION] in found["findings"][0]
    else:
        assert (code, found["verdict"]) == (0, "pass")
        assert min(found["replayed"], found["lists"]) > 0
