"""AITER's own planner for DeepSeek-V4 (MlaVersion.V40): its plans are plans of the whole batch.

Needs AITER_SRC, a source tree; its module of the metadata is compiled once. The kernel that takes
these plans is HipKittens', whose headers are not part of AITER.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

TREE = pathlib.Path(os.environ.get("AITER_SRC", ""))
pytestmark = pytest.mark.skipif(not (TREE / "csrc").is_dir(),
                                reason="AITER_SRC names no source tree of AITER")

# As AITER's test_mla_v40_persistent.py calls it; its sizes are those of an fp8 decode.
SCRIPT = """
import json
import sys

import aiter
import torch
from aiter import dtypes

torch.set_default_device("cuda")
NAMES = ("work_indptr", "work_info_set", "reduce_indptr", "reduce_final_map",
         "reduce_partial_map")
V40 = sys.argv[1] == "V40"
made = []
for case in json.load(open(sys.argv[2])):
    keys, heads, rows = case["keys"], case["heads"], case["rows"]
    sizes = aiter.get_mla_metadata_info_v1(
        len(keys), rows, heads, dtypes.fp8, dtypes.fp8, is_sparse=False, fast_mode=True,
        num_kv_splits=32, intra_batch_mode=False)
    address, *lists = (torch.full(size if isinstance(size, tuple) else (size,),
                                  0 if type == torch.uint64 else -7, dtype=type)
                       for size, type in sizes)
    rope = dtypes.bf16 if V40 else dtypes.fp8
    aiter.get_mla_metadata_v1(
        torch.arange(len(keys) + 1, dtype=torch.int32) * rows,
        torch.tensor([0, *keys], dtype=torch.int32).cumsum(0).to(torch.int32),
        torch.ones(len(keys), dtype=torch.int32), heads, 1, False, address, lists[1], lists[0],
        *lists[2:], page_size=1, kv_granularity=16, max_seqlen_qo=rows, uni_seqlen_qo=rows,
        fast_mode=True, max_split_per_batch=case["splits"], intra_batch_mode=False,
        mla_version=aiter.MlaVersion.V40 if V40 else aiter.MlaVersion.V32,
        dtype_q_nope=dtypes.fp8, dtype_q_rope=rope, dtype_kv_nope=dtypes.fp8, dtype_kv_rope=rope)
    made.append({name: one.tolist() for name, one in zip(NAMES, lists)})
json.dump(made, open(sys.argv[3], "w"))
"""
UNITS = 256
CASES = [{"keys": keys, "heads": heads, "rows": rows, "splits": splits}
         for keys in ([64], [1200, 8192, 1, 300], [16 * n + n % 3 for n in range(1, 65)])
         for heads, rows in ((16, 4), (64, 1), (128, 1), (16, 8))
         for splits in (1, 32)]


def planned(folder: pathlib.Path, version: str, experimental: str) -> list[dict[str, Any]]:
    calls, answers, script = (folder / name for name in ("calls", "answers", "plan.py"))
    calls.write_text(json.dumps(CASES))
    script.write_text(SCRIPT)
    subprocess.run([sys.executable, "-m", "mla_testbed.python_command", "--arch", "gfx950",
                    "--aiter", str(TREE), "--modules", "own", str(script), version, str(calls),
                    str(answers)], check=True,
                   env={**os.environ, "AITER_ENABLE_EXPERIMENTAL": experimental})
    made: list[dict[str, Any]] = json.loads(answers.read_text())
    return made


def works_of(plan: dict[str, Any]) -> list[list[int]]:
    starts = plan["work_indptr"]
    assert starts[0] == 0
    assert all(a <= b for a, b in zip(starts, starts[1:], strict=False))
    works: list[list[int]] = plan["work_info_set"][:starts[-1]]
    return works


def assert_whole(case: dict[str, Any], plan: dict[str, Any]) -> None:
    """Each row of each request meets each of its keys in one work; pieces are merged once."""
    begin, covered, pieces = 0, 0, []
    for request, keys in enumerate(case["keys"]):
        mine = [w for w in works_of(plan) if w[0] == request]
        rows = (request * case["rows"], (request + 1) * case["rows"])
        tiles = sorted({(w[2], w[3]) for w in mine})
        assert [first for first, _ in tiles] == [rows[0], *(end for _, end in tiles[:-1])]
        assert tiles[-1][1] == rows[1]
        for tile in tiles:
            spans = sorted((w[4], w[5]) for w in mine if (w[2], w[3]) == tile)
            assert [first for first, _ in spans] == [begin, *(end for _, end in spans[:-1])], case
            assert spans[-1][1] == begin + keys, case
            assert all(first < end for first, end in spans)
            partial = [w[1] for w in mine if (w[2], w[3]) == tile]
            assert (partial == [-1]) == (len(spans) == 1)
            pieces += [p for p in partial if p != -1]
        begin += keys
        covered += len(mine)
    assert covered == len(works_of(plan))
    ends = plan["reduce_indptr"]
    assert sorted(plan["reduce_partial_map"][:max(ends)]) == sorted(pieces), case
    assert len(set(pieces)) == len(pieces)


@pytest.mark.parametrize("experimental", ["0", "1"])
def test_plans_of_v40_cover_each_key_once_with_two_slots_a_unit_only_where_asked_for(
        tmp_path, experimental):
    pytest.importorskip("torch", reason="AITER's Python needs torch, which is not installed")
    for case, plan in zip(CASES, planned(tmp_path, "V40", experimental), strict=True):
        assert_whole(case, plan)
        twice = experimental == "1" and case["heads"] * case["rows"] == 64
        assert len(plan["work_indptr"]) == 1 + UNITS * (2 if twice else 1), case
        used = sum(a != b for a, b in
                   zip(plan["work_indptr"], plan["work_indptr"][1:], strict=False))
        assert used <= UNITS or twice


def test_a_plan_of_v40_is_that_of_v32_under_the_same_variable(tmp_path):
    pytest.importorskip("torch", reason="AITER's Python needs torch, which is not installed")
    for experimental in ("0", "1"):
        v32, v40 = (planned(tmp_path, version, experimental) for version in ("V32", "V40"))
        assert v32 == v40
