"""Prefill steps over a source tree of AITER: its planner, code object and reduce are judged, and a
change of them is seen.

Needs AITER_SRC, a source tree; its modules are compiled once, those of a changed tree each time.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import golden
import numpy as np
import pytest
from planning_test import PREFILL

TREE = pathlib.Path(os.environ.get("AITER_SRC", ""))
pytestmark = pytest.mark.skipif(not (TREE / "csrc").is_dir(),
                                reason="AITER_SRC names no source tree of AITER")
PLANNER = "csrc/kernels/mla/metadata/v1_2_host.cuh"
# Cut between slots: two tiles of the first request, and one that a work writes whole.
CASE = "mla1:1q300s300_1q40s40;heads=16;cu=64;arch=gfx950;dtype=bf16/fp8;kind=prefill"
# Context chunk by chunk, without the mask.
CHUNKS = ("mla1:1q40s100_1q20s70;heads=16;cu=32;block=16;arch=gfx950;dtype=bf16/fp8;kind=prefill;"
          "planner=v12;workspace=64")


def replay(tree: pathlib.Path, case: str, properties: str, arch: str = "gfx950") -> tuple[int, str]:
    """Exit code and what was printed."""
    done = subprocess.run(
        [os.environ["MLA_TESTBED_COMMAND"], "replay", case, "--backend", "aiter", "--device",
         f"emulated:{arch}", "--aiter", str(tree), "--property", properties],
        capture_output=True, text=True, check=False,
        env={**os.environ, "MLA_TESTBED_PYTHON": sys.executable})
    return done.returncode, done.stdout + done.stderr


def changed(folder: pathlib.Path, file: str, change: Callable[[str], str]) -> pathlib.Path:
    """A copy of the tree in which one file is another."""
    for name in ("aiter", "csrc"):
        shutil.copytree(TREE / name, folder / name, symlinks=True,
                        ignore=shutil.ignore_patterns("__pycache__", "build"))
    for path in TREE.iterdir():
        if not (folder / path.name).exists() and path.name != ".git":
            (folder / path.name).symlink_to(path)
    text = (TREE / file).read_text(encoding="utf-8")
    edited = change(text)
    assert edited != text
    (folder / file).write_text(edited, encoding="utf-8")
    return folder


def test_a_prefill_step_and_its_context_chunks_hold_over_the_trees_own_kernels() -> None:
    code, said = replay(TREE, CASE, "P05,P14,P24,P22,P23,P28")
    assert code == 0, said
    assert re.search(r"^launched: aiter on emulated:gfx950: prefill \d+ \(aiter::mla_pfl\S+ \d+, "
                     r"kn_mla_reduce_v1 \d+\)$", said, re.MULTILINE)
    code, said = replay(TREE, CHUNKS, "P05,P24,P25")
    assert code == 0, said
    assert "causal0" in said
    assert "causal1" in said


def test_on_gfx942_there_is_no_such_step_and_a_path_without_a_plan_is_refused() -> None:
    code, said = replay(TREE, CASE.replace("gfx950", "gfx942"), "P05", arch="gfx942")
    assert code == 10
    assert "backend aiter on emulated:gfx942 has no prefill step" in said
    code, said = replay(TREE, CASE.replace("bf16/fp8", "bf16/bf16"), "P05")
    assert code == 10
    assert "refused: the backend has no flash attention, only works of a plan: the cache is bf16" \
        in said


def test_another_partial_row_in_the_trees_planner_is_seen(tmp_path: pathlib.Path) -> None:
    tree = changed(tmp_path, PLANNER,
                   lambda text: text.replace("partial_tile_idx++", "partial_tile_idx", 1))
    code, said = replay(tree, CASE, "P05")
    assert code == 1
    assert "P05 plan_coverage: fail" in said
    assert "the plan of the new tokens: " in said


def test_a_planner_that_does_not_compile_fails_with_the_compilers_error(
        tmp_path: pathlib.Path) -> None:
    tree = changed(tmp_path, PLANNER, lambda text: text + "\n#error planted\n")
    code, said = replay(tree, CASE, "P05")
    assert code == 1
    assert "error: planted" in said


def test_another_scale_in_the_trees_python_is_seen(tmp_path: pathlib.Path) -> None:
    def halved(text: str) -> str:
        head, found, rest = text.partition("def mla_prefill_ps_fwd(")
        return head + found + rest.replace("    tile_q = ", "    softmax_scale /= 2\n    tile_q = ",
                                           1)

    code, said = replay(changed(tmp_path, "aiter/mla.py", halved), CASE, "P05")
    assert code == 1
    assert "P05 plan_coverage: fail" in said


def test_a_tree_without_the_planner_refuses_the_step_by_its_name(tmp_path: pathlib.Path) -> None:
    tree = changed(tmp_path, "aiter/ops/attention.py",
                   lambda text: text.replace("get_ps_metadata_v1", "get_other_metadata_v1"))
    code, said = replay(tree, CASE, "P05")
    assert code == 10
    assert "refused: AITER: this AITER has no 'get_ps_metadata_v1' in aiter.ops.attention: it " \
        "plans no prefill step" in said


@pytest.fixture(scope="module")
def asked():  # noqa: ANN201 needs torch
    """The process of the tree."""
    pytest.importorskip("torch", reason="AITER's Python needs torch, which is not installed")
    from tree_client import Tree  # noqa: PLC0415 needs torch

    with Tree(TREE, "gfx950", dict(os.environ)) as opened:
        yield opened


def test_the_trees_answers_are_the_golden_sizes_and_plans(asked: Any) -> None:
    from mla_testbed.aiter.tree.lists import LISTS, USUAL_RUN  # noqa: PLC0415 needs torch
    from mla_testbed.aiter.tree.wire import Message  # noqa: PLC0415

    seen = 0
    for case in PREFILL:
        if case["block_size"] == 16 and case["is_causal"]:
            continue  # AITER-40
        seen += 1
        rows = np.diff(case["seqlens_qo_indptr"])
        sizes = asked.ask(Message({
            "call": "prefill_sizes", "compute_units": case["num_cu"], "batch": len(rows),
            "kv_heads": case["num_heads_k"], "max_qo_len": int(rows.max()),
            "qlen_granularity": case["qlen_granularity"]})).head["words"]
        words = [int(np.prod(case["buffer_sizes"][name])) for name in LISTS]
        assert sizes == [2, *words], case["name"]
        made = asked.ask(Message(
            {"call": "prefill_plan", "run": USUAL_RUN, "compute_units": case["num_cu"],
             "kv_heads": case["num_heads_k"], "qhead_granularity": case["qhead_granularity"],
             "qlen_granularity": case["qlen_granularity"],
             "kvlen_granularity": case["kvlen_granularity"], "block_size": case["block_size"],
             "causal": case["is_causal"], "words": words},
            {name: np.asarray(case[of], np.int32) for name, of in (
                ("qo_indptr", "seqlens_qo_indptr"), ("kv_indptr", "pages_kv_indptr"),
                ("context_lens", "context_lens"))}))
        for name in LISTS:
            values, _ = golden.expected(case, name, made.arrays[name].size)
            np.testing.assert_array_equal(made.arrays[name].reshape(-1), values,
                                          err_msg=f"{case['name']}: {name}")
    assert seen > 3
