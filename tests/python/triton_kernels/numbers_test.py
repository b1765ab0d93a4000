"""Conversions between element types, rounding included."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def convert(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n).to(out.dtype.element_ty), mask=at < n)


@triton.jit
def fused(x, y, z, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.fma(tl.load(x + at), tl.load(y + at), tl.load(z + at)))


@triton.jit
def high_product(x, y, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.umulhi(tl.load(x + at), tl.load(y + at)))


def _converted(x, to):
    out = torch.zeros(x.shape[0], dtype=to)
    convert[(triton.cdiv(x.shape[0], 256),)](x, out, x.shape[0], BLOCK=256)
    return out


FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
NARROW = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz]


@pytest.mark.parametrize("to", FLOATS, ids=str)
@pytest.mark.parametrize("of", FLOATS, ids=str)
def test_a_float_becomes_the_nearest_of_the_other_type(arch, of, to):
    x = torch.cat([torch.randn(500) * 100, torch.randn(500) * 1e-3,
                   torch.tensor([0.0, -0.0, float("inf"), -float("inf"), 65519.0, 65504.0])])
    x = x.to(of)
    found = _converted(x, to)
    assert torch.equal(found, x.to(to))
    assert torch.equal(torch.signbit(found), torch.signbit(x))


@pytest.mark.parametrize("of", NARROW, ids=str)
def test_every_finite_8_bit_float_has_its_value_in_f32(arch, of):
    x = torch.arange(256, dtype=torch.int32).to(torch.uint8).view(of)
    expected = x.to(torch.float32)
    finite = torch.isfinite(expected)
    found = _converted(x, torch.float32)
    assert torch.equal(found[finite], expected[finite])


@pytest.mark.parametrize("to", NARROW, ids=str)
def test_a_float_in_range_becomes_the_nearest_8_bit_float(arch, to):
    x = torch.cat([torch.randn(600) * 8, torch.randn(400) * 0.02])
    found = _converted(x, to)
    assert torch.equal(found.to(torch.float32), x.to(to).to(torch.float32))


@pytest.mark.parametrize("to", [torch.int32, torch.int64, torch.int16, torch.int8], ids=str)
@pytest.mark.parametrize("of", [torch.float32, torch.float64, torch.float16, torch.int64], ids=str)
def test_a_number_becomes_an_integer_cut_towards_zero(arch, of, to):
    x = torch.randn(500).mul(30).to(of)
    assert torch.equal(_converted(x, to), x.to(to))


@pytest.mark.parametrize("of", [torch.int32, torch.int64, torch.uint8, torch.bool], ids=str)
def test_an_integer_becomes_the_nearest_float(arch, of):
    x = torch.randint(0, 2, (300,)).to(of) if of is torch.bool else \
        torch.randint(0, 255, (300,)).to(of)
    assert torch.equal(_converted(x, torch.float32), x.to(torch.float32))


def test_a_fused_multiply_add_rounds_once(arch):
    x, y = torch.randn(128), torch.randn(128)
    z = -(x * y)
    out = torch.empty(128)
    fused[(1,)](x, y, z, out, BLOCK=128)
    exact = x.double() * y.double() + z.double()
    assert torch.equal(out, exact.float())
    assert out.any()


def test_the_upper_half_of_a_product_is_exact(arch):
    x = torch.randint(0, 2**31 - 1, (128,), dtype=torch.int64)
    y = torch.randint(0, 2**31 - 1, (128,), dtype=torch.int64)
    out = torch.empty(128, dtype=torch.int32)
    high_product[(1,)](x.to(torch.int32).view(torch.uint32), y.to(torch.int32).view(torch.uint32),
                       out.view(torch.uint32), BLOCK=128)
    assert torch.equal(out.to(torch.int64), x * y >> 32)
