"""Kernels of a serving engine: a norm with quantisation, experts, a merge of attention parts.

Integers and types of 8 bits are compared exactly where the kernel's own f32 values decide them,
everything else with float64. U is the rounding of one f32 operation.
"""

from __future__ import annotations

import mla_testbed.triton
import pytest
import torch
import triton
import triton.language as tl

U = 2.0**-24
FP8 = {"gfx942": torch.float8_e4m3fnuz, "gfx950": torch.float8_e4m3fn}


@triton.jit
def add_norm_quantise(x, residual, w, out, scales, n, eps, LARGEST: tl.constexpr,
                      BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < n
    v = tl.load(x + row * n + at, mask=mask, other=0.0).to(tl.float32)
    v += tl.load(residual + row * n + at, mask=mask, other=0.0)
    tl.store(residual + row * n + at, v, mask=mask)
    y = v * tl.rsqrt(tl.sum(v * v, 0) / n + eps) * tl.load(w + at, mask=mask, other=0.0)
    scale = tl.maximum(tl.max(tl.abs(y), 0), 1e-10) / LARGEST
    tl.store(scales + row, scale)
    tl.store(out + row * n + at, (y / scale).to(out.dtype.element_ty), mask=mask)


@triton.jit
def count_experts(chosen, counts, n, EXPERTS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    found = tl.histogram(tl.load(chosen + at, mask=at < n, other=0), EXPERTS, mask=at < n)
    tl.atomic_add(counts + tl.arange(0, EXPERTS), found)


@triton.jit
def begin_experts(counts, begins, expert_of_block, EXPERTS: tl.constexpr, TILE: tl.constexpr,
                  BLOCKS: tl.constexpr):
    e, b = tl.arange(0, EXPERTS), tl.arange(0, BLOCKS)
    blocks = tl.cdiv(tl.load(counts + e), TILE)
    ends = tl.cumsum(blocks, 0)
    tl.store(begins + e, (ends - blocks) * TILE)
    before = tl.sum((b[:, None] >= ends[None, :]).to(tl.int32), 1)
    tl.store(expert_of_block + b, tl.where(before < EXPERTS, before, -1))


@triton.jit
def sort_tokens(chosen, begins, cursors, order, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    expert = tl.load(chosen + at, mask=at < n, other=0)
    place = tl.atomic_add(cursors + expert, 1, mask=at < n)
    tl.store(order + tl.load(begins + expert) + place, at, mask=at < n)


@triton.jit
def route(logits, weights, chosen, experts, TOP: tl.constexpr, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(logits + row * experts + at, mask=at < experts, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    p = e / tl.sum(e, 0)
    k = tl.arange(0, TOP)
    picked, values = tl.zeros((TOP,), tl.int32), tl.zeros((TOP,), tl.float32)
    for n in tl.static_range(TOP):
        best = tl.argmax(v, 0)
        picked = tl.where(k == n, best, picked)
        values = tl.where(k == n, tl.sum(tl.where(at == best, p, 0.0), 0), values)
        v = tl.where(at == best, -float("inf"), v)
    tl.store(chosen + row * TOP + k, picked)
    tl.store(weights + row * TOP + k, values / tl.sum(values, 0))


@triton.jit
def merge_two(a, b, lse_a, lse_b, out, lse, D: tl.constexpr):
    row, d = tl.program_id(0), tl.arange(0, D)
    x, y = tl.load(lse_a + row), tl.load(lse_b + row)
    top = tl.maximum(x, y)
    top = tl.where(top == -float("inf"), 0.0, top)
    p, q = tl.exp(x - top), tl.exp(y - top)
    total = p + q
    result = tl.load(a + row * D + d) * p + tl.load(b + row * D + d) * q
    tl.store(out + row * D + d, tl.where(total > 0, result / total, 0.0))
    tl.store(lse + row, top + tl.log(total))


@pytest.fixture(params=["", "all"], ids=["plain", "checked"], autouse=True)
def _checks(request):
    with mla_testbed.triton.options(checks=request.param):
        yield


def _random(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)))


def test_a_norm_with_residual_gives_fp8_values_within_their_rounding(arch):
    rows, n, eps, dtype = 4, 300, 1e-6, FP8[arch]
    x, residual, w = _random(rows, n).bfloat16(), _random(2, rows, n)[0], _random(n)
    total = x.double() + residual.double()
    out, scales = torch.zeros(rows, n).to(dtype), torch.empty(rows)
    largest = torch.finfo(dtype).max
    add_norm_quantise[(rows,)](x, residual, w, out, scales, n, eps, LARGEST=largest, BLOCK=512)
    assert torch.equal(residual, (x.float() + _random(2, rows, n)[0]))
    y = total * (total.square().mean(1, keepdim=True) + eps).rsqrt() * w.double()
    scale = y.abs().amax(1) / largest
    relative = (n / 2 + 8) * U
    assert ((scales.double() - scale).abs() <= (relative + 2 * U) * scale).all()
    # Four significant bits; below the smallest normal number the step is constant.
    step = torch.finfo(dtype).smallest_normal * 2.0**-3
    found = out.double() * scales.double()[:, None]
    bound = (2.0**-4 + 3 * relative) * y.abs() + scale[:, None] * step
    assert ((found - y).abs() <= bound).all()
    assert out.float().abs().amax(1).tolist() == [largest] * rows


def test_tokens_are_sorted_into_blocks_of_one_expert(arch):
    tokens, top, experts, tile = 37, 2, 8, 16
    chosen = torch.randint(0, experts - 1, (tokens * top,), dtype=torch.int32,
                           generator=torch.Generator().manual_seed(1))
    n, blocks = chosen.numel(), 16
    counts, cursors = (torch.zeros(experts, dtype=torch.int32) for _ in range(2))
    begins, expert_of = torch.empty_like(counts), torch.empty(blocks, dtype=torch.int32)
    order = torch.full((blocks * tile,), n, dtype=torch.int32)
    count_experts[(2,)](chosen, counts, n, EXPERTS=experts, BLOCK=64)
    begin_experts[(1,)](counts, begins, expert_of, EXPERTS=experts, TILE=tile, BLOCKS=blocks)
    sort_tokens[(2,)](chosen, begins, cursors, order, n, BLOCK=64)
    assert torch.equal(counts, torch.bincount(chosen, minlength=experts).to(torch.int32))
    assert torch.equal(cursors, counts)
    used = int((-(-counts // tile)).sum())
    assert (expert_of[used:] == -1).all()
    seen = []
    for block in range(blocks):
        members = order[block * tile:(block + 1) * tile]
        members = members[members < n]
        assert block < used or members.numel() == 0
        assert (chosen[members.long()] == expert_of[block]).all()
        seen += members.tolist()
    assert sorted(seen) == list(range(n))


@pytest.mark.parametrize("experts", [6, 64])
def test_the_best_experts_and_their_weights_are_those_of_float64(arch, experts):
    rows, top = 5, 4
    logits = _random(rows, experts) * 3
    weights, chosen = torch.empty(rows, top), torch.empty(rows, top, dtype=torch.int32)
    route[(rows,)](logits, weights, chosen, experts, TOP=top, BLOCK=64)
    best = torch.topk(logits.double(), top, dim=1)
    assert torch.equal(chosen.long(), best.indices)
    # What all share cancels; a weight has two exponentials, of numbers below 2 max, and 4 sums.
    largest = 2 * logits.abs().max().item()
    bound = 2 * (2 * largest + 8 + top) * U
    expected = torch.softmax(best.values, 1)
    assert ((weights.double() - expected).abs() <= bound * expected).all()


def test_a_merge_of_two_parts_is_the_attention_over_both(arch):
    rows, d = 6, 64
    a, b = _random(rows, d), _random(2, rows, d)[1]
    lse_a, lse_b = _random(rows) * 20, _random(2, rows)[1] * 20
    lse_a[0] = lse_b[1] = lse_a[2] = lse_b[2] = -float("inf")  # parts without keys
    out, lse = torch.empty(rows, d), torch.empty(rows)
    merge_two[(rows,)](a, b, lse_a, lse_b, out, lse, D=d)
    both = torch.stack([lse_a, lse_b]).double()
    expected_lse = torch.logsumexp(both, 0)
    weights = torch.exp(both - torch.where(expected_lse.isinf(), 0, expected_lse))[..., None]
    expected = (torch.stack([a, b]).double() * weights).sum(0)
    size = (torch.stack([a, b]).double().abs() * weights).sum(0)
    exponent = 2 * 2 * both[both.isfinite()].abs().max() * U
    assert ((out.double() - expected).abs() <= 2 * (exponent + 8 * U) * size).all()
    assert not out[2].any()
    finite = expected_lse.isfinite()
    assert torch.equal(lse[~finite], torch.full((1,), -float("inf")))
    error = (lse.double() - expected_lse)[finite].abs()
    assert (error <= exponent + 8 * U + 2 * U * expected_lse[finite].abs()).all()
