"""AITER's own planner, as a tree runs it: the golden plans, and random batches beside the core's.

Needs AITER_SRC, a source tree; its module of the metadata is compiled once.
"""

from __future__ import annotations

import os
import pathlib
from typing import Any

import golden
import mla_testbed as mla
import numpy as np
import pytest
from planning_test import DECODE, buffers_of, plan

TREE = pathlib.Path(os.environ.get("AITER_SRC", ""))
pytestmark = pytest.mark.skipif(not (TREE / "csrc").is_dir(),
                                reason="AITER_SRC names no source tree of AITER")
CHECKED = {"checks": "waits,lds,uninitialised,barriers", "schedule": "", "arrival": "",
           "matrix": ""}
WAITS = {**CHECKED, "checks": "waits,lds,barriers"}


@pytest.fixture(scope="module", params=["gfx942", "gfx950"])
def tree(request):
    """The architecture, and a tree that answers for it."""
    pytest.importorskip("torch", reason="AITER's Python needs torch, which is not installed")
    pytest.importorskip("triton", reason="AITER's Python needs Triton, which is not installed")
    from mla_testbed.aiter.tree.client import Tree  # noqa: PLC0415 needs torch

    with Tree(TREE, request.param, dict(os.environ)) as opened:
        yield request.param, opened


def words_of(case: dict[str, Any]) -> list[int]:
    return [int(np.prod(case["buffer_sizes"][name])) for name in (
        "work_indptr", "work_info_set", "reduce_indptr", "reduce_final_map",
        "reduce_partial_map")]


def test_aiters_own_planner_writes_every_golden_plan_and_no_check_complains(tree) -> None:
    arch, asked = tree
    cases = [case for case in DECODE if case["arch"] == arch]
    assert len(cases) >= 79
    for case in cases:
        made = asked.plan(case, words_of(case), CHECKED)
        for name in golden.BUFFERS:
            found = made[name].reshape(-1)
            values, written = golden.expected(case, name, found.size)
            np.testing.assert_array_equal(found, np.where(written, values, mla.POISON),
                                          err_msg=f"{case['name']}: {name}")


def random_case(draw: np.random.Generator, arch: str, n: int) -> dict[str, Any]:
    """A call of the planner, of shapes that engines have and some that they do not."""
    def one(*values: int) -> int:
        return int(draw.choice(values))

    batch, page = 1 + int(draw.integers(one(1, 4, 40, 300))), one(1, 1, 16, 64)
    rows, longest = one(1, 1, 2, 3, 4, 8), one(1, 70, 3000, 100000)
    ragged = rows > 1 and draw.integers(3) == 0
    lengths = draw.integers(1, rows + 1, batch) if ragged else np.full(batch, rows)
    keys = np.where(draw.integers(8, size=batch) == 0, draw.integers(3, size=batch),
                    draw.integers(1, longest + 1, batch))
    pages = -(-keys // page)
    mode, dtype = int(draw.integers(6)), ("bf16", "fp8")[int(draw.integers(2))]
    return {
        "name": f"random {n}", "arch": arch, "num_cu": one(8, 80, 256, 304),
        "seqlens_qo_indptr": [0, *np.cumsum(lengths).tolist()],
        "seqlens_kv_indptr": [0, *np.cumsum(pages).tolist()],
        "kv_last_page_lens": np.where(keys == 0, 0, keys - (pages - 1) * page).tolist(),
        "num_heads_per_head_k": one(8, 16, 16, 32, 48, 64, 128), "num_heads_k": 1,
        "is_causal": bool(draw.integers(4) != 0), "page_size": page,
        "kv_granularity": max(16 if page == 1 else 1, 16 // page),
        "max_seqlen_qo": int(lengths.max()), "uni_seqlen_qo": -1 if ragged else rows,
        "fast_mode": mode != 0, "topk": -1, "max_split_per_batch": one(-1, -1, 1, 3, 32),
        "intra_batch_mode": bool(mode == 0 and draw.integers(2) == 0),
        "is_cp_round_robin": bool(mode != 0 and draw.integers(8) == 0),
        "dtype_q": dtype, "dtype_kv": dtype}


def sized(case: dict[str, Any]) -> dict[str, Any] | None:
    """The same with the sizes of the core's query; None where the core refuses the call."""
    try:
        sizes = mla.decode_sizes(
            len(case["kv_last_page_lens"]), case["max_seqlen_qo"], case["num_heads_per_head_k"],
            case["dtype_q"], case["dtype_kv"], is_sparse=False, fast_mode=case["fast_mode"],
            num_kv_splits=32, intra_batch_mode=case["intra_batch_mode"],
            max_split_per_batch=case["max_split_per_batch"], arch=case["arch"],
            compute_units=case["num_cu"])
    except mla.MlaError:
        return None
    return {**case, "buffer_sizes": {
        "work_indptr": [sizes[1]], "work_info_set": [sizes[2], 8], "reduce_indptr": [sizes[3]],
        "reduce_final_map": [sizes[4], 2], "reduce_partial_map": [sizes[5]]}}


def test_aiters_own_planner_and_the_core_plan_the_same_but_for_two_defects(tree) -> None:
    arch, asked = tree
    draw = np.random.default_rng(1)
    same = past_the_end = unwritten = 0
    for n in range(600):
        case = sized(random_case(draw, arch, n))
        if case is None:
            continue
        buffers = buffers_of(case)
        try:
            plan(case, buffers)
        except mla.MlaError:  # refused, or it would write past a buffer
            continue
        try:
            # AITER's compiler flags let registers be added that a kernel then leaves alone.
            ragged = case["uni_seqlen_qo"] == -1
            made = asked.plan(case, words_of(case), CHECKED if ragged else WAITS)
        except mla.FaultError as e:
            if str(e).startswith("uninitialised-lds"):
                # The tiles of a ragged batch are counted before its lengths are in LDS (BUG-061).
                assert case["uni_seqlen_qo"] == -1
                assert case["max_seqlen_qo"] * case["num_heads_per_head_k"] > 64
                unwritten += 1
            else:
                # Folded heads are requests of their own: past the end of kv_last_page_lens.
                assert "last_page" in str(e), case
                assert case["page_size"] > 1
                assert case["num_heads_per_head_k"] > 16
                past_the_end += 1
            continue
        for name in golden.BUFFERS:
            np.testing.assert_array_equal(made[name].reshape(-1),
                                          getattr(buffers, name).reshape(-1), err_msg=str(case))
        same += 1
    assert same >= 300
    assert past_the_end > 0
    assert unwritten > 0
