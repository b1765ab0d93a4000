"""tl.dot in every type that the matrix units have, and a small attention kernel."""

from __future__ import annotations

import mla_testbed.triton
import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, stride_a, stride_b, stride_c, BM: tl.constexpr, BN: tl.constexpr,
           BK: tl.constexpr, INTEGER: tl.constexpr, PRECISION: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.int32 if INTEGER else tl.float32)
    for start in range(0, K, BK):
        inside = k + start < K
        x = tl.load(a + i[:, None] * stride_a + (k + start)[None, :],
                    mask=(i < M)[:, None] & inside[None, :], other=0.0)
        y = tl.load(b + (k + start)[:, None] * stride_b + j[None, :],
                    mask=inside[:, None] & (j < N)[None, :], other=0.0)
        acc = tl.dot(x, y, acc, input_precision=PRECISION, out_dtype=acc.dtype)
    tl.store(c + i[:, None] * stride_c + j[None, :], acc,
             mask=(i < M)[:, None] & (j < N)[None, :])


@triton.jit
def attention(q, k, v, out, n, scale, D: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    i, d = tl.arange(0, ROWS), tl.arange(0, D)
    query = tl.load(q + i[:, None] * D + d[None, :])
    top = tl.full((ROWS,), -float("inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    acc = tl.zeros((ROWS, D), tl.float32)
    for start in range(0, n, BLOCK):
        j = start + tl.arange(0, BLOCK)
        keys = tl.load(k + j[None, :] * D + d[:, None], mask=(j < n)[None, :], other=0.0)
        score = tl.where((j < n)[None, :], tl.dot(query, keys) * scale, -float("inf"))
        new = tl.maximum(top, tl.max(score, 1))
        p = tl.exp2(score - new[:, None])
        old = tl.exp2(top - new)
        values = tl.load(v + j[:, None] * D + d[None, :], mask=(j < n)[:, None], other=0.0)
        acc = acc * old[:, None] + tl.dot(p.to(values.dtype), values)
        total, top = total * old + tl.sum(p, 1), new
    tl.store(out + i[:, None] * D + d[None, :], acc / total[:, None])


def _product(dtype, shape, blocks, precision="ieee", **options):
    m, n, k = shape
    integer = dtype is torch.int8
    if integer:
        a = torch.randint(-100, 100, (m, k), dtype=dtype)
        b = torch.randint(-100, 100, (k, n), dtype=dtype)
    else:
        a, b = torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype)
    c = torch.full((m, n), 9, dtype=torch.int32 if integer else torch.float32)
    bm, bn, bk = blocks
    matmul[(triton.cdiv(m, bm), triton.cdiv(n, bn))](
        a, b, c, m, n, k, a.stride(0), b.stride(0), c.stride(0), BM=bm, BN=bn, BK=bk,
        INTEGER=integer, PRECISION=precision, **options)
    return c.double(), a.double() @ b.double(), a.double().abs() @ b.double().abs()


RAGGED, SMALL = ((50, 70, 90), (32, 64, 64)), ((16, 16, 128), (16, 16, 128))
#: An architecture multiplies half of the 8-bit floats; Triton converts the others.
PRODUCTS = [(torch.float16, RAGGED), (torch.bfloat16, RAGGED), (torch.float32, RAGGED),
            (torch.int8, RAGGED), (torch.float8_e4m3fnuz, SMALL), (torch.float8_e5m2fnuz, SMALL),
            (torch.float8_e4m3fn, SMALL), (torch.float8_e5m2, SMALL)]


@pytest.mark.parametrize(("dtype", "sizes"), PRODUCTS, ids=str)
def test_a_product_is_within_the_rounding_of_its_sums(arch, dtype, sizes):
    shape, blocks = sizes
    c, expected, magnitude = _product(dtype, shape, blocks)
    if dtype is torch.int8:
        assert torch.equal(c, expected)
    else:  # f32 sums of exact products: 2^-24 for each addition, of the sum of magnitudes
        assert ((c - expected).abs() <= shape[2] * 2.0**-23 * magnitude).all()


def test_tf32_rounds_the_factors_of_gfx942_to_ten_bits():
    with mla_testbed.triton.emulated("gfx942"):
        c, expected, magnitude = _product(torch.float32, (32, 32, 64), (32, 32, 32), "tf32")
    error = (c - expected).abs()
    assert (error <= 2.0**-9 * magnitude).all()
    assert (error > 64 * 2.0**-23 * magnitude).any()


@pytest.mark.parametrize("nonkdim", [16, 32])
def test_both_sizes_of_the_matrix_instructions_give_the_product(arch, nonkdim):
    c, expected, magnitude = _product(torch.bfloat16, (64, 64, 128), (64, 64, 32), num_warps=4,
                                      matrix_instr_nonkdim=nonkdim)
    assert ((c - expected).abs() <= 128 * 2.0**-23 * magnitude).all()


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_pipelined_loop_gives_the_product(arch, stages):
    c, expected, magnitude = _product(torch.float16, (64, 64, 200), (64, 64, 32),
                                      num_stages=stages)
    assert ((c - expected).abs() <= 200 * 2.0**-23 * magnitude).all()


@pytest.mark.parametrize("n", [1, 50, 128])
def test_attention_is_that_of_torch(arch, n):
    d, rows = 64, 16
    q, k, v = (torch.randn(size, d).to(torch.bfloat16) for size in (rows, n, n))
    out = torch.empty(rows, d)
    attention[(1,)](q, k, v, out, n, d**-0.5 * 1.4426950408889634, D=d, ROWS=rows, BLOCK=32)
    expected = torch.softmax(q.double() @ k.double().t() * d**-0.5, dim=1) @ v.double()
    assert torch.allclose(out.double(), expected, rtol=2e-2, atol=2e-2)
