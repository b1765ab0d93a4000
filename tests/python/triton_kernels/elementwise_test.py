"""Elementwise kernels: every element type, masks, strides, and the functions of tl.math."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton.jit
def transpose(x, out, rows, columns, stride_x, stride_out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = (i < rows)[:, None] & (j < columns)[None, :]
    tile = tl.load(x + i[:, None] * stride_x + j[None, :], mask=mask)
    tl.store(out + j[:, None] * stride_out + i[None, :], tl.trans(tile), mask=tl.trans(mask))


@triton.jit
def apply(x, out, n, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=1.0)
    if FUNCTION == "exp":
        r = tl.exp(v)
    elif FUNCTION == "exp2":
        r = tl.exp2(v)
    elif FUNCTION == "log":
        r = tl.log(v)
    elif FUNCTION == "sqrt":
        r = tl.sqrt(v)
    elif FUNCTION == "rsqrt":
        r = tl.rsqrt(v)
    elif FUNCTION == "sin":
        r = tl.sin(v)
    elif FUNCTION == "cos":
        r = tl.cos(v)
    elif FUNCTION == "erf":
        r = tl.erf(v)
    elif FUNCTION == "sigmoid":
        r = tl.sigmoid(v)
    elif FUNCTION == "tanh":
        r = libdevice.tanh(v)
    elif FUNCTION == "floor":
        r = tl.floor(v)
    else:
        r = 1.0 / v
    tl.store(out + at, r, mask=at < n)


ADDED = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32,
         torch.int16, torch.int8, torch.uint8]


@pytest.mark.parametrize("dtype", ADDED, ids=str)
def test_a_sum_has_the_bits_that_torch_gives_it(arch, dtype):
    n = 1000  # no multiple of the block
    x = (torch.randn(n) * 20).to(dtype)
    y = (torch.randn(n) * 20).to(dtype)
    out = torch.full((n + 24,), 7).to(dtype)
    add[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256)
    assert torch.equal(out[:n], x + y)
    assert torch.equal(out[n:], torch.full((24,), 7).to(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int8], ids=str)
def test_a_transposed_view_with_a_row_stride_is_copied_exactly(arch, dtype):
    storage = (torch.randn(70, 100) * 50).to(dtype)
    x = storage[3:53, 5:75]
    out = torch.zeros(70, 50, dtype=dtype)
    transpose[(2, 3)](x, out, 50, 70, x.stride(0), out.stride(0), BLOCK=32)
    assert torch.equal(out, x.t())


FUNCTIONS = {
    "exp": torch.exp, "exp2": torch.exp2, "log": torch.log, "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt, "sin": torch.sin, "cos": torch.cos, "erf": torch.erf,
    "sigmoid": torch.sigmoid, "tanh": torch.tanh, "floor": torch.floor,
    "reciprocal": torch.reciprocal,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_f32_is_within_4e_6_of_torch(arch, name):
    x = torch.rand(512) * 8 + 0.01
    out = torch.empty_like(x)
    apply[(2,)](x, out, 512, FUNCTION=name, BLOCK=256)
    expected = FUNCTIONS[name](x.double())
    assert torch.allclose(out.double(), expected, rtol=4e-6, atol=4e-6)
