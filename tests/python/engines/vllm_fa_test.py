"""vLLM's unmodified AITER FA backend: sound cases, random cases, and defects planted in it.

Skipped where installed_vllm.py says so.
"""

import re

import installed_vllm
import pytest
import vllm_fa_plants
from installed_vllm import run

LAYER = "kind=fa;heads=8;kvheads=2;dim=64"
SOUND = [
    f"mla1:1q20s20_2q1s40_1q8s100_1q8s30;{LAYER};block=16;workspace=40",
    f"mla1:2q3s40_1q8s100_1q20s20;{LAYER};block=32;draft=3",
    f"mla1:2q1s40_1q8s100_1q20s20;{LAYER};block=16;window=10",
    f"mla1:2q1s90;{LAYER};block=16;pad=2",
    f"mla1:2q1s90+1q1s70;{LAYER};block=16;pad=2;window=20",
    f"mla1:3q4s90;{LAYER};block=16;pad=1;draft=3",
    f"mla1:4q1s200_1q30s90+1q1s9+2q1s70_1q20s40;{LAYER};block=16",
    f"mla1:2q1s200_1q30s90+2q1s70_1q20s40;{LAYER};block=16;window=20",
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    path = tmp_path_factory.mktemp("cases") / "cases.txt"
    path.write_text("\n".join(SOUND) + "\n")
    return path


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_sound_cases_are_built_and_attended(arch, sound):
    done = run("run", "--kind", "fa", "--cases-file", sound, "--attend",
               len(SOUND), "--arch", arch, "--no-ledger")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"cases {len(SOUND)}: {len(SOUND)} pass" in done.stdout
    assert re.search(r"steps 12 built, 7 planned, 4 for graphs, 12 attended", done.stdout)


def test_random_cases_fail_only_as_the_ledger_says():
    done = run("run", "--kind", "fa", "--cases", 60, "--attend", 20, "--arch",
               "gfx950")
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) attended", done.stdout)[1]) >= 15


def test_without_aiter_metadata_is_judged_and_nothing_attended(sound):
    done = run("run", "--kind", "fa", "--cases-file", sound, "--attend", 3,
               "--arch", "gfx942", "--without-aiter", "--no-ledger")
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 attended" in done.stdout


@pytest.fixture(scope="module")
def planted():
    return installed_vllm.planted(vllm_fa_plants, SOUND)


def test_without_a_plant_the_same_process_passes(planted):
    assert planted[""] == [[], ["pass"]]


@pytest.mark.parametrize(("plant", "caught"), vllm_fa_plants.PLANTS.items())
def test_a_defect_planted_in_vllm_is_a_finding_of_its_property(plant, caught, planted):
    properties, verdicts = planted[plant]
    assert properties == [caught]
    assert "fail" in verdicts
    assert "inconclusive" not in verdicts
