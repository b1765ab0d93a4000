"""Linear attention with gates: sums within chunks, a state that is carried on, the delta rule.

Results are compared with the recurrence over single tokens in float64. U is the rounding of one
f32 operation.
"""

from __future__ import annotations

import mla_testbed.triton
import pytest
import torch
import triton
import triton.language as tl

U = 2.0**-24


@triton.jit
def sums_of_chunks(g, out, length, CHUNK: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.program_id(0) * CHUNK + tl.arange(0, CHUNK)
    v = tl.load(g + at, mask=at < length, other=0.0)
    tl.store(out + at, tl.cumsum(v, 0, reverse=REVERSE), mask=at < length)


@triton.jit
def gated_chunks(q, k, v, sums, out, last, length, K: tl.constexpr, V: tl.constexpr,
                 CHUNK: tl.constexpr, PART: tl.constexpr):
    i, d = tl.arange(0, CHUNK), tl.arange(0, K)
    e = tl.program_id(0) * PART + tl.arange(0, PART)
    state = tl.zeros((K, PART), tl.float32)
    for start in range(0, length, CHUNK):
        t = start + i
        inside = (t < length)[:, None]
        queries = tl.load(q + t[:, None] * K + d[None, :], mask=inside, other=0.0)
        keys = tl.load(k + t[:, None] * K + d[None, :], mask=inside, other=0.0)
        values = tl.load(v + t[:, None] * V + e[None, :], mask=inside, other=0.0)
        end = tl.minimum(start + CHUNK, length) - 1
        b, whole = tl.load(sums + t, mask=t < length, other=0.0), tl.load(sums + end)
        within = tl.dot(queries, tl.trans(keys), input_precision="ieee")
        decay = tl.where(i[:, None] >= i[None, :], tl.exp(b[:, None] - b[None, :]), 0.0)
        result = tl.dot(within * decay, values, input_precision="ieee")
        result += tl.dot(queries, state, input_precision="ieee") * tl.exp(b)[:, None]
        tl.store(out + t[:, None] * V + e[None, :], result, mask=inside)
        keys *= tl.where(t < length, tl.exp(whole - b), 0.0)[:, None]
        state = state * tl.exp(whole) + tl.dot(tl.trans(keys), values, input_precision="ieee")
    tl.store(last + d[:, None] * V + e[None, :], state)


@triton.jit
def delta_rule(q, k, v, g, beta, out, last, length, K: tl.constexpr, V: tl.constexpr,
               PART: tl.constexpr):
    d, e = tl.arange(0, K), tl.program_id(0) * PART + tl.arange(0, PART)
    state = tl.zeros((K, PART), tl.float32)
    for t in range(0, length):
        key = tl.load(k + t * K + d)
        state *= tl.exp(tl.load(g + t))
        seen = tl.sum(state * key[:, None], 0)
        change = tl.load(beta + t) * (tl.load(v + t * V + e) - seen)
        state += key[:, None] * change[None, :]
        tl.store(out + t * V + e, tl.sum(state * tl.load(q + t * K + d)[:, None], 0))
    tl.store(last + d[:, None] * V + e[None, :], state)


@pytest.fixture(params=["", "all"], ids=["plain", "checked"], autouse=True)
def _checks(request):
    with mla_testbed.triton.options(checks=request.param):
        yield


LENGTH, CHUNK, K, V = 40, 16, 32, 32


def _tensors():
    generator = torch.Generator().manual_seed(3)
    q, k = (torch.randn(LENGTH, K, generator=generator) for _ in range(2))
    k = torch.nn.functional.normalize(k, dim=1)
    v = torch.randn(LENGTH, V, generator=generator)
    g = -torch.rand(LENGTH, generator=generator)
    return q, k, v, g, torch.rand(LENGTH, generator=generator)


def _recurrence(q, k, v, g, beta=None):
    """Outputs and last state, token by token; beta: the delta rule."""
    state, out = torch.zeros(K, V, dtype=torch.float64), []
    for t in range(LENGTH):
        state = state * g[t].exp()
        change = v[t] if beta is None else beta[t] * (v[t] - k[t] @ state)
        state = state + torch.outer(k[t], change)
        out.append(q[t] @ state)
    return torch.stack(out), state


@pytest.mark.parametrize("reverse", [False, True])
def test_sums_within_chunks_are_those_of_float64(arch, reverse):
    g = _tensors()[3]
    out = torch.full_like(g, float("nan"))
    sums_of_chunks[(3,)](g, out, LENGTH, CHUNK=CHUNK, REVERSE=reverse)
    for start in range(0, LENGTH, CHUNK):
        part = g[start:start + CHUNK].double()
        part = part.flip(0) if reverse else part
        expected = part.cumsum(0)
        found = out[start:start + CHUNK].double()
        found = found.flip(0) if reverse else found
        # All gates have the same sign: the sum of magnitudes is the sum.
        assert ((found - expected).abs() <= CHUNK * U * expected.abs()).all()


def test_gated_linear_attention_in_chunks_is_the_recurrence(arch):
    q, k, v, g, _ = _tensors()
    sums, out, last = torch.empty(LENGTH), torch.full((LENGTH, V), float("nan")), torch.empty(K, V)
    sums_of_chunks[(3,)](g, sums, LENGTH, CHUNK=CHUNK, REVERSE=False)
    gated_chunks[(2,)](q, k, v, sums, out, last, LENGTH, K=K, V=V, CHUNK=CHUNK, PART=V // 2)
    exact = [t.double() for t in (q, k, v, g)]
    expected, state = _recurrence(*exact)
    size, state_size = _recurrence(*[t.abs() for t in exact[:3]], exact[3])
    # Each chunk adds sums of K and CHUNK products and three exponentials of sums below 16, which
    # are off by 16 + CHUNK roundings and their own two.
    chunks = -(-LENGTH // CHUNK)
    bound = chunks * (K + 2 * CHUNK + 3 * (CHUNK * 2 + 2)) * U
    assert ((out.double() - expected).abs() <= bound * size).all()
    assert ((last.double() - state).abs() <= bound * state_size).all()


def test_the_gated_delta_rule_is_the_recurrence(arch):
    q, k, v, g, beta = _tensors()
    out, last = torch.full((LENGTH, V), float("nan")), torch.empty(K, V)
    delta_rule[(2,)](q, k, v, g, beta, out, last, LENGTH, K=K, V=V, PART=V // 2)
    exact = [t.double() for t in (q, k, v, g, beta)]
    expected, state = _recurrence(*exact)
    # Keys have length 1 and gates are below 1: a step makes no column of the state longer but by
    # the value, and no error larger. A column is never longer than the sum of its values' sizes.
    size = exact[2].abs().sum(0)
    column = LENGTH * (K + 8) * U * size
    assert ((last.double() - state).norm(dim=0) <= column).all()
    assert ((out.double() - expected).abs() <= 2 * column * exact[0].norm(dim=1)[:, None]).all()
