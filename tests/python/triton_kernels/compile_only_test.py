"""Compiling without a launch: what a kernel needs, and whether a workgroup has it."""

from __future__ import annotations

import mla_testbed
import mla_testbed.triton
import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, out, factor, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)


@triton.jit
def product(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + i[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + j[None, :])
    tl.store(c + i[:, None] * N + j[None, :], tl.dot(x, y))


def test_an_elementwise_kernel_needs_registers_and_no_lds(arch):
    compiled = mla_testbed.triton.compile_only(
        scale, torch.float32, torch.float32, 2.0, 1000, BLOCK=256, num_warps=2, arch=arch)
    assert (compiled.name, compiled.arch, compiled.threads) == ("scale", arch, 128)
    assert compiled.lds_size == 0
    assert compiled.fits
    assert 0 < compiled.vgprs < 64
    assert compiled.sgprs > 0
    assert (compiled.spilled_vgprs, compiled.spilled_sgprs, compiled.scratch_size) == (0, 0, 0)
    assert "amdgcn" in compiled.asm
    assert str(compiled).startswith(f"scale for {arch}: 128 threads, 0 of ")


def test_too_much_lds_for_gfx942_is_said_without_a_launch():
    sizes = {}
    for arch in ("gfx942", "gfx950"):
        compiled = mla_testbed.triton.compile_only(
            product, torch.float16, torch.float16, torch.float32, M=128, N=128, K=512,
            num_warps=8, arch=arch)
        sizes[arch] = (compiled.lds_limit, compiled.fits, compiled.lds_size)
    assert sizes["gfx942"][0] == 65536
    assert sizes["gfx950"][0] == 163840
    assert not sizes["gfx942"][1]
    assert sizes["gfx942"][2] > 65536
    with mla_testbed.triton.emulated("gfx942"), pytest.raises(triton.runtime.OutOfResources):
        x = torch.zeros(128 * 512)
        product[(1,)](x.half(), x.half(), x, M=128, N=128, K=512, num_warps=8)


def test_registers_that_do_not_suffice_are_counted_as_spills(arch):
    arguments = (torch.float32, torch.float32, torch.float32)
    sizes = {"M": 128, "N": 128, "K": 32, "num_warps": 1, "arch": arch}
    enough = mla_testbed.triton.compile_only(product, *arguments, **sizes)
    assert enough.spilled_vgprs == 0
    few = mla_testbed.triton.compile_only(product, *arguments, **sizes, waves_per_eu=4)
    assert few.vgprs <= 128 < enough.vgprs
    assert few.spilled_vgprs > 0
    assert few.scratch_size > 0


def test_what_is_no_kernel_is_refused():
    with pytest.raises(mla_testbed.UsageError, match="expected a function under @triton.jit"):
        mla_testbed.triton.compile_only(len)


def test_an_unknown_architecture_is_refused():
    with pytest.raises(mla_testbed.UsageError, match="arch is 'gfx90a'; expected gfx942 or gfx950"):
        mla_testbed.triton.compile_only(scale, arch="gfx90a")
