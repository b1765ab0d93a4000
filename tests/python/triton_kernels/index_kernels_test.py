"""Integer kernels of the kind that engines build their metadata with."""

from __future__ import annotations

import time

import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def expand_pages(table, indptr, out, table_stride, PAGE: tl.constexpr, BLOCK: tl.constexpr):
    """Blocks of PAGE tokens to token indices, one program a request."""
    request = tl.program_id(0)
    begin, end = tl.load(indptr + request), tl.load(indptr + request + 1)
    for start in range(begin, end, BLOCK):
        at = start + tl.arange(0, BLOCK)
        token = at - begin
        block = tl.load(table + request * table_stride + token // PAGE, mask=at < end)
        tl.store(out + at, block * PAGE + token % PAGE, mask=at < end)


@triton.jit
def divide(a, b, quotient, remainder, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x, y = tl.load(a + at, mask=at < n), tl.load(b + at, mask=at < n, other=1)
    tl.store(quotient + at, x // y, mask=at < n)
    tl.store(remainder + at, x % y, mask=at < n)


@triton.jit
def common_divisor(a, b, out):
    x, y = tl.load(a + tl.program_id(0)), tl.load(b + tl.program_id(0))
    while y != 0:
        x, y = y, x % y
    tl.store(out + tl.program_id(0), x)


@triton.jit
def search(sorted_values, queries, out, n, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    wanted = tl.load(queries + at)
    low = tl.zeros((BLOCK,), tl.int32)
    high = tl.zeros((BLOCK,), tl.int32) + n
    for _ in range(STEPS):
        middle = (low + high) // 2
        open_ = low < high
        smaller = tl.load(sorted_values + middle, mask=open_, other=0) < wanted
        low = tl.where(open_ & smaller, middle + 1, low)
        high = tl.where(open_ & ~smaller, middle, high)
    tl.store(out + at, low)


@triton.jit
def random_bits(out, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.randint(seed, at))


def _batch(requests, most, page, generator):
    lengths = torch.randint(0, most, (requests,), generator=generator)
    indptr = torch.zeros(requests + 1, dtype=torch.int32)
    indptr[1:] = lengths.cumsum(0)
    blocks = (most + page - 1) // page
    table = torch.randperm(requests * blocks, generator=generator).to(torch.int32)
    return indptr, table.view(requests, blocks)


def _expanded(indptr, table, page):
    rows = []
    for request, row in enumerate(table):
        token = torch.arange(indptr[request + 1] - indptr[request])
        rows.append(row[token // page] * page + token % page)
    return torch.cat(rows).to(torch.int32)


@pytest.mark.parametrize("page", [1, 16, 64])
def test_pages_are_expanded_and_nothing_else_is_written(arch, page):
    indptr, table = _batch(9, 300, page, torch.Generator().manual_seed(page))
    out = torch.full((int(indptr[-1]) + 50,), -7, dtype=torch.int32)
    expand_pages[(9,)](table, indptr, out, table.stride(0), PAGE=page, BLOCK=128)
    assert torch.equal(out[:indptr[-1]], _expanded(indptr, table, page))
    assert (out[indptr[-1]:] == -7).all()


def test_the_pages_of_256_requests_are_expanded_within_250_ms(arch):
    """The figure in docs/findings/triton.md is of a quiet machine; this bound is for a busy one."""
    indptr, table = _batch(256, 1024, 16, torch.Generator().manual_seed(1))
    out = torch.empty(int(indptr[-1]), dtype=torch.int32)
    times = []
    for _ in range(4):  # the first compiles
        begin = time.perf_counter()
        expand_pages[(256,)](table, indptr, out, table.stride(0), PAGE=16, BLOCK=256)
        times.append(time.perf_counter() - begin)
    assert torch.equal(out, _expanded(indptr, table, 16))
    assert min(times[1:]) < 0.25


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.int16, torch.uint8], ids=str)
def test_division_cuts_towards_zero_as_in_c(arch, dtype):
    n = 500
    low = 0 if dtype is torch.uint8 else -30000
    a = torch.randint(low, 255 if dtype is torch.uint8 else 30000, (n,)).to(dtype)
    b = torch.randint(1, 200, (n,)).to(dtype)
    if dtype is not torch.uint8:
        b *= torch.randint(0, 2, (n,)).to(dtype) * 2 - 1
    quotient, remainder = torch.empty_like(a), torch.empty_like(a)
    divide[(4,)](a, b, quotient, remainder, n, BLOCK=128)
    assert torch.equal(quotient, torch.div(a, b, rounding_mode="trunc"))
    assert torch.equal(remainder, torch.fmod(a, b))


def test_a_loop_with_a_condition_of_data_ends_when_it_should(arch):
    a = torch.randint(1, 10000, (40,), dtype=torch.int64)
    b = torch.randint(0, 10000, (40,), dtype=torch.int64)
    out = torch.empty_like(a)
    common_divisor[(40,)](a, b, out)
    assert torch.equal(out, torch.gcd(a, b))


def test_a_binary_search_finds_what_torch_finds(arch):
    values = torch.randint(0, 500, (77,), dtype=torch.int32).sort().values
    queries = torch.randint(-5, 505, (256,), dtype=torch.int32)
    out = torch.empty(256, dtype=torch.int32)
    search[(2,)](values, queries, out, 77, STEPS=8, BLOCK=128)
    assert torch.equal(out, torch.searchsorted(values, queries).to(torch.int32))


def _philox(seed, counter):
    """Philox4x32-10, its first word (Salmon et al. 2011)."""
    mask = 0xFFFFFFFF
    c, k = [counter, 0, 0, 0], [seed & mask, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & mask, a >> 32 ^ c[3] ^ k[1], a & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c[0]


def test_random_bits_are_those_of_philox(arch):
    out = torch.empty(256, dtype=torch.int32)
    random_bits[(2,)](out, 1234, BLOCK=128)
    expected = [_philox(1234, counter) for counter in range(256)]
    assert [value & 0xFFFFFFFF for value in out.tolist()] == expected
