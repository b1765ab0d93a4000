"""AITER's own planners, as a tree runs them: the golden plans, random batches beside the core's.

Needs AITER_SRC, a source tree; its modules of the metadata are compiled once.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
from typing import Any

import golden
import mla_testbed as mla
import numpy as np
import pytest
from planning_test import DECODE, PREFILL, buffers_of, plan, plan_prefill

TREE = pathlib.Path(os.environ.get("AITER_SRC", ""))
pytestmark = pytest.mark.skipif(not (TREE / "csrc").is_dir(),
                                reason="AITER_SRC names no source tree of AITER")
CHECKED = {"checks": "waits,lds,uninitialised,barriers", "schedule": "", "arrival": "",
           "matrix": ""}
PAST_A_LIST = re.compile(r"out-of-bounds: .* at \S*kn_get_mla_metadata_v1\S* `global_load_dword .*"
                         r": read of 4 bytes at offset \d+ of '")
WAITS = {**CHECKED, "checks": "waits,lds,barriers"}


@pytest.fixture(scope="module", params=["gfx942", "gfx950"])
def tree(request):
    """The architecture, and a tree that answers for it."""
    pytest.importorskip("torch", reason="AITER's Python needs torch, which is not installed")
    pytest.importorskip("triton", reason="AITER's Python needs Triton, which is not installed")
    from tree_client import Tree  # noqa: PLC0415 needs torch

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
                # Folded heads are requests of their own: past the end of kv_last_page_lens. Where
                # another list lies behind it, that one is named.
                assert PAST_A_LIST.match(str(e)), case
                assert case["page_size"] > 1
                assert case["num_heads_per_head_k"] > 16
                past_the_end += "last_page" in str(e)
            continue
        for name in golden.BUFFERS:
            np.testing.assert_array_equal(made[name].reshape(-1),
                                          getattr(buffers, name).reshape(-1), err_msg=str(case))
        same += 1
    assert same >= 300
    assert past_the_end > 0
    assert unwritten > 0


# Run by mla-testbed-python with AITER's own modules: the plans of the calls in a file, as lists.
PREFILL_SCRIPT = """
import json
import sys

import numpy as np
import torch
from aiter.ops.attention import get_ps_metadata_v1
from mla_testbed.aiter.tree.machine import POISON, on_device, set_compute_units

NAMES = ("work_indptr", "work_info_set", "reduce_indptr", "reduce_final_map",
         "reduce_partial_map")
plans = []
for case in json.load(open(sys.argv[1])):
    set_compute_units(case["num_cu"])
    lists = {name: torch.full(case["buffer_sizes"][name], POISON, dtype=torch.int32)
             for name in NAMES}
    get_ps_metadata_v1(
        *(torch.tensor(case[name], dtype=torch.int32) for name in (
            "seqlens_qo_indptr", "pages_kv_indptr", "context_lens")),
        case["gqa_ratio"], case["num_heads_k"], torch.zeros(2, dtype=torch.uint64),
        *lists.values(), case["qhead_granularity"], case["qlen_granularity"],
        case["kvlen_granularity"], case["block_size"], case["is_causal"])
    plans.append({name: made.flatten().tolist() for name, made in lists.items()})
json.dump(plans, open(sys.argv[2], "w"))
"""


def random_prefill(draw: np.random.Generator, n: int) -> dict[str, Any]:
    page, batch = (1, 16, 32)[int(draw.integers(3))], 1 + int(draw.integers((3, 20)[n % 2]))
    rows = draw.integers(1, (41, 2001)[int(draw.integers(2))], batch)
    keys = rows + draw.integers((1, 9000)[int(draw.integers(2))], size=batch)
    units, heads = int(draw.choice([4, 80, 256, 304])), int(draw.choice([1, 2, 8, 16, 128]))
    granularity = int(draw.choice([64, 256]))
    sizes = mla.prefill_sizes(batch, heads, int(rows.max()), granularity, compute_units=units)
    return {
        "name": f"random {n}", "num_cu": units, "seqlens_qo_indptr": [0, *np.cumsum(rows).tolist()],
        "pages_kv_indptr": [0, *np.cumsum(-(-keys // page)).tolist()],
        "context_lens": keys.tolist(), "gqa_ratio": 1, "num_heads_k": heads,
        "qhead_granularity": 1, "qlen_granularity": granularity, "kvlen_granularity": 128,
        "block_size": page, "is_causal": bool(draw.integers(4)), "buffer_sizes": {
            "work_indptr": [sizes[1]], "work_info_set": [sizes[2], 8],
            "reduce_indptr": [sizes[3]], "reduce_final_map": [sizes[4], 2],
            "reduce_partial_map": [sizes[5]]}}


def as_it_arrives(case: dict[str, Any]) -> dict[str, Any]:
    """AITER-40: trailing arguments that are Python's default stay away, and C++ has another one."""
    dropped = case["is_causal"] and case["block_size"] == 16
    return {**case, "block_size": 1} if dropped else case


def test_aiters_own_prefill_planner_and_the_core_plan_the_same_but_for_blocks_of_16(
        tmp_path: pathlib.Path) -> None:
    pytest.importorskip("torch", reason="AITER's Python needs torch, which is not installed")
    draw = np.random.default_rng(2)
    cases = [*PREFILL, *(random_prefill(draw, n) for n in range(600))]
    calls, answers, script = (tmp_path / name for name in ("calls", "answers", "plan.py"))
    calls.write_text(json.dumps(cases))
    script.write_text(PREFILL_SCRIPT)
    subprocess.run([sys.executable, "-m", "mla_testbed.python_command", "--arch", "gfx950",
                    "--aiter", str(TREE), "--modules", "own", str(script), str(calls),
                    str(answers)], check=True)
    for case, made in zip(cases, json.loads(answers.read_text()), strict=True):
        buffers = buffers_of(case)
        plan_prefill(as_it_arrives(case), buffers)
        for name in golden.BUFFERS:
            assert made[name] == getattr(buffers, name).flatten().tolist(), case["name"]


def test_aiters_own_dispatch_says_kernels_and_row_heads_of_a_planned_step(tree) -> None:
    arch, asked = tree
    units = {"gfx942": 304, "gfx950": 256}[arch]
    from mla_testbed.aiter.tree.wire import Message  # noqa: PLC0415 needs torch

    shape = {"call": "support", "compute_units": units, "requests": 2, "rows": 2, "heads": 16,
             "q_dtype": "fp8", "kv_dtype": "fp8", "causal": True, "lse": False, "planned": True}
    head = asked.ask(Message(shape)).head
    assert head["launched"] == ["aiter::mla_a8w8_qh16_qseqlen2_gqaratio16_ps", "kn_mla_reduce_v1"]
    assert head["row_heads"] == 16
    with pytest.raises(mla.MlaError, match="AssertionError"):
        asked.ask(Message({**shape, "heads": 17}))
