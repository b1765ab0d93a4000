"""The whole of an installed, unmodified engine in a run without AITER, for every change.

Skipped unless MLA_TESTBED_SMOKE names an engine (smoke.sh makes its environment).
"""

import json
import os
import subprocess
import sys

import pytest

ENGINE = os.environ.get("MLA_TESTBED_SMOKE")
if not ENGINE:
    pytest.skip("MLA_TESTBED_SMOKE names no engine (tests/python/engines/smoke.sh)",
                allow_module_level=True)


def test_an_engine_without_aiter_generates_what_float32_does(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mla_testbed.engines", "e2e",
         "e2e1:requests=3;tokens=6;longest=40;layers=1", "--engine", ENGINE, "--python",
         sys.executable, "--without-aiter", "--json", tmp_path / "found", "--html",
         tmp_path / "page.html"],
        env={name: value for name, value in os.environ.items() if name != "AITER_SRC"},
        capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " aiter=none" in done.stdout
    found = json.loads((tmp_path / "found").read_text())
    assert (found["verdict"], found["equal"], found["tokens"]) == ("pass", 18, 18)
    assert found["lists"] >= 5
    assert found["stand_ins"]["mla_decode_fwd"] >= 5
    assert {"key", "attention", "logits"} <= set(found["worst"])
    assert "18 of 18 equal" in (tmp_path / "page.html").read_text(encoding="utf-8")
