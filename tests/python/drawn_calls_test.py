"""Drawn calls that no engine's step makes: the caller's lists, scales and plans.

The answer is known without the kernels.
"""

from __future__ import annotations

from typing import Any

import mla_testbed as mla
import numpy as np
import pytest
from calls_test import prefill, split_call
from hypothesis import given, settings
from hypothesis import strategies as st
from mla_testbed import kernels
from steps import SCALE, make_prefill, make_step

drawn = settings(max_examples=60, deadline=None, derandomize=True)


def expect_attention(out: np.ndarray, lse: np.ndarray, q: np.ndarray, keys: np.ndarray) -> None:
    """One row over keys that it sees: the output of each head and its LSE, within what the
    roundings explain.

    A score is off by the float32 roundings of its sum, at most 2**-24 of the sum of magnitudes for
    each product; so is the LSE, and each weight by that factor. Weights are rounded to bf16, twice
    where they are scaled (2**-8 of each term).
    """
    if len(keys) == 0:
        assert (out == 0).all()
        assert (lse == -np.inf).all()
        return
    scores = q @ keys.T * SCALE
    top = scores.max(1)
    weights = np.exp(scores - top[:, None])
    total = weights.sum(1)
    off = 576 * 2.0**-24 * (np.abs(q) @ np.abs(keys).T * SCALE).max(1) + 2.0**-18
    magnitudes = weights @ np.abs(keys[:, :512]) / total[:, None]
    error = np.abs(out - weights @ keys[:, :512] / total[:, None])
    assert (error <= (2.0**-8 + 2 * off[:, None]) * magnitudes).all()
    assert (np.abs(lse - top - np.log(total)) <= off).all()


@drawn
@given(keys=st.lists(st.integers(1, 300), min_size=1, max_size=3), splits=st.integers(1, 5),
       wrong=st.none() | st.tuples(st.integers(0, 3), st.sampled_from([-2**31, -1, 1, 64])))
def test_the_splits_of_the_caller_are_those_of_the_buffer_or_the_first_other_entry_is_named(
        keys: list[int], splits: int, wrong: tuple[int, int] | None) -> None:
    indptr = [splits * r for r in range(len(keys) + 1)]
    if wrong:
        entry, by = wrong[0] % len(indptr), wrong[1]
        indptr[entry] += by
        with pytest.raises(mla.UnsupportedError) as caught:
            split_call(splits, indptr, tuple(keys))
        assert f"num_kv_splits_indptr[{entry}] is {indptr[entry]};" in str(caught.value)
        return
    step, split, lse = split_call(splits, indptr, tuple(keys))
    for r, n in enumerate(keys):
        for z in range(splits):
            mine = step.keys(r)[np.arange(n) // 64 % splits == z]
            if len(mine) == 0:
                assert np.isnan(split[r, z]).all()  # nothing is written
                continue
            expect_attention(split[r, z], lse[r, z, :, 0], step.values[r], mine)


@settings(drawn, max_examples=20)
@given(lengths=st.lists(st.integers(1, 330), min_size=1, max_size=3), heads=st.integers(1, 2),
       scales=st.fixed_dictionaries({}, optional=dict.fromkeys("qkv", st.integers(-3, 3))))
def test_scales_of_a_prefill_change_no_bit_but_by_their_product_and_one_left_out_is_1(
        lengths: list[int], heads: int, scales: dict[str, int]) -> None:
    of = {name: 2.0 ** scales.get(name, 0) for name in "qkv"}  # exact in every format
    scale = SCALE / of["q"] / of["k"]  # what the kernel multiplies by is SCALE again
    found = prefill(make_prefill(lengths, heads), scale, **{name: of[name] for name in scales})
    plain = prefill(make_prefill(lengths, heads))
    np.testing.assert_array_equal(found, plain * np.float32(of["v"]))


@st.composite
def tiles(draw: Any) -> tuple[int, list[int], list[int]]:
    """Rows of every tile, reduce_indptr, reduce_partial_map. The second piece of a tile follows its
    first, from which the kernel learns the rows; the others may be anywhere."""
    rows = draw(st.integers(1, 3))
    pieces = draw(st.lists(st.integers(2, 4), min_size=1, max_size=4))
    partials: list[int] = []
    for count in pieces:
        first = draw(st.integers(0, 14))
        others = st.integers(0, 15).map(lambda slot: slot * rows)
        partials += [first * rows, (first + 1) * rows]
        partials += draw(st.lists(others, min_size=count - 2, max_size=count - 2))
    return rows, [0, *np.cumsum(pieces).tolist()], partials


@drawn
@given(of=tiles(), seed=st.integers(0, 2**32 - 1), empty=st.floats(0, 1))
def test_a_reduce_without_a_final_map_merges_equal_tiles_one_after_the_other(
        of: tuple[int, list[int], list[int]], seed: int, empty: float) -> None:
    rows, indptr, partials = of
    rng = np.random.default_rng(seed)
    parts = rng.normal(size=(16 * rows, 16, 512)).astype(np.float32)
    lse = rng.normal(size=(16 * rows, 16)).astype(np.float32)
    lse[rng.random(lse.shape) < empty] = -np.inf  # a piece of which the row sees no key
    parts[lse == -np.inf] = 0
    count = (len(indptr) - 1) * rows
    out = np.full((count + 1, 16, 512), -1, np.float16)
    final = np.full((count + 1, 16), np.nan, np.float32)
    kernels.reduce(parts, lse, np.array(indptr, np.int32), None, np.array(partials, np.int32), out,
                   final)
    for row in range(count):
        tile = row // rows
        at = np.array(partials[indptr[tile]:indptr[tile + 1]]) + row % rows
        total = np.logaddexp.reduce(lse[at].astype(float), 0)
        some = np.isfinite(total)
        weights = np.where(some, np.exp(lse[at] - np.where(some, total, 0)), 0)
        # The output is rounded to float16; weights and sums are float32's.
        terms = weights[..., None] * parts[at]
        bound = 2.0**-11 * np.abs(terms.sum(0)) + 2.0**-18 * np.abs(terms).sum(0) + 2.0**-24
        assert (np.abs(out[row] - terms.sum(0)) <= bound).all()
        np.testing.assert_array_equal(np.isfinite(final[row]), np.isfinite(total))
        near = np.isfinite(total)
        off = np.abs(final[row][near] - total[near])
        assert (off <= 2.0**-18 * (1 + np.abs(total[near]))).all()
    assert (out[count:] == -1).all()
    assert np.isnan(final[count:]).all()


@drawn
@given(keys=st.integers(2, 200), rows=st.integers(1, 4), data=st.data())
def test_a_row_has_of_each_piece_the_keys_that_it_sees_and_none_where_it_sees_none(
        keys: int, rows: int, data: Any) -> None:
    near = st.integers(max(1, keys - 5), keys - 1)
    inside = data.draw(st.sets(near | st.integers(1, keys - 1), min_size=1, max_size=4))
    cuts = [0, *sorted(inside), keys]
    pieces = list(zip(cuts[:-1], cuts[1:], strict=True))
    step = make_step([keys], rows, 16)
    works = np.array([[0, i * rows, 0, rows, a, b, keys - b, 0] for i, (a, b)
                      in enumerate(pieces)], np.int32)
    split = np.full((len(pieces) * rows, 1, 16, 512), np.nan, np.float32)
    lse = np.full((len(pieces) * rows, 1, 16, 1), np.nan, np.float32)
    out = np.zeros((rows, 16, 512), np.uint16)
    kernels.decode_stage1(
        step.q, step.kv, step.qo_indptr, step.kv_indptr, step.indices, step.last, None, None,
        np.array([0, len(works)], np.int32), works, rows, 1, 1, SCALE, split, lse, out)
    for i, (a, b) in enumerate(pieces):
        for r in range(rows):
            seen = step.keys(0)[a:max(a, min(b, keys - rows + r + 1))]
            at = i * rows + r
            expect_attention(split[at, 0], lse[at, 0, :, 0], step.values[r], seen)
