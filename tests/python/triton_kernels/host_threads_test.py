"""What a launch does and says, with one thread of the host and with several."""

from __future__ import annotations

import mla_testbed.triton
import pytest
import torch
import triton
import triton.language as tl
from mla_testbed.triton import KernelFault


@triton.jit
def product(a, b, c, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, SIZE, BLOCK):
        at = k + tl.arange(0, BLOCK)
        acc = tl.dot(tl.load(a + i[:, None] * SIZE + at[None, :]),
                     tl.load(b + at[:, None] * SIZE + j[None, :]), acc)
    tl.store(c + i[:, None] * SIZE + j[None, :], acc)


@triton.jit
def normalised(x, y, n, COLUMNS: tl.constexpr):
    i = tl.arange(0, COLUMNS)
    row = tl.load(x + tl.program_id(0) * n + i, mask=i < n, other=0.0)
    centred = tl.where(i < n, row - tl.sum(row, 0) / n, 0.0)
    tl.store(y + tl.program_id(0) * n + i, centred / tl.sqrt(tl.sum(centred * centred, 0) / n),
             mask=i < n)


@triton.jit
def stray(x, y, wild, BLOCK: tl.constexpr):
    """Programs 6, 13 and 20 read far outside, and the earlier ones work longer."""
    p, i = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + i)
    for _ in range(tl.where(p < 8, 20000, 1)):
        value = value * 0.5 + 1
    at = tl.where(p % 7 == 6, wild, 0)
    tl.store(y + p * BLOCK + i, value + tl.load(x + at + i))


def _launched(threads, checks, launch, out):
    out.fill_(7)
    with mla_testbed.triton.options(threads=threads, checks=checks):
        launch()
    report = mla_testbed.triton.last_report()
    return out.clone(), [event.line_text for event in report.events], report.statistics


@pytest.mark.parametrize("checks", ["", "all"])
def test_results_and_counts_are_the_same_with_any_number_of_threads(arch, checks):
    a, b, c = torch.randn(128, 128).half(), torch.randn(128, 128).half(), torch.empty(128, 128)
    x, y = torch.randn(60, 200), torch.empty(60, 200)
    for launch, out in ((lambda: product[(4, 4)](a, b, c, SIZE=128, BLOCK=32), c),
                        (lambda: normalised[(60,)](x, y, 200, COLUMNS=256), y)):
        first, lines, counts = _launched(1, checks, launch, out)
        assert lines == []
        for threads in (2, 3, 8):
            again, lines, counted = _launched(threads, checks, launch, out)
            assert torch.equal(first.view(torch.int32), again.view(torch.int32))
            assert lines == []
            assert counted == counts


@pytest.mark.parametrize("threads", [1, 3, 8])
def test_a_fault_is_that_of_the_first_program_that_has_one(arch, threads):
    x, y = torch.zeros(64), torch.zeros(21 * 64)
    for _ in range(5):
        with mla_testbed.triton.options(threads=threads), pytest.raises(KernelFault) as caught:
            stray[(21,)](x, y, 1 << 28, BLOCK=64, num_warps=1)
        assert caught.value.problem == "out-of-bounds"
        assert caught.value.program_id == (6, 0, 0)
        assert (y[:6 * 64] != 0).all()
