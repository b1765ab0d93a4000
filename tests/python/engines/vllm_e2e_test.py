"""The whole of an installed, unmodified vLLM: one scenario; with MLA_TESTBED_E2E_PLANTS all plants.

Skipped unless MLA_TESTBED_SMOKE is vllm (smoke.sh makes its environment).
"""

import functools
import json
import os
import subprocess
import sys

import pytest
import vllm_e2e_plants as plants
import vllm_e2e_writes as writes
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
NAMES = ("bf16", "heads8", "block64", "chunked", "queue", "mtp-graphs", "eagle3-graphs", "ngram",
         "fp8-gfx950", "dcp", "fa")


@pytest.mark.skipif("MLA_TESTBED_E2E_PLANTS" not in os.environ, reason="MLA_TESTBED_E2E_PLANTS")
def test_named_scenarios_pass(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mla_testbed.engines", "e2e", *NAMES, "--engine", "vllm", "--python",
         sys.executable, "--json", tmp_path / "found"], capture_output=True, text=True,
        timeout=1800, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    found = [json.loads(line)["verdict"] for line in (tmp_path / "found").read_text().splitlines()]
    assert found == ["pass"] * len(NAMES)


def served(module, group):
    """Plant -> verdict, first fault, findings; all in forks of one process."""
    done = subprocess.run([sys.executable, module.__file__, group], capture_output=True, text=True,
                          timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    return {plant: rest for plant, *rest in map(json.loads, done.stdout.splitlines())}


@pytest.mark.skipif("MLA_TESTBED_E2E_PLANTS" not in os.environ, reason="MLA_TESTBED_E2E_PLANTS")
@pytest.mark.parametrize("group", plants.GROUPS)
def test_each_plant_fails_and_none_passes(group):
    found = {plant: rest[0] for plant, rest in served(plants, group).items()}
    assert found == {plant: "pass" if plant == "none" else "fail"
                     for plant in plants.GROUPS[group]}


def shown(found, plant, *parts):
    """That a plant failed, and what of its findings shows it."""
    verdict, _, findings, *_ = found[plant]
    assert verdict == "fail", plant
    for part in parts:
        assert part in " | ".join(findings), (plant, findings)


@pytest.fixture(scope="module")
def group():
    """Plants of a group, served once."""
    if "MLA_TESTBED_E2E_PLANTS" not in os.environ:
        pytest.skip("MLA_TESTBED_E2E_PLANTS")
    return functools.cache(functools.partial(served, writes))


@pytest.mark.parametrize(("name", "sound"), [
    ("writes", "none"), ("writes", "none_pool"), ("scale", "none"), ("scale", "none_scaled"),
    ("splits", "none")])
def test_a_sound_engine_passes_the_scenario_of_a_plant(group, name, sound):
    assert group(name)[sound][:3] == ["pass", None, []]


def test_the_writer_of_the_cache_and_its_reader_have_one_scale(group):
    found = group("scale")
    for plant in ("writer_of_other_scale", "reader_without_scale"):
        shown(found, plant, "first fault: step 1, layer 0", "attention is off by")


def test_the_scale_of_an_mla_cache_is_not_loaded_from_a_checkpoint(group):
    shown(group("scale"), "scale_is_not_loaded",
          "the scale of layer 0's cache is 1; the checkpoint has 4")


def test_a_slot_of_minus_one_is_not_written(group):
    shown(group("writes"), "negative_slot_is_written", "P18 step 1: slots 4111 of layer 0 changed")


def test_padding_writes_nothing_and_slot_0_stays_as_it_is(group):
    shown(group("writes"), "padding_has_slot_0", "P18 step 1: slots 0 of layer 0 changed")


def test_rotary_positions_are_applied_once(group):
    found = group("writes")
    for plant in ("rope_twice", "rope_never"):
        shown(found, plant, "first fault: step 0, layer 0", "query is off by")
    shown(found, "rope_of_keys_again", "first fault: step 1, layer 0", "attention is off by")


def test_a_graph_for_more_requests_than_there_is_room_for_is_refused(group):
    shown(group("writes"), "capture_beyond_pool", "_gather_block_tables_kernel", "write of 4 bytes")


def test_splits_of_a_capture_do_not_bound_the_context_of_a_replay(group):
    found = group("splits")
    assert found["none"][6] == [0, 2]  # replays
    shown(found, "splits_of_the_capture", "first fault: step 1, layer 0", "attention is off by")


@pytest.mark.skipif("MLA_TESTBED_E2E_PLANTS" not in os.environ, reason="MLA_TESTBED_E2E_PLANTS")
def test_a_layer_without_an_indexer_attends_to_the_selection_of_its_step():
    found = served(plants, "dsa-share")
    assert found["none"][:3] == ["pass", None, []]
    for plant in ("list_of_step_before", "padding_over_lists"):
        shown(found, plant, "SP-23 step ", "layer 1 has no indexer, and another list than that of")
    for plant in ("cleared_in_every_layer", "selection_of_next_request"):
        shown(found, plant, "SP-23 step ", "layer 1 has no indexer, and key ")
