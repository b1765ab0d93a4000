"""Calls that no engine's step makes, and only Python and C reach: other scales, lists and plans."""

from __future__ import annotations

from typing import Any

import mla_testbed as mla
import numpy as np
import pytest
from mla_testbed import kernels
from steps import SCALE, Prefill, expected, expected_prefill, make_prefill, make_step


def prefill(step: Prefill, scale: float = SCALE, **scales: float) -> np.ndarray:
    """The merged output."""
    given = {f"{name}_scale": np.array([value], np.float32) for name, value in scales.items()}
    kernels.prefill(*step.arguments[:8], scale, True, *step.outputs, **given)
    return step.merge()


def fresh() -> Prefill:
    return make_prefill([300, 90], 2)


@pytest.mark.parametrize("scales", [{"q": 0.5}, {"k": 0.5}, {"q": 4, "k": 0.125},
                                    {"q": 0.25, "k": 2}])
def test_scales_of_q_and_k_multiply_the_scores_of_a_prefill(scales: dict[str, float]) -> None:
    plain = prefill(fresh(), SCALE / 2)
    np.testing.assert_array_equal(prefill(fresh(), SCALE, **scales), plain)
    assert (plain != prefill(fresh())).any()


@pytest.mark.parametrize("scale", [0.5, 4])
def test_the_scale_of_v_multiplies_the_output_of_a_prefill_and_no_weight(scale: float) -> None:
    np.testing.assert_allclose(prefill(fresh(), v=scale) / scale, prefill(fresh()), atol=1e-2)
    np.testing.assert_allclose(prefill(fresh(), v=scale), expected_prefill(fresh(), scale),
                               atol=6e-2 * scale)


def test_the_last_key_of_a_prefill_reaches_its_own_row_alone() -> None:
    plain, step = prefill(fresh()), fresh()
    step.arguments[2][299] = 0x7E  # of v: the largest number, in the last key of request 0
    after = prefill(step)
    np.testing.assert_array_equal(np.delete(after, 299, 0), np.delete(plain, 299, 0))
    assert (after[299] != plain[299]).all()


def split_call(splits: int, indptr: list[int], keys: tuple[int, ...] = (500, 130), *,
               page: int = 1, last: list[int] | None = None) -> Any:
    step = make_step(list(keys), 1, 16, page=page)
    step = step if last is None else step._replace(last=np.array(last, np.int32))
    n = len(keys)
    split = np.full((n, splits, 16, 512), np.nan, np.float32)
    lse = np.full((n, splits, 16, 1), np.nan, np.float32)
    kernels.decode_stage1(
        step.q, step.kv, step.qo_indptr, step.kv_indptr, step.indices, step.last,
        np.array(indptr, np.int32), None, None, None, 1, page, 1, SCALE, split, lse,
        np.zeros((n, 16, 512), np.uint16))
    return step, split, lse


@pytest.mark.parametrize(("indptr", "entry"), [
    ([1, 3, 6], "[0] is 1"), ([0, 2, 5], "[1] is 2"), ([0, 4, 7], "[1] is 4"),
    ([0, 3, 5], "[2] is 5"), ([0, 3, 7], "[2] is 7"), ([0, -3, 6], "[1] is -3")])
def test_splits_of_the_caller_that_are_not_those_of_the_buffer_are_unsupported(
        indptr: list[int], entry: str) -> None:
    with pytest.raises(mla.UnsupportedError) as caught:
        split_call(3, indptr)
    assert f"num_kv_splits_indptr{entry}; every request has the 3 splits" in str(caught.value)


def test_rows_of_a_request_without_a_plan_see_the_keys_up_to_their_own() -> None:
    step = make_step([67, 130], 4, 16)
    split = np.full((8, 3, 16, 512), np.nan, np.float32)
    lse = np.full((8, 3, 16, 1), -np.inf, np.float32)
    kernels.decode_stage1(
        step.q, step.kv, step.qo_indptr, step.kv_indptr, step.indices, step.last,
        np.array([0, 3, 6], np.int32), None, None, None, 4, 1, 1, SCALE, split, lse,
        np.zeros((8, 16, 512), np.uint16))
    weights = np.exp(lse - lse.max(1, keepdims=True))
    merged = (np.where(weights > 0, split, 0) * weights).sum(1) / weights.sum(1)
    np.testing.assert_allclose(merged, expected(step)[0], atol=2e-2)


def test_a_buffer_without_splits_is_refused() -> None:
    with pytest.raises(mla.TensorError, match="split_data: expected 1 to 65536 splits, found 0"):
        split_call(0, [0, 0, 0])


def test_a_bf16_buffer_of_several_splits_or_of_a_plan_is_refused() -> None:
    step = make_step([500, 130], 1, 16)

    def call(splits: int, indptr: Any, *plan: Any) -> None:
        kernels.decode_stage1(
            step.q, step.kv, step.qo_indptr, step.kv_indptr, step.indices, step.last, indptr, None,
            *(plan or (None, None)), 1, 1, 1, SCALE, np.zeros((2, splits, 16, 512), np.uint16),
            np.zeros((2, splits, 16, 1), np.float32), np.zeros((2, 16, 512), np.uint16))

    with pytest.raises(mla.TensorError, match="bf16 is the output of a single split"):
        call(2, np.array([0, 2, 4], np.int32))
    with pytest.raises(mla.TensorError, match="bf16 is the output of a single split"):
        call(1, None, np.zeros(2, np.int32), np.zeros((1, 8), np.int32))


@pytest.mark.parametrize("last", [0, -1, 17])
def test_a_last_page_of_no_tokens_or_more_than_a_page_holds_is_a_fault(last: int) -> None:
    with pytest.raises(mla.FaultError, match=rf"last page length {last} is not in \[1, 16\]"):
        split_call(3, [0, 3, 6], page=16, last=[4, last])


@pytest.mark.parametrize("splits", [1, 2, 3, 7])
@pytest.mark.parametrize("keys", [(64, 65), (1, 191), (192, 193), (128, 500)])
def test_a_split_has_every_so_many_tiles_of_64_keys(splits: int, keys: tuple[int, ...]) -> None:
    step, split, lse = split_call(splits, [0, splits, 2 * splits], keys)
    for r, n in enumerate(keys):
        cache = step.keys(r)
        scores = step.values[r] @ cache.T * SCALE
        for z in range(splits):
            mine = np.arange(n) // 64 % splits == z
            if not mine.any():
                assert np.isnan(split[r, z]).all()  # no key: nothing is written
                continue
            weights = np.exp(scores[:, mine] - scores[:, mine].max(1, keepdims=True))
            wanted = weights @ cache[mine, :512] / weights.sum(1, keepdims=True)
            np.testing.assert_allclose(split[r, z], wanted, atol=2e-2)


def reduced(indptr: list[int], partials: list[int], rows: int = 6) -> np.ndarray:
    """Of partial rows that hold their own number, without a final map; -1 where nothing is.

    After the lists lies what would be another piece: nothing may read it.
    """
    parts = np.arange(8, dtype=np.float32)[:, None, None] * np.ones((8, 16, 512), np.float32)
    out = np.full((rows, 16, 512), -1, np.float16)
    lists = [np.array([*values, values[-1] + 1], np.int32)[:-1] for values in (indptr, partials)]
    kernels.reduce(parts, np.zeros((8, 16), np.float32), lists[0], None, lists[1], out)
    assert (out == out[:, :1, :1]).all()
    return out[:, 0, 0].astype(float).tolist()


def test_without_a_final_map_a_tile_has_the_rows_between_its_first_two_partial_rows() -> None:
    assert reduced([0, 2], [0, 1]) == [0.5, -1, -1, -1, -1, -1]
    assert reduced([0, 2], [0, 3]) == [1.5, 2.5, 3.5, -1, -1, -1]
    assert reduced([0, 2, 4], [0, 2, 4, 6]) == [1, 2, 5, 6, -1, -1]
    assert reduced([0, 3, 5], [0, 2, 4, 1, 3]) == [2, 3, 2, 3, -1, -1]


def test_without_a_final_map_tiles_before_one_are_taken_to_have_as_many_rows() -> None:
    # Tile 1 has three rows, so tile 0 is taken to have three as well: rows 3 to 5 are tile 1's.
    assert reduced([0, 2, 4], [0, 1, 2, 5]) == [0.5, -1, -1, 3.5, 4.5, 5.5]


def test_without_a_final_map_a_last_tile_of_one_piece_is_not_merged() -> None:
    assert reduced([0, 2, 3], [0, 2, 4]) == [1, 2, -1, -1, -1, -1]


def test_without_a_final_map_partial_rows_that_fall_are_a_fault() -> None:
    with pytest.raises(mla.FaultError):
        reduced([0, 2], [3, 0])


def test_rows_without_a_key_in_a_piece_leave_minus_infinity_and_do_not_reach_the_merge() -> None:
    step = make_step([90], 4, 16)
    # Rows 0 and 1 see up to key 87: none of the second piece, which begins at key 88.
    works = np.array([[0, 0, 0, 4, 0, 88, 2, 0], [0, 4, 0, 4, 88, 90, 0, 0]], np.int32)
    split = np.full((8, 1, 16, 512), np.nan, np.float32)
    lse = np.full((8, 1, 16, 1), np.nan, np.float32)
    out = np.zeros((4, 16, 512), np.uint16)
    kernels.decode_stage1(
        step.q, step.kv, step.qo_indptr, step.kv_indptr, step.indices, step.last, None, None,
        np.array([0, 1, 2], np.int32), works, 4, 1, 1, SCALE, split, lse, out)
    assert (lse[4:6] == -np.inf).all()
    assert (split[4:6] == 0).all()
    assert np.isfinite(lse[[0, 1, 2, 3, 6, 7]]).all()
    final = np.zeros((4, 16, 512), np.float16)
    kernels.reduce(split, lse, np.array([0, 2], np.int32), np.array([[0, 4]], np.int32),
                   np.array([0, 4], np.int32), final)
    np.testing.assert_allclose(final, expected(step)[0], atol=2e-2)
