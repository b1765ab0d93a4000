"""vLLM's unmodified AITER FA backend: sound cases, random cases, and defects planted in it.

Skipped unless MLA_TESTBED_VLLM names a virtual environment with vLLM and AITER_SRC AITER's sources.
"""

import json
import os
import re
import subprocess
import sys

import pytest
import vllm_fa_plants
from mla_testbed.engines.client import Setting, interpreter

for variable, what in (("MLA_TESTBED_VLLM", "a virtual environment with vLLM (docs/engines.md)"),
                       ("AITER_SRC", "a source tree of AITER")):
    if not os.environ.get(variable):
        pytest.skip(f"{variable} does not name {what}", allow_module_level=True)

COMMAND = [sys.executable, "-m", "mla_testbed.engines"]
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


def run(*arguments):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True,
                          timeout=900, check=False)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    path = tmp_path_factory.mktemp("cases") / "cases.txt"
    path.write_text("\n".join(SOUND) + "\n")
    return path


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_sound_cases_are_built_and_attended(arch, sound):
    done = run("run", "--engine", "vllm", "--kind", "fa", "--cases-file", sound, "--attend",
               len(SOUND), "--arch", arch, "--no-ledger")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"cases {len(SOUND)}: {len(SOUND)} pass" in done.stdout
    assert re.search(r"steps 12 built, 7 planned, 4 for graphs, 12 attended", done.stdout)


def test_random_cases_fail_only_as_the_ledger_says():
    done = run("run", "--engine", "vllm", "--kind", "fa", "--cases", 60, "--attend", 20, "--arch",
               "gfx950")
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) attended", done.stdout)[1]) >= 15


def test_without_aiter_metadata_is_judged_and_nothing_attended(sound):
    done = run("run", "--engine", "vllm", "--kind", "fa", "--cases-file", sound, "--attend", 3,
               "--arch", "gfx942", "--without-aiter", "--no-ledger")
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 attended" in done.stdout


@pytest.fixture(scope="module")
def planted():
    """Plant -> properties that fail, verdicts; all in one process of vLLM's interpreter."""
    python = interpreter(Setting("vllm"))
    done = subprocess.run([python, vllm_fa_plants.__file__, *SOUND], capture_output=True, text=True,
                          timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    return {plant: rest for plant, *rest in map(json.loads, done.stdout.splitlines())}


def test_without_a_plant_the_same_process_passes(planted):
    assert planted[""] == [[], ["pass"]]


@pytest.mark.parametrize(("plant", "caught"), vllm_fa_plants.PLANTS.items())
def test_a_defect_planted_in_vllm_is_a_finding_of_its_property(plant, caught, planted):
    properties, verdicts = planted[plant]
    assert properties == [caught]
    assert "fail" in verdicts
    assert "inconclusive" not in verdicts
