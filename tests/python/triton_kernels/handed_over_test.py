"""The check "coherence": what one program hands to another by an atomic, rightly and wrongly."""

from __future__ import annotations

import pathlib

import mla_testbed.triton
import pytest
import torch
import triton
import triton.language as tl
from mla_testbed.triton import KernelFault


@triton.jit
def hand_over(data, flag, out, TELL: tl.constexpr, LEARN: tl.constexpr, TOGETHER: tl.constexpr,
              BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        tl.store(data + i, i * 3)
        if TOGETHER:
            tl.debug_barrier()
        tl.atomic_xchg(flag, 1, sem=TELL)
    else:
        while tl.atomic_add(flag, 0, sem=LEARN) == 0:
            pass
        tl.store(out + i, tl.load(data + i) + 1)


@triton.jit
def last_adds_up(parts, values, count, out, PARTS: tl.constexpr, BLOCK: tl.constexpr,
                 SEM: tl.constexpr):
    p, i = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(parts + p * BLOCK + i, tl.load(values + p * BLOCK + i) * 2)
    tl.debug_barrier()
    if tl.atomic_add(count, 1, sem=SEM) == PARTS - 1:
        total = tl.zeros((BLOCK,), tl.float32)
        for k in range(PARTS):
            total += tl.load(parts + k * BLOCK + i)
        tl.store(out + i, total)


@triton.jit
def locked_sums(lock, sums, values, BLOCK: tl.constexpr, TAKE: tl.constexpr, GIVE: tl.constexpr):
    i = tl.arange(0, BLOCK)
    mine = tl.load(values + tl.program_id(0) * BLOCK + i)
    while tl.atomic_cas(lock, 0, 1, sem=TAKE) == 1:
        pass
    tl.store(sums + i, tl.load(sums + i) + mine)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0, sem=GIVE)


@pytest.fixture(autouse=True)
def checked():
    with mla_testbed.triton.options(checks="coherence,waits", instruction_limit=10**6):
        yield


def _handed_over(tell, learn, together=True):
    data, flag = torch.zeros(1024, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    out = torch.zeros_like(data)
    hand_over[(2,)](data, flag, out, TELL=tell, LEARN=learn, TOGETHER=together, BLOCK=1024)
    assert torch.equal(out, torch.arange(1024, dtype=torch.int32) * 3 + 1)


def _added_up(sem):
    values = torch.randn(7, 512)
    parts, out = torch.zeros(7, 512), torch.zeros(512)
    last_adds_up[(7,)](parts, values, torch.zeros(1, dtype=torch.int32), out, PARTS=7, BLOCK=512,
                       SEM=sem)
    assert torch.allclose(out, 2 * values.sum(0), atol=1e-4)


def _locked(take, give):
    values, sums = torch.randn(6, 256), torch.zeros(256)
    locked_sums[(6,)](torch.zeros(1, dtype=torch.int32), sums, values, BLOCK=256, TAKE=take,
                      GIVE=give)
    assert torch.allclose(sums, values.sum(0), atol=1e-5)


@pytest.mark.parametrize(("tell", "learn"), [("release", "acquire"), ("acq_rel", "acq_rel")])
def test_releases_and_acquires_have_no_finding(arch, tell, learn):
    _handed_over(tell, learn)
    _handed_over(tell, learn, together=False)  # Triton has the waves meet before an atomic
    _locked(learn, tell)
    _added_up("acq_rel")


def test_a_flag_without_a_release_is_found_at_the_load(arch):
    with pytest.raises(KernelFault, match="was not written back from its L2 cache") as caught:
        _handed_over("relaxed", "acquire")
    fault = caught.value
    assert fault.problem == "missing-release"
    assert fault.tensor == "data"
    assert fault.program_id == (1, 0, 0)
    lines = pathlib.Path(__file__).read_text().splitlines()
    assert lines[fault.line - 1].strip() == "tl.store(out + i, tl.load(data + i) + 1)"
    told = next(n for n, text in enumerate(lines, 1) if "tl.atomic_xchg(flag" in text)
    assert f"handed_over_test.py:{told})" in str(fault)


def test_a_flag_without_an_acquire_is_found_at_the_load(arch):
    with pytest.raises(KernelFault, match="may still have its line") as caught:
        _handed_over("release", "relaxed")
    assert caught.value.problem == "missing-acquire"
    assert caught.value.program_id == (1, 0, 0)


@pytest.mark.parametrize(("sem", "problem"), [
    ("relaxed", "missing-release"), ("acquire", "missing-release"), ("release", "missing-acquire")])
def test_parts_that_the_last_program_adds_up_need_both(arch, sem, problem):
    with pytest.raises(KernelFault) as caught:
        _added_up(sem)
    assert caught.value.problem == problem


def test_a_relaxed_lock_is_found(arch):
    with pytest.raises(KernelFault) as caught:
        _locked("relaxed", "release")
    assert caught.value.problem == "missing-acquire"
    with pytest.raises(KernelFault) as caught:
        _locked("acquire", "relaxed")
    assert caught.value.problem == "missing-release"
