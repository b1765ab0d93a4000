"""Kernels of a training step: norms and their gradients, gates, rotations, cross entropy.

Results are compared with float64. U is the rounding of one f32 operation. A sum of n terms is off
by at most n roundings of the sum of their magnitudes, whatever its order.
"""

from __future__ import annotations

import mla_testbed.triton
import pytest
import torch
import triton
import triton.language as tl

U = 2.0**-24


@triton.jit
def rms_forward(x, w, y, scales, n, eps, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + at, mask=at < n, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, 0) / n + eps)
    tl.store(scales + row, scale)
    tl.store(y + row * n + at, v * scale * tl.load(w + at, mask=at < n, other=0.0), mask=at < n)


@triton.jit
def rms_backward(dy, x, w, scales, dx, dw, rows, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    weight = tl.load(w + at, mask=at < n, other=0.0)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        v = tl.load(x + row * n + at, mask=at < n, other=0.0)
        g = tl.load(dy + row * n + at, mask=at < n, other=0.0)
        scale = tl.load(scales + row)
        inner = tl.sum(g * weight * v, 0) * scale * scale / n
        tl.store(dx + row * n + at, scale * (g * weight - v * inner), mask=at < n)
        total += g * v * scale
    tl.atomic_add(dw + at, total, mask=at < n)


@triton.jit
def swiglu(a, b, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    gate = tl.load(a + at, mask=at < n).to(tl.float32)
    value = tl.load(b + at, mask=at < n).to(tl.float32)
    tl.store(out + at, gate * tl.sigmoid(gate) * value, mask=at < n)


@triton.jit
def cross_entropy(logits, labels, losses, n, ignored, BLOCK: tl.constexpr):
    # The gradient takes the place of the logits.
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels + row)
    logits += row * n
    if label == ignored:
        for start in range(0, n, BLOCK):
            at = start + tl.arange(0, BLOCK)
            tl.store(logits + at, 0.0, mask=at < n)
        return
    of_label = tl.load(logits + label)
    top, total = -float("inf"), 0.0
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(logits + at, mask=at < n, other=-float("inf"))
        new = tl.maximum(top, tl.max(v, 0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(v - new), 0)
        top = new
    tl.debug_barrier()
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(logits + at, mask=at < n, other=-float("inf"))
        p = tl.exp(v - top) / total
        tl.store(logits + at, tl.where(at == label, p - 1, p), mask=at < n)
    tl.store(losses + row, top + tl.log(total) - of_label)


@triton.jit
def rotate(x, cosines, sines, heads, HALF: tl.constexpr, HEADS: tl.constexpr,
           INTERLEAVED: tl.constexpr):
    row = tl.program_id(0)
    h, d = tl.arange(0, HEADS)[:, None], tl.arange(0, HALF)[None, :]
    c = tl.load(cosines + row * HALF + d)
    s = tl.load(sines + row * HALF + d)
    at = x + (row * heads + h) * 2 * HALF
    first = at + (2 * d if INTERLEAVED else d)
    second = at + (2 * d + 1 if INTERLEAVED else HALF + d)
    a = tl.load(first, mask=h < heads, other=0.0)
    b = tl.load(second, mask=h < heads, other=0.0)
    tl.store(first, a * c - b * s, mask=h < heads)
    tl.store(second, b * c + a * s, mask=h < heads)


@triton.jit
def norm_weights_backward(dy, hat, dw, counts, locks, n, GROUPS: tl.constexpr,
                          BLOCK: tl.constexpr):
    # Programs of a group add to one row, in turns.
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    group = row % GROUPS
    part = tl.load(dy + row * n + at, mask=at < n, other=0.0) * tl.load(
        hat + row * n + at, mask=at < n, other=0.0)
    while tl.atomic_cas(locks + group, 0, 1) == 1:
        pass
    if tl.load(counts + group) == 0:
        tl.atomic_xchg(counts + group, 1)
    else:
        part += tl.load(dw + group * n + at, mask=at < n)
    tl.store(dw + group * n + at, part, mask=at < n)
    tl.debug_barrier()
    tl.atomic_xchg(locks + group, 0)


@pytest.fixture(params=["", "all"], ids=["plain", "checked"], autouse=True)
def _checks(request):
    with mla_testbed.triton.options(checks=request.param):
        yield


def _random(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)))


def test_an_rms_norm_and_its_gradients_are_those_of_float64(arch):
    rows, n, eps = 5, 200, 1e-6
    x, w, dy = _random(rows, n), _random(n), _random(rows, n) + 1
    y, dx = torch.full_like(x, float("nan")), torch.full_like(x, float("nan"))
    scales, dw = torch.full((rows,), float("nan")), torch.zeros(n)
    rms_forward[(rows,)](x, w, y, scales, n, eps, BLOCK=256)
    rms_backward[(2,)](dy, x, w, scales, dx, dw, rows, n, BLOCK=256)
    xd, wd, gd = (t.double() for t in (x, w, dy))
    scale = (xd.square().mean(1, keepdim=True) + eps).rsqrt()
    # The root halves the n + 2 roundings under it; its own is 2, and there are 2 products.
    relative = (n / 2 + 5) * U
    assert ((y.double() - xd * scale * wd).abs() <= relative * (xd * scale * wd).abs()).all()
    terms = gd * wd * xd
    inner = terms.sum(1, keepdim=True) * scale**2 / n
    expected = scale * (gd * wd - xd * inner)
    size = scale * ((gd * wd).abs() + xd.abs() * terms.abs().sum(1, keepdim=True) * scale**2 / n)
    assert ((dx.double() - expected).abs() <= (3 * relative + (n + 6) * U) * size).all()
    parts = gd * xd * scale
    size = parts.abs().sum(0)
    assert ((dw.double() - parts.sum(0)).abs() <= (relative + (rows + 4) * U) * size).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_a_gated_product_is_that_of_float64(arch, dtype):
    a, b = (_random(500) * 4).to(dtype), _random(3, 500)[0].to(dtype)
    out = torch.full_like(a, float("nan"))
    swiglu[(4,)](a, b, out, 500, BLOCK=128)
    gate = a.double()
    expected = gate * torch.sigmoid(gate) * b.double()
    # exp(-a) is 2^(a log2 e): the rounding of the exponent counts |a| times.
    stored = {torch.float32: U, torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}[dtype]
    bound = ((2 * gate.abs() + 8) * U + stored) * expected.abs() + 2.0**-25
    assert ((out.double() - expected).abs() <= bound).all()


def test_a_cross_entropy_and_its_gradient_are_those_of_float64(arch):
    rows, n = 4, 700
    logits, labels = _random(rows, n) * 5, torch.tensor([3, 699, -100, 256])
    x = logits.double()
    found, losses = logits.clone(), torch.zeros(rows)
    cross_entropy[(rows,)](found, labels, losses, n, -100, BLOCK=256)
    kept = labels != -100
    expected = torch.nn.functional.cross_entropy(x, labels, reduction="none", ignore_index=-100)
    # A term of the sum has the rounding of its exponent, at most twice the largest logit, and of
    # exp; then there are n sums, and the logarithm.
    exponent = 2 * x.abs().amax(1) * 2 * U + 4 * U
    bound = exponent + (n + 4) * U + 4 * U * (x.abs().amax(1) * 2)
    assert ((losses.double() - expected).abs() <= bound).all()
    probability = torch.softmax(x, 1)
    gradient = probability.clone()
    gradient[kept, labels[kept]] -= 1
    gradient[~kept] = 0
    error = (found.double() - gradient).abs()
    assert (error <= (2 * exponent + (n + 6) * U)[:, None] * probability + U).all()


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_rotation_is_that_of_float64(arch, dtype, interleaved):
    rows, heads, half = 3, 3, 32
    x, angles = _random(rows, heads, 2 * half).to(dtype), _random(rows, half) * 3
    found, c, s = x.clone(), angles.cos(), angles.sin()
    rotate[(rows,)](found, c, s, heads, HALF=half, HEADS=4, INTERLEAVED=interleaved)
    v, c, s = x.double(), c.double()[:, None], s.double()[:, None]
    places = (slice(0, None, 2), slice(1, None, 2)) if interleaved else (
        slice(0, half), slice(half, None))
    a, b = (v[..., place] for place in places)
    stored = U if dtype is torch.float32 else 2.0**-8
    for place, one, other in ((places[0], a * c, -b * s), (places[1], b * c, a * s)):
        bound = (one.abs() + other.abs()) * (3 * U + stored)
        assert ((found.double()[..., place] - one - other).abs() <= bound).all()


def test_gradients_of_a_norm_added_under_locks_are_those_of_float64(arch):
    rows, n, groups = 9, 100, 2
    dy, hat = _random(rows, n), _random(2, rows, n)[1]
    dw = torch.full((groups, n), float("nan"))
    counts, locks = (torch.zeros(groups, dtype=torch.int32) for _ in range(2))
    norm_weights_backward[(rows,)](dy, hat, dw, counts, locks, n, GROUPS=groups, BLOCK=128)
    assert counts.tolist() == [1] * groups
    assert locks.tolist() == [0] * groups
    parts = dy.double() * hat.double()
    bound = (rows + groups) * U * parts.abs().sum(0)
    assert ((dw.double().sum(0) - parts.sum(0)).abs() <= bound).all()
