"""The judge of sparse MLA on an engine of our own: sound, and with defects planted."""

import dataclasses
import re
import shlex
import subprocess
import sys

import fake_sparse
import numpy as np
import pytest
from mla_testbed import Bundle, UsageError, check
from mla_testbed.engines import Machine
from mla_testbed.engines.judge import judge
from mla_testbed.engines.line import CaseLine
from mla_testbed.engines.run import drawn
from mla_testbed.engines.sparse import sparse_steps_of
from mla_testbed.engines.sparse.kind import Sparse
from mla_testbed.engines.sparse.step import model_of, with_one_layer
from mla_testbed.planning import POISON

COMMAND = [sys.executable, "-m", "mla_testbed.engines"]
#: The seed of `data` says how many keys a row selects: 128 with 40, 256 and two layers with 45.
CASES = [
    "mla1:2q1s90_1q3s151;heads=16;block=16;data=normal.40",
    "mla1:1q4s300_2q2s129;heads=16;block=32;data=normal.44;layout=interleaved",
    "mla1:1q1s90_2q4s300+2q1s70;heads=16;data=normal.45",
    "mla1:2q2s90_1q2s151+1q2s400;heads=16;block=16;pad=2;data=normal.40",
    "mla1:1q1s400;dtype=fp8/fp8;scale=0.5/2;data=normal.40",
]


def verdict(plant, case, **options):
    engine = fake_sparse.FakeSparse(Machine("gfx942", 304), plant)
    return judge(Sparse(), engine, case, arch="gfx942", attend=True, **options)


def step_of(case):
    return sparse_steps_of(str(Sparse().adapt(CaseLine.parse(case))))[0]


@pytest.mark.parametrize("case", CASES)
def test_a_sound_engine_passes_and_is_planned_and_attended(case):
    found = verdict("Sound", case)
    assert (found.verdict, found.findings, found.opinions) == ("pass", (), ())
    steps = case.count("+") + 1
    assert (found.built, found.planned, found.attended) == (steps, steps, steps)
    assert found.replayed == (steps if "pad" in case else 0)


@pytest.mark.parametrize(("plant", "caught"), fake_sparse.PLANTS.items())
def test_a_planted_defect_is_a_finding_of_its_property(plant, caught):
    found = [verdict(plant, case) for case in CASES]
    properties = {p for judgement in found for p in judgement.properties}
    assert properties == {caught}, [f for j in found for f in j.findings]
    assert all(j.verdict == ("fail" if j.findings else "pass") for j in found)


def test_the_list_of_plants_is_complete():
    others = {"StalePlan", "LateSplit", "Sticky", "NoScale", "NanResult", "Raises", "OldAtReplay"}
    assert set(fake_sparse.PLANTS) == {*fake_sparse.DAMAGES, *others}


@pytest.mark.parametrize(("plant", "text"), [
    ("OtherRow", r"row 1 is given to request 0; expected 1"),
    ("LostRow", r"the lists have 4 rows; the 3 requests of this part have 5"),
    ("FirstElsewhere", r"requests \[0\] are elsewhere; expected the last ones"),
    ("Sums", r"paged_kv_indptr\[1\] is 89; expected 90"),
    ("Start", r"paged_kv_indptr\[0\] is 1; expected 0"),
    ("AllKeys", r"paged_kv_indptr\[3\] is 329; expected 308"),
    ("Room", r"paged_kv_indices has room for 563 keys; the rows have 564"),
    ("PastTheEnd", r"paged_kv_indices\[564\] was written: 0; the last row ends before 564"),
    ("Unwritten", r"row 4 \(request 2\): key 0 of its list was not written; missing are 1 of 564"),
    ("OtherRequest", r"row 4 \(request 2\) reads cache row \d+, which is request 0's; wrong are 1"),
    ("NoRequest", r"row 4 \(request 2\) reads cache row 0, which is no request's; .* is missing"),
    ("Twice", r"row 4 \(request 2\) has cache row \d+ 2 times"),
    ("NotSelected", r"row 4 .*, key \d+ of its request, which was not selected; wrong are 1 of"),
    ("OutsideCache", r"reads cache row \d+; the cache has rows 0 to \d+; wrong are 1 of 128"),
    ("Negative", r"reads cache row -1; the cache has rows 0 to \d+"),
    ("PastCausal", r"row 2 \(request 2\) .*, key 149 of its request; the row sees keys 0 to 148"),
])
def test_a_sentence_says_what_is_wrong(plant, text):
    what = verdict(plant, CASES[0]).findings[0].what
    assert re.search(text, what), what


def test_drawn_cases_pass_and_half_of_them_have_long_contexts():
    cases = list(drawn(5, 60, "sparse"))
    found = [verdict("Sound", case) for case in cases]
    assert {f.verdict for f in found} <= {"pass", "refused"}, found
    assert sum(f.verdict == "pass" for f in found) >= 50
    assert sum(f.facts.get("selects", False) for f in found) >= 12
    dense = list(drawn(5, 60))
    assert 15 <= sum(a != b for a, b in zip(cases, dense, strict=True)) <= 45


def test_a_row_selects_keys_that_it_sees_each_once_and_its_last_one():
    step = step_of("mla1:1q3s150_1q2s40;data=normal.40")
    assert step.owners.tolist() == [0, 0, 0, 1, 1]
    assert step.visible.tolist() == [148, 149, 150, 39, 40]
    assert step.counts.tolist() == [128, 128, 128, 39, 40]
    for keys, visible, count in zip(step.selected, step.visible, step.counts, strict=True):
        assert np.unique(keys).size == keys.size == count
        assert keys.max() == visible - 1
        assert keys.min() >= 0


def test_a_selection_is_what_an_indexer_leaves_and_padding_has_none():
    step = step_of("mla1:1q2s40;data=normal.40")
    made = step.selection(0, 3)
    assert made.shape == (3, 128)
    assert (made >= 0).sum(axis=1).tolist() == [39, 40, 0]
    assert made[1, 39] >= 0 > made[1, 40]
    again = step_of("mla1:1q2s40;data=normal.40")
    assert (again.selection(0, 3) == made).all()


@pytest.mark.parametrize(("seed", "topk", "layers"), [
    (40, 128, 1), (41, 256, 1), (42, 512, 1), (43, 2048, 1), (44, 128, 2), (47, 2048, 2)])
def test_the_seed_of_a_case_says_what_its_model_selects(seed, topk, layers):
    step = step_of(f"mla1:1q1s9;data=normal.{seed}")
    assert (step.topk, step.layers) == (topk, layers)


def test_a_case_of_two_layers_has_one_with_as_many_selected_keys():
    line = with_one_layer(CaseLine.parse("mla1:1q1s9;data=spiky.47"))
    assert line["data"] == "spiky.43"
    assert model_of(line) == (2048, 1)


def test_blocks_of_other_layers_lie_between_those_of_this_one():
    step = step_of("mla1:1q1s40;block=16;layout=contiguous;data=normal.44")
    assert step.block_tables == ((1, 2, 3),)
    assert step.cache_rows(0).tolist() == [*range(32, 48), *range(64, 80), *range(96, 104)]
    assert step.pool_rows == 3 * 32 + 16


def test_more_rows_than_lists_have_room_for_are_refused():
    with pytest.raises(UsageError, match="has 4097 rows; at most 4096 are judged here"):
        Sparse().adapt(CaseLine.parse("mla1:1q4096s5000_1q1s9"))


def test_a_case_remains_of_kind_decode_and_adapting_it_again_changes_nothing():
    line = Sparse().adapt(CaseLine.parse(CASES[0]))
    assert line["kind"] == "decode"
    assert str(Sparse().adapt(line)) == str(line)


def run(*arguments):
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True,
                          timeout=300, check=False)


def test_a_failure_has_a_repro_line_with_the_kind_and_a_bundle_that_check_reads(tmp_path):
    done = run("run", "--engine", "fake_sparse:LateSplit", "--kind", "sparse", "--cases", 5,
               "--no-ledger", "--arch", "gfx950", "--bundles", tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    first = next(line for line in done.stdout.splitlines() if line.startswith("FAIL P05 mla1"))
    repro = next(line for line in done.stdout.splitlines() if line.startswith("REPRO: "))
    assert "--kind sparse" in repro
    again = run(*shlex.split(repro.removeprefix("REPRO: "))[1:])
    assert again.returncode == 1
    assert again.stdout.splitlines()[0] == first
    assert not check(Bundle.load(next(tmp_path.rglob("step-*-decode")))).valid


def test_an_engine_without_an_adapter_of_the_kind_is_refused():
    done = run("run", "--engine", "sglang", "--kind", "ranks", "--cases", 1)
    assert done.returncode in (2, 3)
    assert "engine sglang has no adapter for kind ranks; expected one of vllm" in done.stderr


def test_sparse_steps_are_fuzzed(tmp_path):
    done = run("fuzz", "--engine", "fake_sparse:Sound", "--kind", "sparse", "--for", "3s",
               "--database", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"corpus [1-9]\d* cases", done.stdout)


def taken(case, change=lambda indices: None, moves=True):
    """What is found of a layer without an indexer, whose blocks lie elsewhere in the pool."""
    step, engine = step_of(case), fake_sparse.FakeSparse(Machine("gfx942", 304), "Sound")
    engine.start([step])
    built = engine.build(step)
    block = np.roll(np.arange(step.pool_blocks), 1)
    tables = tuple(tuple(int(block[one]) for one in table) for table in step.block_tables)
    arrays = {name: value.copy() for name, value in built.bundle.arrays.items()}
    indices, count = arrays["kv_indices"], int(arrays["seqlens_kv_indptr"][-1])
    if moves:
        rows, stride = indices[:count], step.block_stride
        indices[:count] = block[rows // stride] * stride + rows % stride
    change(indices)
    bundle = Bundle(built.bundle.scalars, arrays)
    return Sparse().lists(step, dataclasses.replace(built, taken=(bundle, tables)))


@pytest.mark.parametrize("case", CASES[:4])
def test_a_layer_without_an_indexer_has_the_lists_of_its_own_table(case):
    assert taken(case) == []
    (found,) = taken(case, moves=False)
    assert found.property == "SP-23"
    assert "a layer without an indexer has other lists than those of this step's sel" in found.what


def test_a_list_of_a_layer_without_an_indexer_that_is_not_made_is_found():
    (found,) = taken(CASES[0], lambda indices: indices.fill(POISON))
    assert found.property == "SP-23"
    assert "P01, row 0 (request 0): key 0 of its list was not written" in found.what
