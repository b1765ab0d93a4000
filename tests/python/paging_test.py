"""Page expansion: from block tables to the list of pages that kernels read."""

from __future__ import annotations

import mla_testbed as mla
import numpy as np
import pytest
from mla_testbed import kernels

I32 = np.int32
UNTOUCHED = -77


def expand(table: np.ndarray, sums: list[int], per_block: int, *, room: int | None = None,
           rows: np.ndarray | None = None) -> np.ndarray:
    out = np.full(sums[-1] + 3 if room is None else room, UNTOUCHED, I32)
    kernels.expand_pages(table, np.array(sums, I32), out, per_block, rows)
    return out


@pytest.mark.parametrize("per_block", [1, 16, 128])
def test_pages_are_those_of_the_blocks_and_nothing_else_is_written(per_block: int) -> None:
    rng = np.random.default_rng(per_block)
    counts = [5 * per_block - per_block // 2, 0, 1, 3 * per_block]
    table = rng.permutation(1000)[:24].reshape(4, 6).astype(I32)
    sums = [0, *np.cumsum(counts).tolist()]
    wanted = np.concatenate([
        table[r, t // per_block] * per_block + t % per_block
        for r, n in enumerate(counts) for t in [np.arange(n)]])
    out = expand(table, sums, per_block)
    np.testing.assert_array_equal(out[:sums[-1]], wanted)
    assert (out[sums[-1]:] == UNTOUCHED).all()


def test_requests_name_their_rows_and_tables_may_have_strides() -> None:
    wide = np.arange(60, dtype=I32).reshape(5, 12)
    out = expand(wide[::2, ::3], [0, 2, 4], 1, rows=np.array([2, 0]))
    assert out[:4].tolist() == [48, 51, 0, 3]


def test_the_tokens_of_a_step_come_out_of_its_blocks() -> None:
    table = np.array([[7, 2], [4, -1]], I32)
    out = expand(table, [0, 20, 36], 16)
    assert out[:36].tolist() == [*range(112, 128), *range(32, 36), *range(64, 80)]


@pytest.mark.parametrize(("table", "sums", "per_block", "room", "error", "sentence"), [
    ([[1, 2]], [0, 33], 16, 40, mla.OverrunError, "request 0: 3 blocks, the table has 2 columns"),
    ([[1, 2]], [0, 32], 16, 31, mla.OverrunError, "kv_indices has 31 entries, 32 are needed"),
    ([[1, 2]], [0, 16, 32], 16, 32, mla.OverrunError, "request 1: block table row 1 of 1"),
    ([[2**27]], [0, 16], 16, 16, mla.UnsupportedError, "leaves int32"),
    ([[-1]], [0, 16], 16, 16, mla.UnsupportedError, "block -1 of 16 pages leaves int32"),
    ([[1, 2]], [0, -1], 16, 8, mla.UsageError, r"kv_indptr\[1\] is -1; expected at least 0"),
    ([[1, 2]], [5, 3], 16, 8, mla.UsageError, r"kv_indptr\[1\] is 3; expected at least 5"),
    ([[1, 2]], [0, 1], 0, 8, mla.UsageError, "pages_per_block is 0"),
])
def test_what_does_not_fit_is_refused_and_nothing_is_written(
        table: list[list[int]], sums: list[int], per_block: int, room: int,
        error: type[Exception], sentence: str) -> None:
    out = np.full(room, UNTOUCHED, I32)
    with pytest.raises(error, match=sentence):
        kernels.expand_pages(np.array(table, I32), np.array(sums, I32), out, per_block)
    assert (out == UNTOUCHED).all()


def test_other_dtypes_and_lists_of_another_length_are_refused() -> None:
    table, sums, out = np.zeros((1, 1), I32), np.array([0, 1], I32), np.zeros(1, I32)
    with pytest.raises(mla.TensorError, match="block_table: expected dtype i32, found i64"):
        kernels.expand_pages(table.astype(np.int64), sums, out, 1)
    with pytest.raises(mla.TensorError, match="block_table: expected strides from 0"):
        kernels.expand_pages(np.zeros((2, 1), I32)[::-1], sums, out, 1)
    with pytest.raises(mla.TensorError, match=r"table_rows: expected shape \(1\)"):
        kernels.expand_pages(table, sums, out, 1, np.array([0, 0]))
