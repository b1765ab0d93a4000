"""Size queries and planners through the package, against AITER's own answers."""

from __future__ import annotations

import json
from typing import Any

import golden
import mla_testbed as mla
import numpy as np
import pytest

SIZES = json.loads((golden.GOLDEN / "sizes.json").read_text())
DECODE = list(golden.cases("v1*.json"))
PREFILL = list(golden.cases("ps_prefill.json"))


def buffers_of(case: dict[str, Any]) -> mla.PlanBuffers:
    shapes = case["buffer_sizes"]
    return mla.allocate(mla.BufferSizes(
        2, shapes["work_indptr"][0], shapes["work_info_set"][0], shapes["reduce_indptr"][0],
        shapes["reduce_final_map"][0], shapes["reduce_partial_map"][0]))


def assert_expected(case: dict[str, Any], buffers: mla.PlanBuffers) -> None:
    for name in golden.BUFFERS:
        found = getattr(buffers, name).reshape(-1)
        values, written = golden.expected(case, name, found.size)
        if "pages_kv_indptr" in case:
            written[:] = True  # this planner writes every element; the zero tail is cut
        np.testing.assert_array_equal(found, np.where(written, values, mla.POISON), err_msg=name)


def plan(case: dict[str, Any], buffers: mla.PlanBuffers, **changes: Any) -> None:
    options = {key: case[key] for key in (
        "page_size", "kv_granularity", "max_seqlen_qo", "uni_seqlen_qo", "fast_mode", "topk",
        "max_split_per_batch", "intra_batch_mode", "is_cp_round_robin", "dtype_q", "dtype_kv",
        "arch")}
    options |= {"compute_units": case["num_cu"], "as_aiter": True, **changes}
    mla.plan_decode(
        golden.list_of(case, "seqlens_qo_indptr"), golden.list_of(case, "seqlens_kv_indptr"),
        golden.list_of(case, "kv_last_page_lens"), case["num_heads_per_head_k"],
        case["num_heads_k"], case["is_causal"], buffers, **options)


def plan_prefill(case: dict[str, Any], buffers: mla.PlanBuffers) -> None:
    mla.plan_prefill(
        golden.list_of(case, "seqlens_qo_indptr"), golden.list_of(case, "pages_kv_indptr"),
        golden.list_of(case, "context_lens"), case["gqa_ratio"], case["num_heads_k"], buffers,
        compute_units=case["num_cu"], as_aiter=True,
        **{key: case[key] for key in ("qhead_granularity", "qlen_granularity",
                                      "kvlen_granularity", "block_size", "is_causal")})


def test_decode_sizes_are_those_of_aiter() -> None:
    columns = SIZES["columns_mla"]
    for row in SIZES["mla"]:
        q = dict(zip(columns, row, strict=True))
        found = mla.decode_sizes(
            q["batch"], q["max_seqlen_qo"], q["num_head_qo"], q["q_dtype"], q["kv_dtype"],
            is_sparse=q["is_sparse"], fast_mode=q["fast_mode"], num_kv_splits=q["num_kv_splits"],
            intra_batch_mode=q["intra_batch_mode"], max_split_per_batch=q["max_split_per_batch"],
            arch=q["arch"], compute_units=q["num_cu"])
        assert list(found) == [2, *row[12:]], q


def test_prefill_sizes_are_those_of_aiter() -> None:
    columns = SIZES["columns_ps"]
    for row in SIZES["ps"]:
        q = dict(zip(columns, row, strict=True))
        found = mla.prefill_sizes(q["batch"], q["num_head_k"], q["max_qlen"],
                                  q["qlen_granularity"], compute_units=q["num_cu"])
        assert list(found) == [2, *row[6:]], q


@pytest.mark.parametrize("case", DECODE, ids=lambda case: case["name"])
def test_a_decode_plan_is_that_of_aiter_unwritten_elements_included(case: dict[str, Any]) -> None:
    buffers = buffers_of(case)
    plan(case, buffers)
    assert_expected(case, buffers)
    assert buffers.work_meta_data.tolist() == [buffers.work_indptr.ctypes.data,
                                               buffers.work_info_set.ctypes.data]


def test_the_serial_kernel_is_chosen_by_name() -> None:
    case = next(c for c in DECODE if "expected_serial" in c)
    buffers = buffers_of(case)
    plan(case, buffers, kernel="serial")
    assert_expected({**case, "expected": case["expected_serial"]}, buffers)


@pytest.mark.parametrize("case", PREFILL, ids=lambda case: case["name"])
def test_a_prefill_plan_is_that_of_aiter(case: dict[str, Any]) -> None:
    buffers = buffers_of(case)
    plan_prefill(case, buffers)
    assert_expected(case, buffers)
    assert buffers.work_meta_data.tolist() == [0, 0]


def two(**changes: Any) -> dict[str, Any]:
    """A call for two requests of one row on four compute units, for what is refused."""
    return {"qo": np.array([0, 1, 2], np.int32), "kv": np.array([0, 100, 3100], np.int32),
            "last": np.array([1, 1], np.int32), **changes}


def plan_two(call: dict[str, Any], buffers: mla.PlanBuffers, **options: Any) -> None:
    mla.plan_decode(call["qo"], call["kv"], call["last"], 16, 1, True, buffers,
                    **{"max_seqlen_qo": 1, "uni_seqlen_qo": 1, "compute_units": 4, **options})


@pytest.fixture
def buffers() -> mla.PlanBuffers:
    return mla.allocate(mla.decode_sizes(2, 1, 16, compute_units=4))


def test_a_buffer_that_is_too_small_is_an_overrun_and_stays_untouched(
        buffers: mla.PlanBuffers) -> None:
    small = buffers._replace(work_info_set=buffers.work_info_set[:1])
    with pytest.raises(mla.OverrunError, match="work_info") as caught:
        plan_two(two(), small)
    assert caught.value.bug == "BUG-015"
    assert (small.work_indptr == mla.POISON).all()


def test_a_list_of_another_dtype_names_parameter_expected_and_found(
        buffers: mla.PlanBuffers) -> None:
    with pytest.raises(mla.TensorError,
                       match="^seqlens_kv_indptr: expected dtype i32, found i64$"):
        plan_two(two(kv=np.array([0, 100, 3100])), buffers)


def test_a_strided_list_is_refused(buffers: mla.PlanBuffers) -> None:
    with pytest.raises(mla.TensorError, match="seqlens_qo_indptr: expected a contiguous tensor"):
        plan_two(two(qo=np.array([0, 9, 1, 9, 2, 9], np.int32)[::2]), buffers)


def test_what_is_no_array_is_refused(buffers: mla.PlanBuffers) -> None:
    with pytest.raises(mla.TensorError, match="kv_last_page_lens: .* found list"):
        plan_two(two(last=[1, 1]), buffers)


def test_an_option_out_of_range_names_the_range(buffers: mla.PlanBuffers) -> None:
    with pytest.raises(mla.UsageError, match="page_size is 0; expected 1 to"):
        plan_two(two(), buffers, page_size=0)


def test_a_known_defect_is_refused_with_its_number(buffers: mla.PlanBuffers) -> None:
    with pytest.raises(mla.RefusedError) as caught:
        plan_two(two(), buffers, uni_seqlen_qo=2, max_seqlen_qo=2)
    assert caught.value.bug == "BUG-016"


def test_a_tensor_in_host_memory_is_refused_where_places_are_checked(
        buffers: mla.PlanBuffers) -> None:
    assert mla.check_places(True) is False
    try:
        with pytest.raises(mla.TensorError, match="expected a tensor on the device, found one in "
                                                  "host memory"):
            plan_two(two(), buffers)
    finally:
        assert mla.check_places(False) is True
