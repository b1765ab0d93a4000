"""Stage 1, reduce, prefill and cache writers on arrays, against dense attention in float64."""

from __future__ import annotations

from typing import Any

import attention as att
import mla_testbed as mla
import numpy as np
import pytest
from mla_testbed import kernels
from steps import (
    SCALE,
    Step,
    decode_with_plan,
    expected,
    expected_prefill,
    make_prefill,
    make_step,
)


@pytest.mark.parametrize("page", [1, 16, 64])
def test_plan_stage_1_and_reduce_give_attention(page: int) -> None:
    step = make_step([700, 33, 1200], 2, 16, page=page)
    out, _ = decode_with_plan(step)
    np.testing.assert_allclose(out, expected(step)[0], atol=2e-2)


@pytest.mark.parametrize("q_fp8", [False, True])
def test_fp8_is_that_of_the_architecture(q_fp8: bool) -> None:
    for arch in ("gfx942", "gfx950"):
        step = make_step([300, 77], 1, 16, q_fp8=q_fp8, kv_fp8=True, arch=arch)
        dtypes = ("fp8" if q_fp8 else "bf16", "fp8")
        out, _ = decode_with_plan(step, arch=arch, dtypes=dtypes)
        np.testing.assert_allclose(out, expected(step)[0], atol=0.1 if q_fp8 else 3e-2)


def test_the_final_lse_of_every_row_is_that_of_attention() -> None:
    step = make_step([900, 20], 1, 16)
    _, lse = decode_with_plan(step, arch="gfx950", want_lse=True)
    np.testing.assert_allclose(lse, expected(step)[1], atol=1e-3)


def test_a_gap_between_pages_is_skipped() -> None:
    step = make_step([200], 1, 16, page=16)
    wide = np.zeros((step.kv.shape[0], 20, 1, 576), np.uint16)
    wide[:, :16] = step.kv
    out, _ = decode_with_plan(step._replace(kv=wide[:, :16]))
    np.testing.assert_array_equal(out, decode_with_plan(step)[0])


@pytest.mark.parametrize("splits", [1, 3])
def test_without_a_plan_every_request_has_equal_splits(splits: int) -> None:
    step = make_step([500, 130], 1, 16)
    out = np.full((2, 16, 512), 0x7FA5, np.uint16)
    split = np.full((2, splits, 16, 512), np.nan, np.float32)
    split_lse = np.full((2, splits, 16, 1), np.nan, np.float32)
    kernels.decode_stage1(
        step.q, step.kv, step.qo_indptr, step.kv_indptr, step.indices, step.last,
        np.arange(3, dtype=np.int32) * splits, None, None, None, 1, 1, 1, SCALE, split, split_lse,
        out)
    weights = np.exp(split_lse - split_lse.max(1, keepdims=True))
    merged = (split * weights).sum(1) / weights.sum(1)
    np.testing.assert_allclose(merged, expected(step)[0], atol=2e-2)
    assert (out == 0x7FA5).all()


def test_without_a_plan_requests_of_more_rows_than_the_launch_says_are_unsupported() -> None:
    step = make_step([500, 130], 4, 16)
    split = np.full((8, 1, 16, 512), np.nan, np.float32)
    lse = np.full((8, 1, 16, 1), np.nan, np.float32)
    with pytest.raises(mla.UnsupportedError,
                       match="request 0 has 4 rows and max_seqlen_q is 1: without a plan nothing"):
        kernels.decode_stage1(
            step.q, step.kv, step.qo_indptr, step.kv_indptr, step.indices, step.last,
            np.arange(3, dtype=np.int32), None, None, None, 1, 1, 1, SCALE, split, lse,
            np.zeros((8, 16, 512), np.uint16))


def test_a_single_split_with_a_bf16_target_writes_the_output() -> None:
    step = make_step([500, 130], 1, 16, q_fp8=True, kv_fp8=True)
    out = np.full((2, 16, 512), 0x7FA5, np.uint16)
    lse = np.full((2, 1, 16, 1), np.nan, np.float32)
    one = np.ones(1, np.float32)
    kernels.decode_stage1(
        step.q, step.kv, step.qo_indptr, step.kv_indptr, step.indices, step.last,
        np.arange(3, dtype=np.int32), None, None, None, 1, 1, 1, SCALE,
        out.reshape(2, 1, 16, 512), lse, out, None, one, one)
    np.testing.assert_allclose(att.from_bf16(out), expected(step)[0], atol=0.1)


def test_a_shape_without_a_kernel_is_unsupported() -> None:
    with pytest.raises(mla.UnsupportedError,
                       match="no persistent kernel takes gfx942, bf16/bf16, 16 heads, 5 rows"):
        decode_with_plan(make_step([100], 5, 16))


def test_a_page_outside_of_the_cache_is_a_fault_with_the_work() -> None:
    step = make_step([100, 50], 1, 16)
    step.indices[110] = 9999
    with pytest.raises(mla.FaultError, match="entry 110 of kv_indices leads to cache slot 9999"):
        decode_with_plan(step)


def test_work_meta_data_of_other_buffers_is_a_fault() -> None:
    with pytest.raises(mla.FaultError) as caught:
        decode_with_plan(make_step([100], 1, 16), work_meta_data=np.array([8, 16], np.uint64))
    assert "work_meta_data[1] is 16" in caught.value.report


def test_fp8_without_its_scales_is_refused() -> None:
    step = make_step([100], 1, 16, q_fp8=True, kv_fp8=True)
    nothing = np.zeros((8, 1, 16, 512), np.float32)
    with pytest.raises(mla.TensorError, match="q_scale: expected a tensor, found NULL"):
        kernels.decode_stage1(
            step.q, step.kv, step.qo_indptr, step.kv_indptr, step.indices, step.last, None, None,
            np.zeros(2, np.int32), np.zeros((0, 8), np.int32), 1, 1, 1, SCALE, nothing,
            np.zeros((8, 1, 16, 1), np.float32), np.zeros((1, 16, 512), np.uint16))


def test_a_missing_kv_scale_means_1_where_q_is_bf16_and_a_scale_of_bf16_is_ignored() -> None:
    def stage1(step: Step, dtype_kv: str, **scales: np.ndarray) -> np.ndarray:
        plan = mla.plan({"seqlens_qo_indptr": step.qo_indptr, "seqlens_kv_indptr": step.kv_indptr,
                         "dtype_kv": dtype_kv, "num_cu": 1}).buffers
        out = np.zeros((1, 16, 512), np.uint16)
        kernels.decode_stage1(
            step.q, step.kv, step.qo_indptr, step.kv_indptr, step.indices, step.last, None,
            *plan[:3], 1, 1, 1, SCALE, np.zeros((1, 1, 16, 512), np.float32),
            np.zeros((1, 1, 16, 1), np.float32), out, **scales)
        assert out.any(-1).all()
        return out

    one, half = np.ones(1, np.float32), np.full(1, 0.5, np.float32)
    step = make_step([100], 1, 16, kv_fp8=True)
    without = stage1(step, "fp8")
    np.testing.assert_array_equal(without, stage1(step, "fp8", kv_scale=one))
    assert (without != stage1(step, "fp8", kv_scale=half)).any()
    np.testing.assert_array_equal(without, stage1(step, "fp8", q_scale=half))
    step = make_step([100], 1, 16)
    np.testing.assert_array_equal(stage1(step, "bf16"), stage1(step, "bf16", kv_scale=half))


@pytest.mark.parametrize("pieces", [2, 3, 4, 9])
@pytest.mark.parametrize("dim, heads", [(64, 64), (128, 10), (512, 16)])
def test_reduce_merges_any_number_of_pieces(pieces: int, dim: int, heads: int) -> None:
    rng = np.random.default_rng(pieces)
    parts = rng.normal(size=(pieces, heads, dim)).astype(np.float32)
    lses = rng.normal(size=(pieces, heads)).astype(np.float32)
    lses[1] = -np.inf
    out = np.zeros((1, heads, dim), np.float16)
    lse = np.zeros((1, heads), np.float32)
    kernels.reduce(parts, lses, np.array([0, pieces], np.int32), np.array([[0, 1]], np.int32),
                   np.arange(pieces, dtype=np.int32), out, lse)
    weights = np.exp(lses.astype(np.float64))
    total = weights.sum(0)
    np.testing.assert_allclose(lse[0], np.log(total), atol=1e-5)
    np.testing.assert_allclose(out[0], np.einsum("ph,phd->hd", weights / total, parts), atol=2e-3)


def test_reduce_writes_float16_as_numpy_rounds_it() -> None:
    values = np.concatenate([
        np.float32(2.0) ** np.arange(-26, 17, dtype=np.float32), [65519, 65520, 1 / 3, -0.1, 3e-8],
        np.linspace(-1e-4, 1e-4, 464)]).astype(np.float32)
    parts = np.broadcast_to(values, (4, 16, 512)).copy()
    out = np.zeros((1, 16, 512), np.float16)
    lses = np.zeros((4, 16), np.float32)
    lses[1:] = -np.inf  # so that the first piece is the result as it is
    kernels.reduce(parts, lses, np.array([0, 4], np.int32), np.array([[0, 1]], np.int32),
                   np.arange(4, dtype=np.int32), out)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out[0, 0], values.astype(np.float16))


def test_reduce_without_a_final_map_takes_equal_tiles_and_leaves_strides_alone() -> None:
    parts = np.arange(8, dtype=np.float32)[:, None, None] * np.ones((8, 16, 512), np.float32)
    wide = np.full((4, 16, 600), -1, np.float16)
    kernels.reduce(parts, np.zeros((8, 16), np.float32), np.array([0, 2, 4], np.int32), None,
                   np.array([0, 2, 4, 6], np.int32), wide[..., :512])
    assert [float(wide[row, 3, 5]) for row in range(4)] == [1, 2, 5, 6]
    assert (wide[..., 512:] == -1).all()


def test_reduce_without_an_instantiation_says_which_there_are() -> None:
    with pytest.raises(mla.UnsupportedError, match="no reduce for 40 heads of 512 elements; with "
                                                   "so many elements there are 8, 16, 24"):
        kernels.reduce(np.zeros((2, 40, 512), np.float32), np.zeros((2, 40), np.float32),
                       np.zeros(1, np.int32), None, np.zeros(0, np.int32),
                       np.zeros((1, 40, 512), np.uint16))


def test_prefill_with_a_plan_gives_attention() -> None:
    step = make_prefill([300, 90], 2)
    v_scale = np.array([0.5], np.float32)
    kernels.prefill(*step.arguments, *step.outputs, None, None, v_scale)
    np.testing.assert_allclose(step.merge(), expected_prefill(step, 0.5), atol=6e-2)


def test_prefill_of_gfx942_is_unsupported() -> None:
    none, words = np.zeros((1, 1, 192), np.uint8), np.zeros(1, np.int32)
    with pytest.raises(mla.UnsupportedError, match="gfx942 has no persistent prefill kernel"):
        kernels.prefill(none, none, none, words, words, words, words, words, SCALE, True,
                        none.copy(), none.copy(), none.copy(), arch="gfx942")


def cache_call(dtype: str, slots: list[int], scale: float = 0.5) -> tuple[Any, ...]:
    rng = np.random.default_rng(3)
    tokens = len(slots)
    kv_c, k_pe = (att.bf16(rng.normal(size=(tokens, d))) for d in (512, 64))
    cache = np.zeros((4, 8, 576), np.uint8 if dtype == "fp8" else np.uint16)
    kernels.concat_and_cache(kv_c, k_pe, cache, np.array(slots), dtype,
                             np.array([scale], np.float32))
    return np.concatenate([kv_c, k_pe], 1), cache.reshape(32, 576)


def test_the_cache_writer_puts_tokens_into_their_slots_and_skips_padding() -> None:
    rows, cache = cache_call("auto", [17, -1, 3])
    np.testing.assert_array_equal(cache[[17, 3]], rows[[0, 2]])
    assert not np.delete(cache, [17, 3], 0).any()


def test_the_cache_writer_takes_as_many_tokens_as_there_are_slots() -> None:
    rng = np.random.default_rng(3)
    kv_c, k_pe = (att.bf16(rng.normal(size=(rows, d))) for rows, d in ((5, 512), (4, 64)))
    cache = np.zeros((4, 8, 576), np.uint16)
    arguments = cache, np.array([17, 3]), "auto", None
    kernels.concat_and_cache(kv_c, k_pe, *arguments)
    wanted = np.concatenate([kv_c[:2], k_pe[:2]], 1)
    np.testing.assert_array_equal(cache.reshape(32, 576)[[17, 3]], wanted)
    assert not np.delete(cache.reshape(32, 576), [17, 3], 0).any()
    with pytest.raises(mla.TensorError, match="kv_c: expected the 2 tokens of slot_mapping, found"):
        kernels.concat_and_cache(kv_c[:1], k_pe, *arguments)
    with pytest.raises(mla.TensorError, match="k_pe: expected the 2 tokens of slot_mapping, found"):
        kernels.concat_and_cache(kv_c, k_pe[:1], *arguments)


def test_the_cache_writer_divides_by_the_scale_for_fp8() -> None:
    rows, cache = cache_call("fp8", [5])
    values = att.fp8_table("e4m3fnuz")[cache[5]] * 0.5
    np.testing.assert_allclose(values, att.from_bf16(rows[0]), rtol=2**-4, atol=2**-11)


def test_a_slot_outside_of_the_cache_is_a_fault() -> None:
    with pytest.raises(mla.FaultError, match=r"slot_mapping\[1\] is 32, which is not in \[0, 32\)"):
        cache_call("auto", [0, 32])
