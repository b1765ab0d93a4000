"""vLLM's unmodified sparse MLA backend: sound cases, random cases, and defects planted in it.

Skipped where installed_vllm.py says so.
"""

import re

import installed_vllm
import pytest
import vllm_sparse_plants
from installed_vllm import run

SOUND = [
    "mla1:2q1s90_1q3s300;heads=16;block=16;data=normal.40",
    "mla1:1q2s300_2q2s129;heads=16;block=32;data=normal.44;layout=interleaved",
    "mla1:2q1s900_1q2s300+1q2s600+2q1s70;heads=16;block=16;data=normal.41",
    "mla1:2q2s90_1q2s151+1q2s400;heads=16;block=16;pad=2;data=normal.44",
    "mla1:1q1s700_1q20s200;heads=16;block=16;dtype=fp8/fp8;data=normal.40",
    "mla1:1q20s300_1q40s300;heads=4;block=16;data=normal.40",  # prompts alone are not planned
    "mla1:2q1s90_1q20s100;heads=16;block=16;data=normal.40",  # the prompt is attended densely
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    path = tmp_path_factory.mktemp("cases") / "cases.txt"
    path.write_text("\n".join(SOUND) + "\n")
    return path


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_sound_cases_are_built_and_attended(arch, sound):
    done = run("run", "--kind", "sparse", "--cases-file", sound, "--attend",
               len(SOUND), "--arch", arch, "--no-ledger")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"cases {len(SOUND)}: {len(SOUND)} pass" in done.stdout
    assert "steps 10 built, 9 planned, 2 for graphs, 10 attended" in done.stdout


@pytest.mark.parametrize("more", [("--late-copies",), ("--option", "speculation=eagle3")])
def test_random_cases_pass(more):
    done = run("run", "--kind", "sparse", "--cases", 60, "--attend", 20,
               "--arch", "gfx950", *more)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) attended", done.stdout)[1]) >= 15


#: Prompts are a chunk of the indexer's for each row where the seed is odd. Blocks of 1 and 64; past
#: 2,048 keys; 2,048 selected ones, for which vLLM on gfx950 calls AITER's top-k.
INDEXED = [
    "mla1:2q1s90_1q20s300;heads=16;block=1;data=normal.40",
    "mla1:2q1s90_1q20s300_1q17s90;heads=16;block=64;data=normal.45",
    "mla1:1q1s2500_1q2s2900;heads=16;block=64;data=normal.46",
    "mla1:2q1s2300;heads=16;block=128;pad=1;data=normal.47",
]


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_the_indexer_selects_in_small_and_large_blocks_and_of_long_contexts(arch, tmp_path):
    (tmp_path / "cases.txt").write_text("\n".join(INDEXED) + "\n")
    done = run("run", "--kind", "sparse", "--cases-file", tmp_path / "cases.txt", "--attend",
               len(INDEXED), "--arch", arch, "--no-ledger")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"cases {len(INDEXED)}: {len(INDEXED)} pass" in done.stdout


@pytest.mark.parametrize(("case", "sentence"), [
    ("mla1:2q1s300;heads=16;block=64;data=normal.24",
     "FAIL SP-06 .*\n  step 0: row 1 .request 1. key 0: the logit is -inf; .* wrong are 20 of 300"),
    ("mla1:1q1s1;heads=16;block=48", "FAIL P28 .*\n.* in deepgemm_fp8_paged_mqa_logits")])
def test_known_defects_of_the_indexers_logits_are_found(case, sentence):
    done = run("replay", case, "--kind", "sparse", "--arch", "gfx950")
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(sentence, done.stdout), done.stdout


def test_without_aiter_lists_and_plans_are_judged_and_nothing_attended(sound):
    done = run("run", "--kind", "sparse", "--cases-file", sound, "--attend", 3,
               "--arch", "gfx942", "--without-aiter", "--no-ledger")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "steps 10 built, 9 planned, 2 for graphs, 0 attended" in done.stdout


@pytest.fixture(scope="module")
def planted():
    return installed_vllm.planted(vllm_sparse_plants, SOUND)


def test_without_a_plant_the_same_process_passes(planted):
    assert planted[""][:2] == [[], ["pass"]]


@pytest.mark.parametrize(("plant", "caught"), vllm_sparse_plants.PLANTS.items())
def test_a_defect_planted_in_vllm_is_a_finding_of_its_property(plant, caught, planted):
    properties, verdicts, _ = planted[plant]
    assert properties == caught.split()
    assert "fail" in verdicts
    assert "inconclusive" not in verdicts
