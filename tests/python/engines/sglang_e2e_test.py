"""The whole of an installed, unmodified SGLang: scenarios eager, from graphs, and with one defect.

Skipped unless MLA_TESTBED_SMOKE is sglang (smoke.sh makes its environment).
"""

import json
import os
import subprocess
import sys

import pytest

if os.environ.get("MLA_TESTBED_SMOKE") != "sglang" or not os.environ.get("AITER_SRC"):
    pytest.skip("MLA_TESTBED_SMOKE is not sglang, or AITER_SRC names no sources "
                "(tests/python/engines/smoke.sh)", allow_module_level=True)

SMALL = "requests=3;tokens=6;longest=40"
DRAFTED = "requests=3;tokens=6;longest=40;layers=1;spec=mtp;draft=3;graphs=1"
#: A draft model that reads from the second key on. The target verifies, and no token is wrong.
DRAFTS = """
import importlib


def plant(whole):
    module = importlib.import_module("sglang.srt.layers.attention.aiter_backend")
    real = module.AiterMultiStepDraftBackend.common_template

    def late(backend, batch, buffer, call):
        def each(step, given):
            buffer[step, :-1] = buffer[step, 1:].clone()
            call(step, given)

        real(backend, batch, buffer, each)

    module.AiterMultiStepDraftBackend.common_template = late
"""
#: A builder whose lists begin one key late: SGLang's kernel for kv_indices, called otherwise.
PLANT = """
import importlib


def plant(whole):
    module = importlib.import_module("sglang.srt.layers.attention.aiter_backend")
    real = module.AiterAttnBackend.init_forward_metadata

    def late(backend, batch):
        real(backend, batch)
        if batch.forward_mode.is_decode():
            backend.forward_metadata.kv_indices[0] += 1

    module.AiterAttnBackend.init_forward_metadata = late
"""


def served(tmp_path, scenario, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "mla_testbed.engines.e2e.worker", "sglang", scenario,
         tmp_path / "found"], capture_output=True, text=True, timeout=900, check=False,
        env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return json.loads((tmp_path / "found").read_text()), done.stderr


@pytest.mark.parametrize("graphs", [0, 1])
def test_sglang_generates_what_float32_does(tmp_path, graphs):
    found, said = served(tmp_path, f"e2e1:{SMALL};graphs={graphs}")
    assert (found["verdict"], found["findings"]) == ("pass", []), said
    assert (found["equal"], found["tokens"]) == (18, 18)
    assert found["lists"] == 5
    assert found["replayed"] == 5 * graphs
    assert set(found["worst"]) == {"query", "key", "attention", "logits"}


def test_drafts_of_a_graph_are_accepted_and_are_the_draft_models(tmp_path):
    found, said = served(tmp_path, f"e2e1:{DRAFTED}")
    assert (found["verdict"], found["findings"]) == ("pass", []), said
    assert (found["equal"], found["tokens"]) == (18, 18)
    assert found["replayed"] == found["lists"] == found["steps"] - 1
    assert 0 < found["accepted"] < found["drafts"]
    assert found["drafted"] >= 10  # the others are less ahead than rounding explains


def test_a_draft_that_reads_other_keys_fails_though_all_tokens_are_right(tmp_path):
    (tmp_path / "plant.py").write_text(DRAFTS)
    found, said = served(tmp_path, f"e2e1:{DRAFTED}",
                         MLA_TESTBED_E2E_PLANT=str(tmp_path / "plant.py"))
    assert found["verdict"] == "fail", said
    assert (found["equal"], found["tokens"]) == (18, 18)
    assert len(found["findings"]) == 1
    assert "drafts are not the draft model's: step 1, request" in found["findings"][0]


def test_a_list_that_names_the_next_slot_is_found_in_the_first_decode(tmp_path):
    (tmp_path / "plant.py").write_text(PLANT)
    found, said = served(tmp_path, f"e2e1:{SMALL}",
                         MLA_TESTBED_E2E_PLANT=str(tmp_path / "plant.py"))
    assert found["verdict"] == "fail", said
    assert found["fault"]["tensor"] == "attention"
    assert (found["fault"]["step"], found["fault"]["layer"], found["fault"]["request"]) == (1, 0, 0)
    assert any(line.startswith("P01 step 1: kv_indices of request 0, page 0")
               for line in found["findings"])


def test_a_scenario_that_is_not_served_is_inconclusive_by_name(tmp_path):
    found, _ = served(tmp_path, "e2e1:model=llama;heads=8")
    assert found["verdict"] == "inconclusive"
    assert "found model=llama;spec=none" in found["findings"][0]
