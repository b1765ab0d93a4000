"""The whole of an installed, unmodified vLLM: one scenario; with MLA_TESTBED_E2E_PLANTS all plants.

Skipped unless MLA_TESTBED_SMOKE is vllm (smoke.sh makes its environment).
"""

import json
import os
import subprocess
import sys

import pytest
import vllm_e2e_plants as plants
from mla_testbed import check
from mla_testbed.bundle import Bundle

if os.environ.get("MLA_TESTBED_SMOKE") != "vllm" or not os.environ.get("AITER_SRC"):
    pytest.skip("MLA_TESTBED_SMOKE is not vllm, or AITER_SRC names no sources "
                "(tests/python/engines/smoke.sh)", allow_module_level=True)


def test_vllm_generates_what_float32_does_and_a_launch_of_it_is_a_valid_bundle(tmp_path):
    scenario = "e2e1:requests=3;tokens=6;longest=40;chunk=32;late=1"
    done = subprocess.run(
        [sys.executable, "-m", "mla_testbed.engines.e2e.worker", "vllm", scenario,
         tmp_path / "found", tmp_path / "bundle", "4", "1"], capture_output=True, text=True,
        timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found").read_text())
    assert (found["verdict"], found["findings"]) == ("pass", []), done.stderr
    assert (found["equal"], found["tokens"]) == (18, 18)
    assert found["lists"] >= 5
    assert set(found["worst"]) == {"query", "key", "attention", "logits"}
    bundle = Bundle.load(tmp_path / "bundle")
    assert check(bundle).valid
    assert bundle.tensors()["out"].shape[1:] == (16, 512)


def test_vllm_with_flash_attention_of_aiter_generates_what_float32_does(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mla_testbed.engines.e2e.worker", "vllm",
         "e2e1:model=llama;heads=8;requests=3;tokens=6;longest=40;chunk=24;prefix=1",
         tmp_path / "found"], capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found").read_text())
    assert (found["verdict"], found["findings"]) == ("pass", []), done.stderr
    assert (found["equal"], found["tokens"]) == (36, 36)
    assert found["stand_ins"]["flash_attn_varlen_func"] > 0
    assert set(found["worst"]) == {"query", "key", "attention", "logits"}


#: Machine code of AITER's is not among them: it needs more than its Python.
NAMES = ("bf16", "heads8", "block64", "chunked", "queue", "mtp-graphs", "ngram", "fp8-gfx950",
         "dcp", "fa")


@pytest.mark.skipif("MLA_TESTBED_E2E_PLANTS" not in os.environ, reason="MLA_TESTBED_E2E_PLANTS")
def test_ten_named_scenarios_pass(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mla_testbed.engines", "e2e", *NAMES, "--engine", "vllm", "--python",
         sys.executable, "--json", tmp_path / "found"], capture_output=True, text=True,
        timeout=1800, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    found = [json.loads(line)["verdict"] for line in (tmp_path / "found").read_text().splitlines()]
    assert found == ["pass"] * len(NAMES)


@pytest.mark.skipif("MLA_TESTBED_E2E_PLANTS" not in os.environ, reason="MLA_TESTBED_E2E_PLANTS")
@pytest.mark.parametrize("group", plants.GROUPS)
def test_each_plant_fails_and_none_passes(group):
    done = subprocess.run([sys.executable, plants.__file__, group], capture_output=True, text=True,
                          timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    found = {plant: verdict for plant, verdict, *_ in map(json.loads, done.stdout.splitlines())}
    assert found == {plant: "pass" if plant == "none" else "fail"
                     for plant in plants.GROUPS[group]}
