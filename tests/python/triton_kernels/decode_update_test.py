"""AITER's decode_update_mla_metadata_v1, as it is: which plans survive its update (AITER-32).

A plan is made, AITER's wrapper and Triton kernel move it to the next steps of one row, and `check`
judges it against the lists of each. The expected table is the one of docs/findings/aiter.md.
"""

from __future__ import annotations

import pathlib
import re
import types
from typing import NamedTuple

import foreign
import mla_testbed
import mla_testbed.triton
import numpy as np
import pytest
import torch
from mla_testbed.bundle import Bundle
from mla_testbed.triton import KernelFault

ROOT = pathlib.Path(__file__).resolve().parents[3]
DTYPES = {"bf16": torch.bfloat16, "fp8": torch.float8_e4m3fn}
HEADS, ROWS = range(16, 129, 16), range(1, 9)
STEPS = 2  # updates, as ATOM makes them for three draft tokens
RIGHT, BROKEN, NO_KERNEL = "+", "x", "-"
WIDTHS = {"work_info": 8, "reduce_final_map": 2}


class Batch(NamedTuple):
    """Keys of each request, and how many of its rows are rejected, if it has so many."""

    keys: tuple[int, ...]
    rejected: tuple[int, ...]


#: 16 compute units cut the first two into pieces, and leave most of the last one whole.
BATCHES = (Batch((2000, 1301, 700), (0, 0, 0)), Batch((2000, 1301, 700), (3, 1, 9)),
           Batch((90, 33, 64, 20), (9, 0, 9, 1)))


class Shape(NamedTuple):
    """What the planner is told of a step."""

    arch: str
    dtype: str
    heads: int
    rows: int


@pytest.fixture
def update(arch, tmp_path):
    """AITER's wrapper, in a process whose GPU is `arch`."""
    names = ["decode_update_mla_metadata_v1", "decode_update_mla_metadata_v1_kernel"]
    given = {"dtypes": types.SimpleNamespace(**DTYPES), "get_gfx": lambda: arch}
    module = foreign.kernels("AITER_SRC", "aiter/ops/attention.py", names, tmp_path, given)
    return module.decode_update_mla_metadata_v1


def planned(shape: Shape, keys: tuple[int, ...]) -> Bundle:
    """The plan of equal rows, with the arguments that ATOM passes."""
    dtype_q, dtype_kv = shape.dtype.split("/")
    return mla_testbed.plan({
        "seqlens_qo_indptr": np.arange(len(keys) + 1) * shape.rows,
        "seqlens_kv_indptr": np.cumsum([0, *keys]), "num_heads_per_head_k": shape.heads,
        "max_seqlen_qo": shape.rows, "uni_seqlen_qo": shape.rows, "max_split_per_batch": 16,
        "dtype_q": dtype_q, "dtype_kv": dtype_kv, "arch": shape.arch, "num_cu": 16}, as_aiter=True)


class Step:
    """A batch whose plan is updated in place, step after step."""

    def __init__(self, shape: Shape, batch: Batch) -> None:
        self.shape, self.made = shape, planned(shape, batch.keys)
        self.keys = np.array(batch.keys)
        self.rejected = np.minimum(batch.rejected, shape.rows - 1)
        self.plan = {name: torch.from_numpy(array.copy()).reshape(-1, WIDTHS.get(name, 1))
                     for name, array in self.made.arrays.items()}
        for name in ("work_indptr", "reduce_indptr", "reduce_partial_map"):
            self.plan[name] = self.plan[name].reshape(-1)

    def next_lists(self) -> None:
        """Rejected rows are taken back, once, and each request has one more key and one row."""
        self.keys = self.keys - self.rejected + 1
        ones = [1] * len(self.keys)
        self.plan["seqlens_qo_indptr"] = torch.tensor([0, *np.cumsum(ones)], dtype=torch.int32)
        self.plan["seqlens_kv_indptr"] = torch.tensor([0, *np.cumsum(self.keys)],
                                                      dtype=torch.int32)
        self.plan["kv_last_page_lens"] = torch.tensor(ones, dtype=torch.int32)

    def updated(self, update) -> None:
        """As ATOM calls it: with the rows of the plan, and the rejected rows the first time."""
        plan = self.plan
        dtype_q, dtype_kv = (DTYPES[name] for name in self.shape.dtype.split("/"))
        rejected = torch.from_numpy(self.rejected.astype(np.int32)) if self.rejected.any() else None
        update(plan["seqlens_qo_indptr"], plan["seqlens_kv_indptr"], plan["kv_last_page_lens"],
               self.shape.heads, 1, True, torch.zeros(2, dtype=torch.int64), plan["work_info"],
               plan["work_indptr"], plan["reduce_indptr"], plan["reduce_final_map"],
               plan["reduce_partial_map"], page_size=1, kv_granularity=16,
               max_seqlen_qo=self.shape.rows, dtype_q=dtype_q, dtype_kv=dtype_kv,
               num_reject_tokens=rejected)
        self.rejected = self.rejected * 0

    def answer(self) -> mla_testbed.Answer:
        """Of `check`, for a launch of one row."""
        arrays = {name: tensor.numpy().reshape(-1).copy() for name, tensor in self.plan.items()}
        return mla_testbed.check(Bundle(
            {**self.made.scalars, "max_seqlen_qo": 1, "uni_seqlen_qo": 1}, arrays))


def what_becomes(update, shape: Shape, batch: Batch) -> str:
    """RIGHT after each update, BROKEN after one, or NO_KERNEL: the plan itself has none."""
    step = Step(shape, batch)
    first = mla_testbed.check(step.made)
    if not first.valid:
        assert {violation.rule for violation in first.violations} == {"kernel"}, str(first)
        return NO_KERNEL
    for _ in range(STEPS):
        step.next_lists()
        try:
            step.updated(update)
        except KernelFault:  # a list was read past its end
            return BROKEN
        if not step.answer().valid:
            return BROKEN
    return RIGHT


def table(arch: str, dtype: str) -> dict[int, str]:
    """By heads, a character for each number of rows, as docs/findings/aiter.md has it."""
    section = (ROOT / "docs/findings/aiter.md").read_text().split('<a id="aiter-32"></a>')[1]
    section = section.split("\n<a id=")[0].split("\n**BUG-")[0]
    rows = re.findall(rf"^\| {arch} {dtype} \| ([0-9, ]+) \| `(\S+)` \|$", section, re.MULTILINE)
    return {int(heads): marks for several, marks in rows for heads in several.split(",")}


@pytest.mark.parametrize("dtype", ["bf16/bf16", "fp8/fp8", "bf16/fp8"])
def test_the_plans_that_survive_the_update_of_aiter_are_those_of_the_table(arch, update, dtype):
    found = {}
    for heads in HEADS:
        verdicts = [{what_becomes(update, Shape(arch, dtype, heads, rows), batch)
                     for batch in BATCHES} for rows in ROWS]
        assert all(len(verdict) == 1 for verdict in verdicts), (heads, verdicts)
        found[heads] = "".join(mark for verdict in verdicts for mark in verdict)
    assert found == table(arch, dtype)


@pytest.mark.parametrize(("shape", "rule", "sentence"), [
    (Shape("gfx950", "fp8/fp8", 64, 1), "work_record",
     "[request 1, rows 1..2, pages 699..1003]: its request owns pages 2001..3303"),
    (Shape("gfx950", "fp8/fp8", 128, 4), "work_record",
     "[request 0, rows 1..2, pages 0..144]: its request owns rows 0..1"),
    (Shape("gfx942", "fp8/fp8", 64, 4), "work_record",
     "[request 1, rows 1..2, pages 0..144]: its request owns pages 2001..3303"),
])
def test_a_plan_that_the_update_breaks_has_works_of_other_pages_or_rows(
        arch, update, shape, rule, sentence):
    if arch != shape.arch:
        pytest.skip(f"a shape of {shape.arch}")
    step = Step(shape, BATCHES[0])
    step.next_lists()
    step.updated(update)
    said = [violation.what for violation in step.answer().violations if violation.rule == rule]
    assert any(sentence in what for what in said), said[:5]


def test_a_plan_that_nobody_updates_is_not_valid_for_the_next_step(arch):
    step = Step(Shape(arch, "fp8/fp8", 16, 4), BATCHES[1])
    assert mla_testbed.check(step.made).valid
    step.next_lists()
    assert not step.answer().valid
