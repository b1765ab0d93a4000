"""plan, check, run and reference: what people use first."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

import attention as att
import golden
import kernels_test
import mla_testbed as mla
import numpy as np
import pytest

CASE = "mla1:2q4s900_1q1s513;heads=8;block=16;cu=4"
FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures"


def test_the_plan_of_a_case_is_valid_and_a_damaged_one_names_the_culprit() -> None:
    bundle = mla.plan(CASE)
    assert mla.check(bundle) == mla.Answer(True, (), "", "", ())
    works = bundle.buffers.work_info_set
    works[1, 5] += 7
    answer = mla.check(bundle)
    assert not answer.valid
    assert answer.at_fault == "the builder, or what came after it"
    assert any("work 1" in v.what or v.work == 1 for v in answer.violations)


def test_a_note_is_part_of_what_an_answer_says() -> None:
    answer = mla.check(mla.plan("mla1:2q1s90;block=16;page=16;cu=4"))
    assert answer.valid
    assert str(answer).startswith("valid\nnote: AITER's decode kernels of August 2026 ignore")


def test_a_bundle_with_lists_of_wider_integers_is_saved_as_aiter_has_them(tmp_path) -> None:
    bundle = mla.plan(CASE)
    bundle.arrays["kv_last_page_lens"] = bundle.arrays["kv_last_page_lens"].astype(np.int64)
    bundle.save(tmp_path / "saved")
    again = mla.Bundle.load(tmp_path / "saved")
    assert again.arrays["kv_last_page_lens"].dtype == np.int32
    bundle.arrays["kv_last_page_lens"] = np.full(3, 1 << 40)
    with pytest.raises(mla.UsageError, match="'kv_last_page_lens' .* number that is no int32"):
        bundle.save(tmp_path / "wide")


def test_lists_give_the_plan_that_the_case_with_the_same_lists_gives() -> None:
    bundle = mla.plan("mla1:2q1s900_1q1s513;heads=16;cu=4;planner=v12")
    lists = mla.plan({
        "seqlens_qo_indptr": [0, 1, 2, 3], "seqlens_kv_indptr": [0, 900, 1800, 2313], "num_cu": 4,
        "max_seqlen_qo": 1, "uni_seqlen_qo": 1})
    for name in golden.BUFFERS.values():
        np.testing.assert_array_equal(lists.arrays[name], bundle.arrays[name], err_msg=name)
    assert mla.check(lists).valid


def test_lists_whose_plan_check_would_call_broken_are_refused_unless_as_aiter() -> None:
    call = {"seqlens_qo_indptr": [0, 1, 2, 3], "seqlens_kv_indptr": [0, 300, 300, 600], "num_cu": 1,
            "max_seqlen_qo": 1, "uni_seqlen_qo": 1}
    with pytest.raises(mla.RefusedError, match="no valid plan .* never runs the work") as caught:
        mla.plan(call)
    assert caught.value.bug == "AITER-13"
    answer = mla.check(mla.plan(call, as_aiter=True))
    assert answer.at_fault == "the planner"
    with pytest.raises(mla.UnsupportedError, match="take one KV head, num_heads_k is 2"):
        mla.plan({**call, "num_cu": 4, "num_heads_per_head_k": 8, "num_heads_k": 2,
                  "seqlens_kv_indptr": [0, 100, 200, 300]})


def test_plan_needs_the_last_page_lengths_of_pages_of_several_tokens() -> None:
    call = {"seqlens_qo_indptr": [0, 1], "seqlens_kv_indptr": [0, 5], "page_size": 16}
    with pytest.raises(mla.UsageError, match="needs kv_last_page_lens.*: page_size is 16"):
        mla.plan(call)
    assert mla.check(mla.plan({**call, "kv_last_page_lens": [16]})).valid
    assert mla.check(mla.plan({**call, "page_size": 1})).valid


def test_an_unknown_argument_of_plan_is_refused_with_those_there_are() -> None:
    with pytest.raises(mla.UsageError, match=r"plan\(\) does not know pagesize; expected seqlens_"):
        mla.plan({"seqlens_qo_indptr": [0, 1], "seqlens_kv_indptr": [0, 5], "pagesize": 16})


def test_a_bundle_comes_back_from_its_folder_and_the_command_reads_it(
        tmp_path: pathlib.Path) -> None:
    bundle = mla.plan(CASE)
    bundle.save(tmp_path / "step")
    again = mla.Bundle.load(tmp_path / "step")
    assert again.name == bundle.name
    for name, array in bundle.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array, err_msg=name)
    assert mla.check(again).valid
    command = os.environ.get("MLA_TESTBED_COMMAND", "mla-testbed")
    if pathlib.Path(command).exists():
        found = subprocess.run([command, "check", "--json", str(tmp_path / "step")],
                               capture_output=True, text=True, check=False)
        assert json.loads(found.stdout)["plans"][0]["violations"] == []


def test_a_captured_bundle_with_a_defect_is_the_builders_fault() -> None:
    answer = mla.check(mla.Bundle.load(FIXTURES / "bundles" / "heads"))
    assert (answer.valid, answer.at_fault) == (False, "the builder")
    assert "at fault: the builder" in str(answer)


def test_a_folder_without_a_manifest_is_no_bundle(tmp_path: pathlib.Path) -> None:
    with pytest.raises(mla.UsageError, match="manifest.json' cannot be read"):
        mla.Bundle.load(tmp_path)


def test_a_case_that_holds_passes_and_says_what_ran() -> None:
    verdict = mla.run(CASE, properties=["P05", "P12"])
    assert verdict.passed
    assert [p.id for p in verdict.properties] == ["P05", "P12"]
    assert any(line.startswith("cpu on") for line in verdict.launches)
    assert verdict.case == mla.canonical(CASE)


def test_a_planted_defect_fails_with_a_line_that_reproduces_it() -> None:
    verdict = mla.run("mla1:2q4s40;heads=8", properties=["P12"], plant="SEED-qo-arange")
    assert verdict.verdict == "fail"
    assert "REPRO: mla-testbed replay" in verdict.failure_block
    assert "--plant SEED-qo-arange" in str(verdict)


def test_a_refused_case_is_no_pass_and_says_why() -> None:
    verdict = mla.run("mla1:1q2s1", properties=["P12"])
    assert (verdict.verdict, verdict.passed) == ("skip", False)
    assert verdict.refused


def test_a_verdict_whose_properties_were_all_skipped_for_one_reason_prints_it() -> None:
    large = "mla1:4q1s2000000;heads=16"
    verdict = mla.run(large, properties=["P12", "P14"])
    assert (verdict.verdict, verdict.refused) == ("skip", "")
    assert str(verdict).startswith("skip: attention is not executed: 160 million (row, head, key)")
    assert "(0 of 2 properties held)" in str(verdict)
    assert str(mla.run(large, properties=["P01", "P12"])).startswith("pass (1 of 2 properties held")


def test_a_verdict_whose_properties_were_skipped_for_several_reasons_prints_none() -> None:
    skipped = [mla.PropertyResult(f"P0{i}", "", "skip", f"reason {i}", ()) for i in (1, 2)]
    found = [str(mla.Verdict("case", "cpu", "skip", "", tuple(some), (), ""))
             for some in (skipped, skipped[:1])]
    assert found == ["skip (0 of 2 properties held) case",
                     "skip: reason 1 (0 of 1 properties held) case"]


def test_the_machine_code_of_our_kernels_judges_a_case() -> None:
    verdict = mla.run("mla1:1q1s40;cu=4", backend="hip", device="emulated:gfx942",
                      properties=["P12"])
    assert verdict.passed, str(verdict)
    assert any("hip on emulated:gfx942" in line for line in verdict.launches)


@pytest.mark.parametrize("options, message", [
    ({"backend": "gpu"}, "backend 'gpu' is unknown"),
    ({"properties": ["P99"]}, "P99"),
    ({"plant": "BUG-9999"}, "BUG-9999")])
def test_what_run_does_not_know_is_a_usage_error(options: dict[str, object], message: str) -> None:
    with pytest.raises(mla.UsageError, match=message):
        mla.run(CASE, **options)


def test_a_line_that_is_no_case_names_field_and_value() -> None:
    with pytest.raises(mla.UsageError, match="heads.*999"):
        mla.plan("mla1:1q1s5;heads=999")


def test_the_reference_is_attention_and_the_emulator_stays_within_its_bounds() -> None:
    step = kernels_test.make_step([300, 45], 2, 16, page=16)
    found = mla.reference(step.q, step.kv, step.qo_indptr, step.kv_indptr, step.indices, step.last,
                          kernels_test.SCALE, page_size=16)
    out, lse = kernels_test.expected(step)
    np.testing.assert_allclose(found.out, out, atol=1e-6)
    np.testing.assert_allclose(found.lse, lse, atol=1e-6)
    emulated, _ = kernels_test.decode_with_plan(step)
    assert (np.abs(emulated - found.out) <= found.out_bound).all()
    assert (found.out_bound < 0.1).all()


def test_the_reference_names_a_request_with_too_few_keys() -> None:
    step = kernels_test.make_step([300, 1], 2, 16)
    with pytest.raises(mla.UsageError, match="request 1 has 1 keys for 2 query rows"):
        mla.reference(step.q, step.kv, step.qo_indptr, step.kv_indptr, step.indices, step.last, 1.0)


def test_a_row_without_keys_has_output_0_and_lse_minus_infinity() -> None:
    words = np.zeros(1, np.int32)
    found = mla.reference(att.bf16(np.ones((1, 16, 576))), np.zeros((1, 1, 1, 576), np.uint16),
                          np.array([0, 1], np.int32), np.zeros(2, np.int32), words, words, 1.0)
    assert not found.out.any()
    assert np.isneginf(found.lse).all()
