"""MLA decode in Triton: paged keys, pieces of a request with a log-sum-exp each, a merge."""

from __future__ import annotations

import mla_testbed.triton
import pytest
import torch
import triton
import triton.language as tl
from mla_testbed.triton import KernelFault

LATENT, ROPE = 512, 64
WIDTH = LATENT + ROPE


@triton.jit
def piece(q, cache, indptr, indices, partial, lse, scale, HEADS: tl.constexpr,
          LATENT: tl.constexpr, ROPE: tl.constexpr, BLOCK: tl.constexpr, PIECES: tl.constexpr):
    request, part = tl.program_id(0), tl.program_id(1)
    first, end = tl.load(indptr + request), tl.load(indptr + request + 1)
    each = tl.cdiv(end - first, PIECES)
    begin, stop = first + part * each, tl.minimum(first + (part + 1) * each, end)
    h, d, r = tl.arange(0, HEADS), tl.arange(0, LATENT), tl.arange(0, ROPE)
    WIDTH: tl.constexpr = LATENT + ROPE
    row = q + (request * HEADS + h[:, None]) * WIDTH
    latent, rope = tl.load(row + d[None, :]), tl.load(row + LATENT + r[None, :])
    top = tl.full((HEADS,), -float("inf"), tl.float32)
    total = tl.zeros((HEADS,), tl.float32)
    acc = tl.zeros((HEADS, LATENT), tl.float32)
    for start in range(begin, stop, BLOCK):
        j = start + tl.arange(0, BLOCK)
        slot = tl.load(indices + j, mask=j < stop, other=0).to(tl.int64) * WIDTH
        values = tl.load(cache + slot[:, None] + d[None, :], mask=(j < stop)[:, None], other=0.0)
        turned = tl.load(cache + slot[None, :] + LATENT + r[:, None], mask=(j < stop)[None, :],
                         other=0.0)
        score = tl.dot(latent, tl.trans(values)) + tl.dot(rope, turned)
        score = tl.where((j < stop)[None, :], score * scale, -float("inf"))
        new = tl.maximum(top, tl.max(score, 1))
        p, old = tl.exp(score - new[:, None]), tl.exp(top - new)
        acc = acc * old[:, None] + tl.dot(p.to(values.dtype), values)
        total, top = total * old + tl.sum(p, 1), new
    if begin < stop:
        place = (request * PIECES + part) * HEADS + h
        tl.store(partial + place[:, None] * LATENT + d[None, :], acc / total[:, None])
        tl.store(lse + place, top + tl.log(total))


@triton.jit
def merge(partial, lse, indptr, out, HEADS: tl.constexpr, LATENT: tl.constexpr,
          PIECES: tl.constexpr):
    request, head, d = tl.program_id(0), tl.program_id(1), tl.arange(0, LATENT)
    keys = tl.load(indptr + request + 1) - tl.load(indptr + request)
    used = tl.cdiv(keys, tl.maximum(tl.cdiv(keys, PIECES), 1))
    s = tl.arange(0, PIECES)
    sums = tl.load(lse + (request * PIECES + s) * HEADS + head, mask=s < used,
                   other=-float("inf"))
    weights = tl.exp(sums - tl.max(sums, 0))
    parts = tl.load(partial + ((request * PIECES + s) * HEADS + head)[:, None] * LATENT
                    + d[None, :], mask=(s < used)[:, None], other=0.0)
    result = tl.sum(parts * weights[:, None], 0) / tl.sum(weights, 0)
    tl.store(out + (request * HEADS + head) * LATENT + d, result)


def tensors(keys, heads, pieces, spare=3):
    """A batch whose requests own slots of a cache that are scattered; the others hold NaN."""
    generator = torch.Generator().manual_seed(7)
    indptr = torch.tensor([0, *torch.tensor(keys).cumsum(0)], dtype=torch.int32)
    slots = int(indptr[-1]) + spare
    indices = torch.randperm(slots, generator=generator)[:slots - spare].to(torch.int32)
    cache = torch.full((slots, WIDTH), float("nan"), dtype=torch.bfloat16)
    cache[indices.long()] = torch.randn(slots - spare, WIDTH, generator=generator).bfloat16()
    q = torch.randn(len(keys), heads, WIDTH, generator=generator).bfloat16()
    partial = torch.full((len(keys), pieces, heads, LATENT), float("nan"))
    lse = torch.full((len(keys), pieces, heads), float("nan"))
    return q, cache, indptr, indices, partial, lse


def decode(batch, heads, pieces, block):
    q, cache, indptr, indices, partial, lse = batch
    out = torch.full((q.shape[0], heads, LATENT), float("nan"))
    piece[(q.shape[0], pieces)](q, cache, indptr, indices, partial, lse, 1 / 192**0.5,
                                HEADS=heads, LATENT=LATENT, ROPE=ROPE, BLOCK=block, PIECES=pieces,
                                num_warps=4, num_stages=1)
    merge[(q.shape[0], heads)](partial, lse, indptr, out, HEADS=heads, LATENT=LATENT,
                               PIECES=pieces, num_warps=4)
    return out


def dense(batch):
    q, cache, indptr, indices, _, _ = batch
    results = []
    for request in range(q.shape[0]):
        owned = cache[indices[indptr[request]:indptr[request + 1]].long()].double()
        score = q[request].double() @ owned.T / 192**0.5
        results.append(torch.softmax(score, -1) @ owned[:, :LATENT])
    return torch.stack(results)


@pytest.mark.parametrize(("keys", "pieces"), [([40, 7], 1), ([40, 7, 1], 4)], ids=str)
def test_an_mla_decode_equals_dense_attention(arch, keys, pieces):
    batch = tensors(keys, 16, pieces)
    out = decode(batch, 16, pieces, block=16)
    # p is rounded to bf16, 2^-9 of each weight, and values are below 5 in magnitude.
    assert ((out.double() - dense(batch)).abs() <= 5 * 2.0**-9 + 1e-3).all()


def test_a_piece_has_the_log_sum_exp_of_its_keys(arch):
    q, cache, indptr, indices, partial, lse = batch = tensors([40, 7], 16, 2)
    decode(batch, 16, 2, block=16)
    owned = cache[indices[:20].long()].double()
    expected = torch.logsumexp(q[0].double() @ owned.T / 192**0.5, -1)
    assert torch.allclose(lse[0, 0].double(), expected, rtol=1e-5, atol=1e-4)


def test_a_page_that_the_cache_does_not_have_is_a_fault_of_the_cache(arch):
    batch = tensors([40, 7], 16, 1)
    batch[3][41] = batch[1].shape[0]
    with pytest.raises(KernelFault, match="out-of-bounds in kernel 'piece'") as fault:
        decode(batch, 16, 1, block=16)
    assert fault.value.tensor == "cache"
    assert fault.value.program_id[0] == 1


def test_an_mla_decode_has_no_race_and_no_missing_wait(arch):
    batch = tensors([20, 3], 16, 2)
    with mla_testbed.triton.options(checks="waits,lds_races"):
        out = decode(batch, 16, 2, block=16)
    assert out.isfinite().all()
