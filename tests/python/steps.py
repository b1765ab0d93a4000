"""Decode and prefill steps on numpy arrays, and what attention makes of them, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import attention as att
import mla_testbed as mla
import numpy as np
from mla_testbed import kernels

SCALE = 0.07
ENCODING = {"gfx942": "e4m3fnuz", "gfx950": "e4m3fn"}


class Step(NamedTuple):
    """A batch in a paged cache."""

    q: Any
    kv: Any
    qo_indptr: np.ndarray
    kv_indptr: np.ndarray
    indices: np.ndarray
    last: np.ndarray
    values: np.ndarray  # of q
    cache: np.ndarray  # values of the cache, [slots, 576]
    rows: int
    page: int

    def keys(self, request: int) -> np.ndarray:
        pages = self.indices[self.kv_indptr[request]:self.kv_indptr[request + 1]]
        slots = (pages[:, None] * self.page + np.arange(self.page)).reshape(-1)
        count = (len(pages) - 1) * self.page + self.last[request]
        return self.cache[slots[:count]]


def make_step(lengths: list[int], rows: int, heads: int, *, page: int = 1, q_fp8: bool = False,
              kv_fp8: bool = False, arch: str = "gfx942", seed: int = 1) -> Step:
    rng = np.random.default_rng(seed)
    pages = [-(-n // page) for n in lengths]
    count = sum(pages) + 3
    indices = 1 + rng.permutation(count - 1)[:sum(pages)].astype(np.int32)  # 0 is for padding

    def stored(values: np.ndarray, fp8: bool) -> tuple[np.ndarray, np.ndarray]:
        if not fp8:
            words = att.bf16(values)
            return words, att.from_bf16(words)
        words = att.to_fp8(values, ENCODING[arch])
        return words, att.fp8_table(ENCODING[arch])[words]

    q, values = stored(rng.normal(size=(len(lengths) * rows, heads, 576)), q_fp8)
    kv, cache = stored(rng.normal(size=(count, page, 1, 576)), kv_fp8)
    sums = np.concatenate
    return Step(q, kv, np.arange(len(lengths) + 1, dtype=np.int32) * rows,
                sums([[0], np.cumsum(pages)]).astype(np.int32), indices,
                np.array([(n - 1) % page + 1 for n in lengths], np.int32), values,
                cache.reshape(-1, 576), rows, page)


def requests(step: Step) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Rows, keys and values of each request."""
    for r in range(len(step.last)):
        keys = np.repeat(step.keys(r)[:, None, :], step.values.shape[1], 1)
        yield step.values[step.qo_indptr[r]:step.qo_indptr[r + 1]], keys, keys[..., :512]


def expected(step: Step) -> tuple[np.ndarray, np.ndarray]:
    outs, lses = zip(*(att.dense(*of, SCALE) for of in requests(step)), strict=True)
    return np.concatenate(outs), np.concatenate(lses)


def rounding_bound(step: Step, fp8: str | None) -> np.ndarray:
    return np.concatenate([att.rounding_bound(*of, SCALE, fp8) for of in requests(step)])


def decode_with_plan(step: Step, *, arch: str = "gfx942", cu: int = 8, heads: int | None = None,
                     want_lse: bool = False, dtypes: tuple[str, str] = ("bf16", "bf16"),
                     **changes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Plan, stage 1 and reduce; q has the kernel's heads: the model's, or some of them a row."""
    heads = heads or step.values.shape[1]
    row_heads = step.q.shape[1]
    batch = len(step.last)
    buffers = mla.allocate(mla.decode_sizes(batch, step.rows, heads, *dtypes, arch=arch,
                                            compute_units=cu))
    mla.plan_decode(step.qo_indptr, step.kv_indptr, step.last, heads, 1, True, buffers,
                    page_size=step.page, max_seqlen_qo=step.rows, uni_seqlen_qo=step.rows,
                    dtype_q=dtypes[0], dtype_kv=dtypes[1], arch=arch, compute_units=cu)
    buffers = buffers._replace(**changes)
    rows = step.q.shape[0]
    partial = buffers.reduce_partial_map.size * step.rows
    split = np.full((partial, 1, row_heads, 512), np.nan, np.float32)
    split_lse = np.full((partial, 1, row_heads, 1), np.nan, np.float32)
    out = np.full((rows, row_heads, 512), 0x7FA5, np.uint16)
    lse = np.full((rows, row_heads), np.nan, np.float32)
    one = np.ones(1, np.float32)
    kernels.decode_stage1(
        step.q, step.kv, step.qo_indptr, step.kv_indptr, step.indices, step.last, None,
        buffers.work_meta_data, buffers.work_indptr, buffers.work_info_set, step.rows, step.page,
        1, SCALE, split, split_lse, out, lse if want_lse else None, one, one, arch=arch)
    kernels.reduce(split, split_lse, buffers.reduce_indptr, buffers.reduce_final_map,
                   buffers.reduce_partial_map, out, lse, arch=arch)
    return att.from_bf16(out), lse


class Prefill(NamedTuple):
    """A prefill step with its plan and its outputs, which hold poison."""

    arguments: tuple[Any, ...]  # of kernels.prefill up to is_causal
    buffers: Any
    outputs: tuple[np.ndarray, np.ndarray, np.ndarray]  # split_data, split_lse, output

    def merge(self) -> np.ndarray:
        """Reduces the pieces; the output."""
        b, (split, split_lse, out) = self.buffers, self.outputs
        kernels.reduce(split, split_lse, b.reduce_indptr, b.reduce_final_map,
                       b.reduce_partial_map, out, arch="gfx950")
        return att.from_bf16(out)


def make_prefill(lengths: list[int], heads: int, cu: int = 8) -> Prefill:
    rng = np.random.default_rng(5)
    rows = sum(lengths)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    q, k, v = (att.to_fp8(rng.normal(size=(rows, heads, d)), "e4m3fn") for d in (192, 192, 128))
    buffers = mla.allocate(mla.prefill_sizes(len(lengths), heads, max(lengths), compute_units=cu))
    mla.plan_prefill(indptr, indptr, np.array(lengths, np.int32), 1, heads, buffers,
                     kvlen_granularity=128, block_size=1, compute_units=cu)
    partial = buffers.reduce_partial_map.size * 256
    outputs = (mla.poisoned((partial, heads, 128), np.float32),
               mla.poisoned((partial, heads), np.float32),
               mla.poisoned((rows, heads, 128), np.uint16))
    return Prefill((q, k, v, indptr, indptr, np.arange(rows, dtype=np.int32), buffers.work_indptr,
                    buffers.work_info_set, SCALE, True), buffers, outputs)


def expected_prefill(step: Prefill, v_scale: float = 1) -> np.ndarray:
    q, k, v, indptr = step.arguments[:4]
    table = att.fp8_table("e4m3fn")
    return np.concatenate([
        att.dense(table[q[a:b]], table[k[a:b]], table[v[a:b]] * v_scale, SCALE)[0]
        for a, b in zip(indptr[:-1], indptr[1:], strict=True)])
