"""vLLM's unmodified decode context parallelism on every rank: sound cases of its four routes,
random cases, and defects planted in runner, builder, forward and merge.

Skipped where installed_vllm.py says so.
"""

import re

import installed_vllm
import pytest
import vllm_ranks_plants
from installed_vllm import run

BOTH = "heads=16;block=16;arch=gfx950"
#: By the number of ranks. Keys at ends of blocks and of tiles, empty shares, padding of graphs.
SOUND = {
    2: [f"mla1:2q1s130_1q1s1;{BOTH}", f"mla1:2q1s131+1q1s40+3q1s90;{BOTH};pad=2",
        "mla1:2q1s90_1q1s2;heads=32;arch=gfx942;dtype=fp8/fp8;scale=0.5/2",
        f"mla1:2q4s131_1q4s64_1q4s65_1q4s5_1q4s4;{BOTH}", f"mla1:2q4s131+1q4s40;{BOTH};pad=2",
        "mla1:2q2s130_1q2s2;heads=32;arch=gfx942;block=128",
        "mla1:2q2s131+1q2s40;heads=16;arch=gfx942;block=128;pad=2",
        # By rows, in pages: elsewhere the end of a page is NaN, which comes out (AITER-E02).
        f"mla1:2q2s128_1q2s256;{BOTH}",
        f"mla1:2q1s90_1q60s60_1q40s90;{BOTH}"],
    4: [f"mla1:2q1s130_1q1s3_1q1s64;{BOTH}", f"mla1:2q6s131;{BOTH}",
        "mla1:2q2s130_1q2s2;heads=16;arch=gfx942;block=128"],
    8: [f"mla1:1q1s130_1q1s7_1q1s8_1q1s9;{BOTH};dtype=fp8/fp8",
        f"mla1:2q4s131_1q4s5;{BOTH};dtype=fp8/fp8"],
}


@pytest.mark.parametrize("merge", ["ag_rs", "a2a"])
@pytest.mark.parametrize("ranks", SOUND)
def test_sound_cases_are_right_on_every_rank_and_merged(ranks, merge, tmp_path):
    cases = SOUND[ranks]
    (tmp_path / "cases.txt").write_text("\n".join(cases) + "\n")
    done = run("run", "--cases-file", tmp_path / "cases.txt", "--attend", len(cases),
               "--no-ledger", "--option", f"dcp={ranks}", "--option", f"merge={merge}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"cases {len(cases)}: {len(cases)} pass" in done.stdout
    steps = sum(case.count("+") + 1 for case in cases)
    assert f"steps {steps} built" in done.stdout
    assert f"{steps} attended" in done.stdout


def test_an_interleave_of_a_block_is_right_and_one_that_no_block_holds_is_refused():
    case = "mla1:2q1s90_1q1s16_1q1s17_1q1s33;heads=16;block=16;arch=gfx950"
    done = run("replay", case, "--option", "dcp=2", "--option", "interleave=16")
    assert done.returncode == 0, done.stdout + done.stderr
    done = run("replay", case.replace("block=16", "block=1"), "--option", "dcp=2", "--option",
               "interleave=16")
    assert done.returncode == 10
    assert "blocks of 1 tokens hold no whole runs of 16" in done.stdout


@pytest.mark.parametrize("ranks", ["dcp=2", "dcp=8"])
def test_random_cases_fail_only_as_the_ledger_says(ranks):
    done = run("run", "--cases", 40, "--attend", 12, "--option", ranks)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) attended", done.stdout)[1]) >= 10


def test_without_aiter_lists_and_plans_are_judged_and_nothing_attended():
    done = run("replay", SOUND[2][3], "--option", "dcp=2", "--without-aiter")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 built, 1 planned, 0 for graphs, 0 attended" in done.stdout


@pytest.fixture(scope="module", params=[("gfx942", "cpu"), ("gfx950", "cpu"), ("gfx950", "aiter")])
def planted(request):
    return installed_vllm.planted(vllm_ranks_plants, request.param), request.param


def test_each_defect_planted_in_vllm_is_a_finding_of_its_property(planted):
    found, (arch, backend) = planted
    assert found.pop("")[:2] == [[], ["pass"]]
    expected = {name: [[plant.caught], ["fail"]] for name, plant in vllm_ranks_plants.PLANTS.items()
                if f"arch={arch}" in plant.case and plant.backend == backend}
    assert {name: rest[:2] for name, rest in found.items()} == expected
