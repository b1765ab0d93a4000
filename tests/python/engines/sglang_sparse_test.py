"""SGLang's unmodified DSA backend under the judge. MLA_TESTBED_SGLANG names its environment."""

import os

import installed
import pytest
import sglang_indexer_plants
from mla_testbed.engines.client import Setting, Worker
from mla_testbed.engines.findings import PASS

pytestmark = pytest.mark.skipif(
    "MLA_TESTBED_SGLANG" not in os.environ or "AITER_SRC" not in os.environ,
    reason="MLA_TESTBED_SGLANG names no environment with SGLang, or AITER_SRC no AITER")
UNITS = {"gfx942": 304, "gfx950": 256}


@pytest.fixture(scope="module", params=sorted(UNITS))
def worker(request):
    made = Worker(Setting("sglang", kind="sparse"), request.param, UNITS[request.param])
    yield made
    made.close()


@pytest.mark.parametrize(("case", "planned", "replayed"), [
    ("mla1:2q1s300_1q1s2333;heads=16;dtype=bf16/bf16", 0, 0),
    ("mla1:2q3s300_1q3s2333;heads=16;data=normal.2;dtype=bf16/bf16", 0, 0),
    ("mla1:2q3s300_1q3s2333;heads=16;data=normal.11;dtype=bf16/bf16;block=16", 0, 0),
    ("mla1:1q1s300+2q1s240;heads=8;pad=2;dtype=bf16/bf16;block=64", 0, 2),
    ("mla1:2q4s300;heads=4;pad=2;dtype=bf16/bf16", 0, 1),
    ("mla1:2q1s300_1q1s2333;heads=32;dtype=bf16/fp8", 1, 0),
    ("mla1:1q1s2500+1q1s2700+1q1s300;heads=16;dtype=bf16/fp8", 3, 0),
    # A forward of several rows plans in buffers of its own: what it did not write is no difference.
    ("mla1:1q1s300+1q2s300;heads=16;dtype=bf16/fp8", 2, 0),
])
def test_lists_plan_and_result_of_a_selection_are_right(worker, case, planned, replayed):
    found = worker.ask(case, attend=True)
    assert (found.verdict, found.findings) == (PASS, ())
    steps = case.count("+") + 1
    assert (found.built, found.planned, found.attended) == (steps, planned, steps)
    assert found.replayed == replayed


@pytest.mark.parametrize(("case", "says"), [
    ("mla1:1q1s300;heads=12;dtype=bf16/bf16", "the manifest has no row for decode bf16/bf16, 12"),
    ("mla1:1q1s300;heads=128;dtype=bf16/fp8", "row_written: request 1: no work writes"),
    ("mla1:1q1s300+2q1s300;heads=16;dtype=bf16/fp8", "kv_indptr falls from 300 to 0 at request 1"),
])
def test_what_was_found_is_still_there(worker, case, says):
    found = worker.ask(case, attend=True)
    assert found.verdict != PASS
    assert says in found.findings[0].what


def test_a_prompt_beside_other_requests_has_a_list_for_each_row(worker):
    found = worker.ask("mla1:1q30s2300_2q4s2100;heads=16;dtype=bf16/bf16")
    assert (found.verdict, found.findings) == (PASS, ())
    assert found.facts["elsewhere"] == 0
    assert found.facts["selects"]


#: Seed 0: 128 keys, 1: 256, by the fused top-k; 3: 2,048 by SGLang's own in torch.
INDEXED = [
    ("mla1:2q1s300_1q1s400;heads=16;block=64;data=normal.0", 128, 0),
    ("mla1:1q1s90_1q1s400;heads=16;block=16;data=normal.1", 256, 0),
    ("mla1:2q3s300_1q3s333;heads=16;block=64;data=normal.8", 128, 0),
    ("mla1:2q3s300_1q3s333;heads=16;block=32;data=normal.9", 256, 0),
    ("mla1:1q30s300_2q4s210;heads=16;block=64;data=normal.0", 128, 0),
    ("mla1:1q1s300+2q1s240;heads=8;block=64;pad=2;data=normal.0", 128, 2),
    ("mla1:2q4s300;heads=16;block=128;pad=2;data=normal.8", 128, 1),
    ("mla1:2q2s2100;heads=16;block=256;data=normal.3", 2048, 0),
]


@pytest.mark.parametrize(("case", "topk", "replayed"), INDEXED)
def test_each_stage_of_the_indexer_is_right_and_so_is_what_follows(worker, case, topk, replayed):
    found = worker.ask(f"{case};dtype=bf16/bf16", attend=True)
    assert (found.verdict, found.findings) == (PASS, ())
    assert (found.facts["indexed"], found.facts["topk"]) == (True, topk)
    assert found.facts["selects"]
    assert (found.attended, found.replayed) == (case.count("+") + 1, replayed)


def test_rows_that_have_all_of_their_keys_are_not_scored_and_select_them(worker):
    found = worker.ask("mla1:2q1s100_1q1s128;heads=16;dtype=bf16/bf16;block=64;data=normal.0")
    assert (found.verdict, found.findings) == (PASS, ())
    assert (found.facts["indexed"], found.facts["selects"]) == (True, False)


def test_blocks_of_one_token_have_a_drawn_selection(worker):
    found = worker.ask("mla1:2q1s300;heads=16;dtype=bf16/bf16;block=1;data=normal.0")
    assert (found.verdict, found.facts["indexed"], found.facts["topk"]) == (PASS, False, 2048)


#: Decodes, prompts and several steps, all of which select.
PLANTED = ["mla1:2q1s300_1q1s400;heads=16;dtype=bf16/bf16;block=64;data=normal.0",
           "mla1:1q30s300_1q20s240;heads=16;dtype=bf16/bf16;block=16;data=normal.0",
           "mla1:3q1s300+3q1s310;heads=16;dtype=bf16/bf16;block=64;data=normal.0"]


@pytest.fixture(scope="module")
def planted():
    return installed.planted("sglang", sglang_indexer_plants, PLANTED)


def test_without_a_plant_the_same_process_passes(planted):
    assert planted[""][:2] == [[], ["pass"]]


@pytest.mark.parametrize(("plant", "caught"), sglang_indexer_plants.PLANTS.items())
def test_a_defect_planted_in_sglangs_indexer_is_a_finding_of_its_property(plant, caught, planted):
    properties, verdicts, _ = planted[plant]
    assert properties == caught.split()
    assert "fail" in verdicts
    assert "inconclusive" not in verdicts


@pytest.mark.parametrize("stale", [True, False])
def test_a_table_that_is_not_refreshed_for_a_replay_is_a_finding(stale):
    plant = "sglang_sparse_plants:StaleTable" if stale else "sglang_sparse_plants:Sound"
    made = Worker(Setting(plant, python=os.environ["MLA_TESTBED_SGLANG"], kind="sparse"),
                  "gfx942", UNITS["gfx942"])
    found = made.ask("mla1:1q1s300+2q1s240;heads=16;pad=2;dtype=bf16/bf16")
    made.close()
    assert (found.verdict == PASS) is not stale
    assert {one.property for one in found.findings} <= {"P01", "P03", "P11"}
