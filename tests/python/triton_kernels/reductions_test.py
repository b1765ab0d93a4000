"""Softmax, norms, reductions over both axes, arg reductions, scans, sorts, histograms."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + at, mask=at < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * stride + at, e / tl.sum(e, axis=0), mask=at < n)


@triton.jit
def layer_norm(x, weight, bias, out, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < n
    v = tl.load(x + row * stride + at, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(v, axis=0) / n
    centred = tl.where(mask, v - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / n + eps)
    y = centred * scale * tl.load(weight + at, mask=mask) + tl.load(bias + at, mask=mask)
    tl.store(out + row * stride + at, y, mask=mask)


@triton.jit
def reduce(x, out, KIND: tl.constexpr, AXIS: tl.constexpr, ROWS: tl.constexpr,
           COLUMNS: tl.constexpr):
    i = tl.arange(0, ROWS)[:, None]
    j = tl.arange(0, COLUMNS)[None, :]
    v = tl.load(x + i * COLUMNS + j)
    if KIND == "sum":
        r = tl.sum(v, axis=AXIS)
    elif KIND == "max":
        r = tl.max(v, axis=AXIS)
    elif KIND == "min":
        r = tl.min(v, axis=AXIS)
    elif KIND == "argmax":
        r = tl.argmax(v, axis=AXIS)
    else:
        r = tl.xor_sum(v, axis=AXIS)
    tl.store(out + tl.arange(0, ROWS if AXIS == 1 else COLUMNS), r)


@triton.jit
def first_larger(a, b):
    return tl.where(a > b, a, b)


@triton.jit
def scan(x, out, KIND: tl.constexpr, REVERSE: tl.constexpr, ROWS: tl.constexpr,
         COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    v = tl.load(x + at)
    if KIND == "sum":
        r = tl.cumsum(v, axis=1, reverse=REVERSE)
    elif KIND == "product":
        r = tl.cumprod(v, axis=1, reverse=REVERSE)
    else:
        r = tl.associative_scan(v, 1, first_larger, reverse=REVERSE)
    tl.store(out + at, r)


@triton.jit
def sort(x, out, BLOCK: tl.constexpr, DESCENDING: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.sort(tl.load(x + at), descending=DESCENDING))


@triton.jit
def histogram(x, out, BLOCK: tl.constexpr, BINS: tl.constexpr):
    tl.store(out + tl.arange(0, BINS), tl.histogram(tl.load(x + tl.arange(0, BLOCK)), BINS))


@pytest.mark.parametrize("n", [1, 37, 1000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_softmax_is_that_of_torch(arch, dtype, n):
    x = (torch.randn(5, 1024) * 4).to(dtype)
    out = torch.zeros_like(x)
    softmax[(5,)](x, out, x.stride(0), n, BLOCK=1024)
    expected = torch.softmax(x[:, :n].double(), dim=1)
    tolerance = 1e-6 if dtype is torch.float32 else 4e-3
    assert torch.allclose(out[:, :n].double(), expected, rtol=tolerance, atol=1e-7)
    assert not out[:, n:].any()


def test_layer_norm_is_that_of_torch(arch):
    x, weight, bias = torch.randn(4, 700), torch.randn(700), torch.randn(700)
    out = torch.empty_like(x)
    layer_norm[(4,)](x, weight, bias, out, 700, 700, 1e-5, BLOCK=1024, num_warps=8)
    expected = torch.nn.functional.layer_norm(x.double(), (700,), weight.double(), bias.double())
    assert torch.allclose(out.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("axis", "shape"), [(0, (64, 32)), (1, (8, 256))], ids=str)
@pytest.mark.parametrize("kind", ["sum", "max", "min", "argmax", "xor"])
def test_a_reduction_of_integers_is_exact(arch, kind, axis, shape):
    x = torch.randint(-1000, 1000, shape, dtype=torch.int32)
    out = torch.empty(shape[1 - axis], dtype=torch.int32)
    reduce[(1,)](x, out, KIND=kind, AXIS=axis, ROWS=shape[0], COLUMNS=shape[1])
    if kind == "xor":
        expected = torch.zeros(shape[1 - axis], dtype=torch.int32)
        for part in x.unbind(axis):
            expected ^= part
    else:
        functions = {"sum": torch.sum, "max": torch.amax, "min": torch.amin,
                     "argmax": torch.argmax}
        expected = functions[kind](x, dim=axis).to(torch.int32)
    assert torch.equal(out, expected)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", ["sum", "product", "max"])
def test_a_scan_of_integers_is_exact(arch, kind, reverse):
    x = torch.randint(-3, 4, (4, 128), dtype=torch.int32)
    out = torch.empty_like(x)
    scan[(1,)](x, out, KIND=kind, REVERSE=reverse, ROWS=4, COLUMNS=128)
    functions = {"sum": lambda v: torch.cumsum(v, 1), "product": lambda v: torch.cumprod(v, 1),
                 "max": lambda v: torch.cummax(v, 1).values}
    source = x.flip(1) if reverse else x
    expected = functions[kind](source).to(torch.int32)
    assert torch.equal(out, expected.flip(1) if reverse else expected)


@pytest.mark.parametrize("descending", [False, True])
def test_a_sorted_row_is_that_of_torch(arch, descending):
    x = torch.randn(64)
    out = torch.empty_like(x)
    sort[(1,)](x, out, BLOCK=64, DESCENDING=descending)
    assert torch.equal(out, torch.sort(x, descending=descending).values)


def test_a_histogram_counts_every_value(arch):
    x = torch.randint(0, 16, (512,), dtype=torch.int32)
    out = torch.empty(16, dtype=torch.int32)
    histogram[(1,)](x, out, BLOCK=512, BINS=16)
    assert torch.equal(out, torch.bincount(x, minlength=16).to(torch.int32))
