"""The judge of AITER's flash attention backends on an engine of our own: sound, and with plants."""

import pathlib
import re
import shlex
import subprocess
import sys

import fake_fa
import numpy as np
import pytest
from mla_testbed import UsageError
from mla_testbed.engines import Machine
from mla_testbed.engines.dense import attention
from mla_testbed.engines.fa import fa_steps_of
from mla_testbed.engines.fa.kind import Fa
from mla_testbed.engines.fa.opinion import core_of
from mla_testbed.engines.judge import judge
from mla_testbed.engines.kinds import load
from mla_testbed.engines.line import CaseLine
from mla_testbed.engines.run import drawn

COMMAND = [sys.executable, "-m", "mla_testbed.engines"]
CASES = [
    "mla1:1q20s20_2q1s40_1q8s100_1q9s9_1q8s45;kind=fa;heads=8;kvheads=2;dim=64;block=16;workspace=64",
    "mla1:3q1s200_1q50s120_1q20s20;kind=fa;heads=4;kvheads=2;dim=64;block=16;window=20",
    "mla1:2q3s40;kind=fa;heads=8;kvheads=2;dim=64;block=32;draft=2;pad=2",
    "mla1:1q1s60_1q30s90+1q1s9+2q1s70_1q20s40;kind=fa;heads=2;dim=64;block=16",
    "mla1:2q1s33;kind=fa;heads=2;dim=64;block=16",
]


def verdict(plant, case, **options):
    return judge(Fa(), fake_fa.FakeFa(Machine("gfx942", 304), plant), case, attend=True, **options)


@pytest.mark.parametrize("case", CASES)
def test_a_sound_engine_passes_and_is_attended(case):
    found = verdict("Sound", case)
    assert found.verdict == "pass", found.findings
    assert found.attended == found.built == len(CaseLine.parse(case).steps)
    assert not found.opinions or "window" in case


def test_drawn_cases_pass_on_a_sound_engine_and_have_every_part():
    found = [verdict("Sound", case) for case in drawn(3, 60, "fa")]
    assert {f.verdict for f in found} <= {"pass", "refused"}
    assert sum(f.planned for f in found) >= 5
    assert sum(f.replayed for f in found) >= 1
    assert sum(f.verdict == "pass" for f in found) >= 50


@pytest.mark.parametrize(("plant", "caught"), fake_fa.PLANTS.items())
def test_a_planted_defect_is_a_finding_of_its_property(plant, caught):
    found = [verdict(plant, case) for case in CASES]
    properties = {p for judgement in found for p in judgement.properties}
    assert properties == {caught}, [f for j in found for f in j.findings]
    assert all(j.verdict == ("fail" if j.findings else "pass") for j in found)


def test_the_list_of_plants_is_complete():
    planted = {*fake_fa.DAMAGES, "Sticky", "Lse", "NanResult", "ResultShape", "Raises"}
    assert set(fake_fa.PLANTS) == planted


@pytest.mark.parametrize(("changes", "expected"), [
    ({"dim": "80"}, ("dim", "128")), ({"dim": "16"}, ("dim", "64")),
    ({"block": "1"}, ("block", "16")),
    ({"block": "64"}, ("block", "32")), ({"window": "9", "causal": "0"}, ("causal", "1")),
    ({"causal": "0"}, ("causal", "0")), ({"workspace": "1"}, ("workspace", "3")),
    ({"arch": "gfx950"}, ("arch", "gfx950")), ({"page": "1"}, ("kind", "fa")),
])
def test_a_case_becomes_one_that_an_engine_takes(changes, expected):
    line = CaseLine.parse("mla1:2q1s40_1q8s100;kind=fa;heads=8;kvheads=2;dim=64;block=16")
    made = Fa().adapt(line.with_fields(**changes))
    assert made[expected[0]] == expected[1]
    assert made["kvheads"] == "2"


def test_a_case_of_another_kind_is_refused_by_name():
    with pytest.raises(UsageError, match="is of kind decode; expected kind=fa"):
        Fa().adapt(CaseLine.parse("mla1:1q1s9"))
    assert verdict("Sound", "mla1:1q1s9").verdict == "refused"


def test_a_step_knows_what_its_rows_see():
    step, = fa_steps_of("mla1:1q8s100;kind=fa;heads=8;block=16;window=10")
    assert (step.context(0), step.first_seen(0), step.threshold) == (92, 82, 1)
    assert step.new_slots(0).tolist() == step.token_slots(0)[92:].tolist()


def test_our_core_builds_the_same_step():
    step, = fa_steps_of(CASES[0])
    ours = core_of(step)
    assert (ours["order"], ours["num_chunks"]) == ([1, 2, 3, 5, 0, 4], 3)


@pytest.mark.parametrize(("causal", "left"), [(False, -1), (True, -1), (True, 0), (True, 3)])
def test_dense_attention_equals_a_loop(causal, left):
    draw = np.random.default_rng(1).standard_normal
    q, k, v = draw((3, 4, 8)), draw((7, 2, 8)), draw((7, 2, 8))
    found = attention(q, k, v, 0.3, causal=causal, left=left)
    for row in range(3):
        own = row + 4
        keys = [j for j in range(7) if (j <= own or not causal) and (left < 0 or j >= own - left)]
        for head in range(4):
            weights = np.exp([0.3 * q[row, head] @ k[j, head // 2] for j in keys])
            expected = sum(w * v[j, head // 2] for w, j in zip(weights, keys, strict=True))
            np.testing.assert_allclose(found.out[row, head], expected / weights.sum())
            np.testing.assert_allclose(found.lse[row, head], np.log(weights.sum()))


def test_a_row_without_keys_is_zero_with_an_lse_of_minus_infinity():
    found = attention(np.ones((2, 1, 4)), np.ones((1, 1, 4)), np.ones((1, 1, 4)), 1.0, causal=True)
    assert found.lse[:, 0].tolist() == [-np.inf, 4.0]
    assert (found.out[0] == 0).all()


def run(*arguments):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True,
                          timeout=300, check=False)


def test_a_failure_of_kind_fa_has_a_repro_line_that_fails_alike(tmp_path):
    done = run("run", "--engine", "fake_fa:SlotOff", "--kind", "fa", "--cases", 10, "--no-ledger",
               "--arch", "gfx950", "--bundles", tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    first = next(line for line in done.stdout.splitlines() if line.startswith("FAIL P18 mla1"))
    assert "kind=fa" in first
    assert first.endswith("engine=fake_fa:SlotOff 1.0 aiter=none")
    repro = next(line for line in done.stdout.splitlines() if line.startswith("REPRO: "))
    again = run(*shlex.split(repro.removeprefix("REPRO: "))[1:])
    assert again.returncode == 1
    assert again.stdout.splitlines()[0] == first
    assert next(pathlib.Path(tmp_path).rglob("metadata.json")).stat().st_size > 100


def test_the_kinds_of_a_run_are_counted_and_fuzzed(tmp_path):
    done = run("fuzz", "--engine", "fake_fa:Sound", "--kind", "fa", "--for", "3s", "--database",
               tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"corpus [1-9]\d* cases", done.stdout)
    assert "kind=fa" in (tmp_path / "corpus.txt").read_text()


def test_an_engine_without_an_adapter_for_a_kind_says_so():
    with pytest.raises(UsageError, match="sglang has no adapter for kind fa; expected one of"):
        load("sglang", Machine("gfx942", 304, kind="fa"))
    done = run("replay", "mla1:1q1s9;kind=fa;block=16", "--engine", "sglang")
    assert (done.returncode, "no adapter for kind fa" in done.stderr) == (3, True)
