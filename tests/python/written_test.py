"""`check_written`: outputs that were not written are reported, and only those."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import mla_testbed as mla
import numpy as np
import pytest
from mla_testbed import kernels
from steps import SCALE, Step, decode_with_plan, expected, make_prefill, make_step

BACKENDS = ["cpu", pytest.param("aiter", marks=pytest.mark.skipif(
    not os.environ.get("AITER_HSA"), reason="needs AITER_HSA, AITER's code objects"))]


@pytest.fixture(autouse=True)
def checked() -> Iterator[None]:
    assert mla.check_written(True) is False
    yield
    assert mla.check_written(False) is True
    mla.set_backend("cpu")


def plan_of(step: Step) -> Any:
    buffers = mla.allocate(mla.decode_sizes(len(step.last), step.rows, 16, compute_units=8))
    mla.plan_decode(step.qo_indptr, step.kv_indptr, step.last, 16, 1, True, buffers,
                    page_size=step.page, max_seqlen_qo=step.rows, uni_seqlen_qo=step.rows,
                    compute_units=8)
    return buffers


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_right_step_has_no_finding_and_the_same_result(backend: str) -> None:
    mla.set_backend(backend)
    for lengths, rows in (([700, 33], 2), ([1200], 4), ([1, 1, 1], 1)):
        step = make_step(lengths, rows, 16)
        out, _ = decode_with_plan(step)
        np.testing.assert_allclose(out, expected(step)[0], atol=2e-2)
    mla.check_written(False)
    unchecked, _ = decode_with_plan(step)
    mla.check_written(True)
    np.testing.assert_array_equal(out, unchecked)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_request_that_the_plan_forgot_is_named(backend: str) -> None:
    step = make_step([300, 77], 1, 16)
    buffers = plan_of(step)
    work_indptr = buffers.work_indptr.copy()
    works = int(work_indptr[-1])
    lost = int(np.flatnonzero(buffers.work_info_set[:works, 0] == 1)[0])
    work_indptr[work_indptr > lost] = lost  # request 1 lies after request 0
    mla.set_backend(backend)
    with pytest.raises(mla.FaultError, match="row 1 of request 1, which has 77 pages, is covered "
                                             "by no work") as caught:
        decode_with_plan(step, work_indptr=work_indptr,
                         work_meta_data=np.array([work_indptr.ctypes.data,
                                                  buffers.work_info_set.ctypes.data], np.uint64),
                         work_info_set=buffers.work_info_set)
    assert len(caught.value.report.splitlines()) == 1


def test_a_plan_of_zeros_is_one_that_nobody_made() -> None:
    step = make_step([300, 77], 2, 16)
    empty = np.zeros(9, np.int32)
    info = np.zeros((8, 8), np.int32)
    with pytest.raises(mla.FaultError, match="row 0 of request 0") as caught:
        decode_with_plan(step, work_indptr=empty, work_info_set=info, work_meta_data=np.array(
            [empty.ctypes.data, info.ctypes.data], np.uint64))
    assert len(caught.value.report.splitlines()) == 4


def test_rows_of_requests_without_keys_may_stay_unwritten() -> None:
    step = make_step([300, 50], 1, 16)
    step.kv_indptr[2] = step.kv_indptr[1]
    out = mla.poisoned((2, 16, 512), np.uint16)
    split = mla.poisoned((64, 1, 16, 512), np.float32)
    lse = mla.poisoned((64, 1, 16, 1), np.float32)
    info = np.array([[0, -1, 0, 1, 0, 300, 0, 0]], np.int32)  # row 0; no work for request 1
    kernels.decode_stage1(
        step.q, step.kv, step.qo_indptr, step.kv_indptr, step.indices, step.last, None, None,
        np.array([0, 1, 1], np.int32), info, 1, 1, 1, SCALE, split, lse, out)
    assert (out[0] != mla.POISON_BF16).any(-1).all()
    assert (out[1] == mla.POISON_BF16).all()
    assert (split.view(np.uint32) == mla.POISON_F32).all()


@pytest.mark.parametrize("part", ["lse", "output"])
def test_a_piece_that_nobody_wrote_is_named_by_the_reduce(part: str) -> None:
    parts = np.ones((4, 16, 512), np.float32)
    lse = np.zeros((4, 16), np.float32)
    target = lse if part == "lse" else parts
    target[3, 5] = mla.poisoned(target[3, 5].shape, np.float32)
    out = np.zeros((1, 16, 512), np.uint16)
    arguments = (np.array([0, 3], np.int32), np.array([[0, 1]], np.int32))
    kernels.reduce(parts, lse, *arguments, np.array([0, 1, 2], np.int32), out)
    with pytest.raises(mla.FaultError, match=f"partial_{part} row 3 head 5, a piece of output row "
                                             "0, was never written"):
        kernels.reduce(parts, lse, *arguments, np.array([0, 3, 2], np.int32), out)


def test_a_prefill_work_that_is_missing_is_named_by_row_and_head() -> None:
    step = make_prefill([300], 2, cu=1)  # nothing is split
    kernels.prefill(*step.arguments, *step.outputs)
    work_indptr, info = step.arguments[6:8]
    works = int(work_indptr[-1])
    lost = works - 1
    head, begin, end = info[lost, 7] & 0xFFFF, info[lost, 2], info[lost, 3]
    same = np.flatnonzero((info[:works, 7] & 0xFFFF == head) & (info[:works, 2] == begin))
    assert list(same) == [lost], "the rows of the last work are its own"
    work_indptr[work_indptr == works] = lost
    with pytest.raises(mla.FaultError) as caught:
        kernels.prefill(*step.arguments, *step.outputs)
    lines = caught.value.report.splitlines()
    assert len(lines) == end - begin
    assert lines[0].startswith(f"row {begin} head {head} of request 0, which has 300 keys, is "
                               "covered by no work")


def test_a_prefill_row_that_sees_no_key_may_stay_unwritten() -> None:
    step = make_prefill([40], 1)
    q, k, v, indptr, _, entries, _, _, scale, causal = step.arguments
    fewer = np.array([0, 30], np.int32)  # rows 0 to 9 see nothing
    info = np.array([[0, -1, 10, 40, 0, 30, 0, 0]], np.int32)
    kernels.prefill(q, k, v, indptr, fewer, entries, np.array([0, 1], np.int32), info, scale,
                    causal, *step.outputs)
    assert (step.outputs[2][:10] == mla.POISON_BF16).all()
    info[0, 2] = 11
    with pytest.raises(mla.FaultError, match="row 10 head 0 of request 0"):
        kernels.prefill(q, k, v, indptr, fewer, entries, np.array([0, 1], np.int32), info, scale,
                        causal, *step.outputs)


def test_poisoned_memory_is_nan_and_no_computation_makes_its_bits() -> None:
    assert np.isnan(mla.poisoned(3, np.float32)).all()
    assert (mla.poisoned(3, np.uint16) == mla.POISON_BF16).all()
    assert mla.POISON_BF16 & 0x7FFF > 0x7F80, "a NaN of bf16"
    assert (mla.poisoned((2, 2), np.int32) == mla.POISON).all()
    with pytest.raises(ValueError, match="dtype is int64; expected"):
        mla.poisoned(1, np.int64)
