"""A whole, unmodified SGLang that serves a model with an indexer: right, and with each plant.

Skipped unless MLA_TESTBED_SMOKE is sglang (smoke.sh makes its environment).
"""

import json
import os
import subprocess
import sys

import pytest
import sglang_dsa_plants as plants

if os.environ.get("MLA_TESTBED_SMOKE") != "sglang" or not os.environ.get("AITER_SRC"):
    pytest.skip("MLA_TESTBED_SMOKE is not sglang, or AITER_SRC names no sources "
                "(tests/python/engines/smoke.sh)", allow_module_level=True)

#: Plant -> tensor of the first fault. A selection is made of what the indexer did before.
CAUGHT = {"position_one_late": "index query", "wrong_scale": "attention"}


def served(tmp_path, scenario):
    done = subprocess.run(
        [sys.executable, "-m", "mla_testbed.engines.e2e.worker", "sglang", scenario,
         tmp_path / "found"], capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads((tmp_path / "found").read_text()), done.stderr


def planted(group):
    done = subprocess.run([sys.executable, plants.__file__, group], capture_output=True, text=True,
                          timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    return {plant: rest for plant, *rest in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize(("scenario", "replayed"), [
    ("e2e1:arch=gfx950;model=dsa;block=64;requests=2;tokens=3;longest=150;layers=2;chunk=96", 0),
    ("e2e1:model=dsa;block=1;requests=3;tokens=3;longest=150;layers=1;graphs=1;late=1", 3)])
def test_sglang_with_an_indexer_generates_what_float32_does(tmp_path, scenario, replayed):
    found, said = served(tmp_path, scenario)
    assert (found["verdict"], found["findings"]) == ("pass", []), said
    assert found["equal"] == found["tokens"]
    assert found["replayed"] == replayed
    assert found["lists"] > 1
    assert {"selection", "index query", "index key", "key", "attention", "logits"} <= set(
        found["worst"])
    assert found["stand_ins"]["fast_topk_transform_fused"] > 0


def test_each_plant_fails_by_the_tensor_that_it_changes_and_none_passes():
    found = planted("eager")
    assert found.pop("none")[0] == "pass"
    assert set(found) == set(plants.GROUPS["eager"]) - {"none"}
    assert {plant: (verdict, fault["tensor"]) for plant, (verdict, fault, *_) in found.items()} == {
        plant: ("fail", CAUGHT.get(plant, "selection")) for plant in found}


def test_a_layer_without_an_indexer_attends_to_the_selection_of_its_step():
    found = planted("share")
    assert found.pop("none")[:3] == ["pass", None, []]
    for plant, (verdict, fault, findings, *_) in found.items():
        assert (verdict, fault["tensor"], fault["layer"]) == ("fail", "selection", 1), plant
        assert any(one.startswith("SP-23 step ") for one in findings), findings


@pytest.mark.parametrize(("scenario", "says"), [
    ("e2e1:model=dsa;block=16", "'block' is 16; SGLang's indexer has blocks of 1 or 64"),
    ("e2e1:model=dsa;block=64;spec=mtp;draft=1;layers=1", "found model=dsa;spec=mtp")])
def test_what_sglang_does_not_have_is_inconclusive_by_its_value(tmp_path, scenario, says):
    found, _ = served(tmp_path, scenario)
    assert found["verdict"] == "inconclusive"
    assert says in found["findings"][0]
