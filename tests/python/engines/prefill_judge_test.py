"""The judge of MLA prefill on an engine of our own: sound, and with defects planted."""

import dataclasses
import pathlib
import re
import shlex
import subprocess
import sys

import fake_prefill
import numpy as np
import pytest
from mla_testbed import UsageError
from mla_testbed.engines import Machine, tensors
from mla_testbed.engines.judge import judge
from mla_testbed.engines.line import CaseLine
from mla_testbed.engines.prefill import prefill_steps_of, result
from mla_testbed.engines.prefill.kind import Prefill
from mla_testbed.engines.prefill.lists import check_lists
from mla_testbed.engines.prefill.projection import KEY, Projection, heads_of
from mla_testbed.engines.run import drawn

COMMAND = [sys.executable, "-m", "mla_testbed.engines"]
CASES = [
    "mla1:1q20s20_1q8s100_2q3s40;kind=prefill;heads=4;block=16;workspace=64",
    "mla1:2q1s50_1q8s100_1q20s90;kind=prefill;heads=2;block=16;workspace=64;layout=prefix.1",
    "mla1:1q9s70+1q5s5_1q4s200;kind=prefill;heads=2;dtype=bf16/fp8;block=1;workspace=32",
    "mla1:1q9s9_1q2s2;kind=prefill;heads=3",
]


def verdict(plant, case, **options):
    engine = fake_prefill.FakePrefill(Machine("gfx942", 304), plant)
    return judge(Prefill(), engine, case, attend=True, **options)


@pytest.mark.parametrize("case", CASES)
def test_a_sound_engine_passes_is_attended_and_cuts_contexts_as_our_core_does(case):
    found = verdict("Sound", case)
    assert found.verdict == "pass", found.findings
    assert found.attended == found.built == len(CaseLine.parse(case).steps)
    assert not found.opinions


def test_drawn_cases_pass_on_a_sound_engine_and_have_chunks():
    found = [verdict("Sound", case) for case in drawn(5, 40, "prefill")]
    assert {f.verdict for f in found} <= {"pass", "refused"}, found
    assert sum(f.verdict == "pass" for f in found) >= 20
    assert sum(f.planned for f in found) >= 5


@pytest.mark.parametrize(("plant", "caught"), fake_prefill.PLANTS.items())
def test_a_planted_defect_is_a_finding_of_its_property(plant, caught):
    found = [verdict(plant, case) for case in CASES]
    properties = {p for judgement in found for p in judgement.properties}
    assert properties == {caught}, [f for j in found for f in j.findings]
    assert all(j.verdict == ("fail" if j.findings else "pass") for j in found)


def bound_of(case, **changes):
    step = prefill_steps_of(str(Prefill().adapt(CaseLine.parse(case), "gfx950")))[0]
    built = fake_prefill.FakePrefill(Machine("gfx950", 256), "Sound").build(step)
    project = Projection(step.heads, step.data_seed)
    right, bound = result._reference(step, dataclasses.replace(built, **changes),
                                     tensors.query(step, built.order, KEY),
                                     tensors.cache(step, step.dtype_kv), project)
    return right.tobytes(), bound.min()


def test_a_plan_of_fp8_prefill_widens_the_bound_only_where_no_prefix_is_merged():
    merged, alone = CASES[0], CASES[3]
    assert bound_of(merged, plans=(None,)) == bound_of(merged)
    assert bound_of(alone, plans=(None,))[0] != bound_of(alone)[0]
    assert bound_of(alone, plans=(None,))[1] > bound_of(alone)[1]
    assert bound_of(merged, plans=(None,), whole=True)[0] != bound_of(merged, whole=True)[0]


def built_of(case):
    step = prefill_steps_of(str(Prefill().adapt(CaseLine.parse(case))))[0]
    return step, fake_prefill.FakePrefill(Machine("gfx942", 304), "Sound").build(step)


def test_each_chunk_with_keys_of_a_request_is_a_rounding_of_its_bound_the_first_request_too():
    _, built = built_of("mla1:1q2s66_1q2s34;kind=prefill;heads=2;block=16;workspace=48")
    assert [chunk.sums.tolist() for chunk in built.chunks] == [[0, 48], [0, 16, 48]]
    assert [result._pieces(built, place) for place in (0, 1)] == [2, 1]
    assert result._pieces(dataclasses.replace(built, whole=True), 0) == 0


def test_a_decode_of_two_rows_is_a_finding():
    step, built = built_of("mla1:1q2s9_1q3s9;kind=prefill;heads=2")
    found = check_lists(step, dataclasses.replace(built, order=(1,), decodes=(0,)))
    assert found[0].what == "request 0 of 2 rows is a decode; decodes have 1"


def test_a_case_of_prefill_is_asked_with_a_bf16_query_and_a_workspace_of_whole_blocks():
    line = CaseLine.parse("mla1:3q2s9;kind=prefill;dtype=fp8/fp8;block=16;workspace=33")
    made = Prefill().adapt(line)
    assert (made["dtype"], made["workspace"]) == ("bf16/fp8", "48")


def test_the_list_of_plants_is_complete():
    others = {"Sticky", "NotMerged", "NanResult", "ResultShape", "Raises"}
    assert set(fake_prefill.PLANTS) == {*fake_prefill.DAMAGES, *others}


@pytest.mark.parametrize(("changes", "expected"), [
    ({"dtype": "fp8/fp8"}, ("dtype", "bf16/fp8")), ({"causal": "0"}, ("causal", "1")),
    ({"workspace": "5"}, ("workspace", "48")), ({"workspace": "65"}, ("workspace", "80")),
    ({"block": "3"}, ("block", "1")), ({"arch": "gfx950"}, ("cu", "256")),
    ({"page": "16"}, ("page", "1")), ({"planner": "none"}, ("planner", "auto")),
])
def test_a_case_becomes_one_that_an_engine_takes(changes, expected):
    line = CaseLine.parse("mla1:2q3s40_1q8s100;kind=prefill;heads=8;block=16")
    assert Prefill().adapt(line.with_fields(**changes))[expected[0]] == expected[1]


@pytest.mark.parametrize(("case", "said"), [
    ("mla1:1q9s9", "is of kind decode; expected kind=prefill"),
    ("mla1:1q9s9+3q1s20;kind=prefill", "has no request of 2 rows: an engine decodes them all"),
    ("mla1:1q0s9;kind=prefill", "has rows: an engine schedules none"),
])
def test_what_no_engine_prefills_is_refused_with_the_reason(case, said):
    with pytest.raises(UsageError, match=said):
        Prefill().adapt(CaseLine.parse(case))
    assert verdict("Sound", case).verdict == "refused"


def test_a_step_knows_the_prefix_of_each_request():
    step, = prefill_steps_of("mla1:1q8s100_1q4s4;kind=prefill;workspace=96")
    assert (step.context(0), step.context(1), step.workspace) == (92, 0, 96)


def test_the_projection_copies_and_negates_elements_of_the_latent_row():
    project = Projection(3, 7)
    rows = np.arange(2 * 576, dtype=np.float32).reshape(2, 576)
    keys, values = heads_of(project, rows)
    assert (keys.shape, values.shape) == ((2, 3, 192), (2, 3, 128))
    assert (keys[:, :, 128:] == rows[:, None, 512:]).all()
    made = np.concatenate([keys[..., :128], values], axis=-1).reshape(2, -1)
    assert (np.abs(made) == rows[:, project.index]).all()
    assert set(np.unique(project.sign)) == {-1.0, 1.0}


def run(*arguments):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True,
                          timeout=300, check=False)


def test_a_failure_of_kind_prefill_has_a_repro_line_and_its_lists_saved(tmp_path):
    done = run("run", "--engine", "fake_prefill:LateChunk", "--kind", "prefill", "--cases", 20,
               "--no-ledger", "--arch", "gfx950", "--bundles", tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    first = next(line for line in done.stdout.splitlines() if line.startswith("FAIL P25 mla1"))
    assert "kind=prefill" in first
    repro = next(line for line in done.stdout.splitlines() if line.startswith("REPRO: "))
    again = run(*shlex.split(repro.removeprefix("REPRO: "))[1:])
    assert again.returncode == 1
    assert again.stdout.splitlines()[0] == first
    assert "chunk 0" in next(pathlib.Path(tmp_path).rglob("metadata.json")).read_text()


def test_prefills_are_fuzzed(tmp_path):
    done = run("fuzz", "--engine", "fake_prefill:Sound", "--kind", "prefill", "--for", "3s",
               "--database", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"corpus [1-9]\d* cases", done.stdout)
    assert "kind=prefill" in (tmp_path / "corpus.txt").read_text()
