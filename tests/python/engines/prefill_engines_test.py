"""MLA prefill of unmodified vLLM and SGLang: sound cases, and defects planted in their builders.

An engine is skipped unless its variable names a virtual environment, and AITER_SRC the sources.
"""

import json
import os
import subprocess
import sys

import prefill_plants
import pytest
from mla_testbed.engines.client import VARIABLES, Setting, interpreter

COMMAND = [sys.executable, "-m", "mla_testbed.engines"]
SOUND = [
    "mla1:1q20s20_1q8s100_2q3s40;kind=prefill;heads=4;block=16;workspace=64",
    "mla1:2q4s50_1q8s100_1q20s90;kind=prefill;heads=2;block=16;workspace=64;layout=prefix.1",
    "mla1:1q9s70_1q3s3+1q5s5_1q4s200;kind=prefill;heads=2;dtype=bf16/fp8;block=1;workspace=32",
    "mla1:1q3s4_1q40s40_1q1s20_1q9s30;kind=prefill;heads=16;workspace=16",  # planned for FP8
]


@pytest.fixture(scope="module", params=sorted(prefill_plants.PLANTS))
def engine(request):
    if not os.environ.get("AITER_SRC"):
        pytest.skip("AITER_SRC does not name a source tree of AITER")
    if not os.environ.get(VARIABLES[request.param]):
        pytest.skip(f"{VARIABLES[request.param]} does not name a virtual environment with it")
    return request.param


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_sound_cases_are_gathered_and_attended(engine, arch, tmp_path):
    (tmp_path / "cases.txt").write_text("\n".join(SOUND) + "\n")
    done = subprocess.run(
        [*COMMAND, "run", "--engine", engine, "--kind", "prefill", "--cases-file",
         str(tmp_path / "cases.txt"), "--attend", "4", "--arch", arch, "--no-ledger",
         "--ported"],
        capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cases 4: 4 pass" in done.stdout
    assert "steps 5 built, 5 planned, 0 for graphs, 5 attended" in done.stdout


def test_defects_planted_in_an_engine_are_findings_of_their_properties_and_none_without(engine):
    done = subprocess.run(
        [interpreter(Setting(engine)), prefill_plants.__file__, engine, "gfx942", *SOUND],
        capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    found = {plant: (properties, verdicts) for plant, properties, verdicts, _ in map(
        json.loads, done.stdout.splitlines())}
    assert found.pop("") == ([], ["pass"])
    expected = {plant: [caught] for plant, caught in prefill_plants.PLANTS[engine].items()}
    assert {plant: properties for plant, (properties, _) in found.items()} == expected
    assert all(verdicts in (["fail"], ["fail", "pass"]) for _, verdicts in found.values())
