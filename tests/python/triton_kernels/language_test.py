"""Parts of Triton's language that the other kernels do not use."""

from __future__ import annotations

import mla_testbed.triton
import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from mla_testbed.triton import KernelFault


@triton.jit
def best(x, out, BLOCK: tl.constexpr, K: tl.constexpr):
    tl.store(out + tl.arange(0, K), tl.topk(tl.load(x + tl.arange(0, BLOCK)), K))


@triton.jit
def gathered(x, index, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr, AXIS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out + at, tl.gather(tl.load(x + at), tl.load(index + at), axis=AXIS))


@triton.jit
def shapes(x, y, out, N: tl.constexpr):
    at = tl.arange(0, N)
    joined = tl.join(tl.load(x + at), tl.load(y + at))  # [N, 2]
    turned = tl.permute(tl.reshape(joined, (N // 4, 4, 2)), (2, 1, 0))
    first, second = tl.split(joined)
    tl.store(out + tl.arange(0, 2 * N), tl.reshape(turned, (2 * N,)))
    tl.store(out + 2 * N + tl.arange(0, 2 * N), tl.cat(second, first, can_reorder=False))
    wide = tl.broadcast_to(tl.expand_dims(first, 1), (N, 2))
    tl.store(out + 4 * N + tl.arange(0, 2 * N), tl.reshape(tl.interleave(wide, wide), (4 * N,))
             .reshape(2 * N, 2).sum(1) // 2)


@triton.jit
def exchanged(x, y, z, old_x, old_y, old_z):
    five, nine = tl.full((), 5, x.dtype.element_ty), tl.full((), 9, x.dtype.element_ty)
    tl.store(old_x, tl.atomic_xchg(x, 7))
    tl.store(old_y, tl.atomic_cas(y, five, nine))
    tl.store(old_z, tl.atomic_cas(z, five, nine))


@triton.jit
def added(x, out, KIND: tl.constexpr, SCOPE: tl.constexpr):
    lane = tl.arange(0, 64)
    if KIND == "add":
        old = tl.atomic_add(x + lane % 8, 1, sem="relaxed", scope=SCOPE)
    else:
        old = tl.atomic_max(x + lane % 8, lane.to(x.dtype.element_ty), sem="acq_rel", scope=SCOPE)
    tl.store(out + lane, old)


@triton.jit
def described(x, out, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [ROWS, COLUMNS])
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [ROWS, COLUMNS])
    for start in range(0, columns, COLUMNS):
        place = [tl.program_id(0) * ROWS, start]
        target.store(place, source.load(place) * 2)


@triton.jit
def collatz(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at)
    steps = tl.zeros((BLOCK,), tl.int32)
    while tl.max(v, 0) > 1:
        steps += (v > 1).to(tl.int32)
        v = tl.where(v <= 1, v, tl.where(v % 2 == 0, v // 2, 3 * v + 1))
    tl.store(out + at, steps)


@triton.jit
def assembled(x, y, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    r = tl.inline_asm_elementwise("v_alignbit_b32 $0, $1, $2, 8", "=v,v,v",
                                  [tl.load(x + at), tl.load(y + at)], dtype=tl.int32,
                                  is_pure=True, pack=1)
    tl.store(out + at, r)


@triton.jit
def printed(x):
    tl.device_print("x", tl.load(x))


@triton.jit
def uniform(out, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.rand(seed, at))


@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def chosen(out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 1 if EVEN else 2, mask=at < n)


@triton.jit
def sums(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out, tl.sum(tl.load(x + at), 0))
    tl.store(out + 1 + at, tl.cumsum(tl.load(x + at), 0))


@triton.jit
def far(x, out, stride):
    at = tl.program_id(0).to(tl.int64) * stride
    tl.store(x + at, (tl.program_id(0) + 3).to(tl.int8))
    tl.store(out + tl.program_id(0), tl.load(x + at))


@triton.jit
def dot(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    x, y = tl.load(a + i * K + k[None, :]), tl.load(b + k[:, None] * N + j)
    tl.store(c + i * N + j, tl.dot(x, y, out_dtype=c.dtype.element_ty))


@triton.jit
def scaled_dot(a, a_scale, b, b_scale, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
               FORMAT: tl.constexpr, PER_BYTE: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    k, s = tl.arange(0, K // PER_BYTE), tl.arange(0, K // 32)[None, :]
    x = tl.load(a + i * (K // PER_BYTE) + k[None, :])
    y = tl.load(b + k[:, None] * N + j)
    x_scale = tl.load(a_scale + i * (K // 32) + s)
    y_scale = tl.load(b_scale + tl.arange(0, N)[:, None] * (K // 32) + s)
    tl.store(c + i * N + j, tl.dot_scaled(x, x_scale, FORMAT, y, y_scale, FORMAT))


def _numbers(*shape, low=-1000, high=1000, dtype=torch.int32):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(5)).to(dtype)


def test_the_greatest_numbers_are_those_of_torch(arch):
    x, out = torch.randn(128), torch.empty(8)
    best[(1,)](x, out, BLOCK=128, K=8)
    assert torch.equal(out, torch.topk(x, 8).values)


@pytest.mark.parametrize("axis", [0, 1])
def test_gathered_elements_are_those_of_torch(arch, axis):
    x = _numbers(16, 32)
    index = _numbers(16, 32, low=0, high=(16, 32)[axis])
    out = torch.empty_like(x)
    gathered[(1,)](x, index, out, ROWS=16, COLUMNS=32, AXIS=axis)
    assert torch.equal(out, torch.gather(x, axis, index.long()))


def test_joined_split_permuted_and_interleaved_tensors_are_those_of_torch(arch):
    n = 64
    x, y = _numbers(2, n)
    out = torch.empty(6 * n, dtype=torch.int32)
    shapes[(1,)](x, y, out, N=n)
    turned = torch.stack([x, y], 1).reshape(n // 4, 4, 2).permute(2, 1, 0).reshape(-1)
    assert torch.equal(out, torch.cat([turned, y, x, x.repeat_interleave(2)]))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_an_exchange_always_stores_and_a_comparison_only_where_it_holds(arch, dtype):
    x, y, z = (torch.tensor([v], dtype=dtype) for v in (3, 5, 6))
    old = torch.empty(3, dtype=dtype)
    exchanged[(1,)](x, y, z, old[0:], old[1:], old[2:])
    assert (x.item(), y.item(), z.item(), old.tolist()) == (7, 9, 6, [3, 5, 6])


@pytest.mark.parametrize("scope", ["cta", "gpu", "sys"])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.float32, torch.float64], ids=str)
def test_an_atomic_returns_what_was_there_in_some_order_of_the_lanes(arch, dtype, scope):
    x, old = torch.full((8,), 100, dtype=dtype), torch.empty(64, dtype=dtype)
    added[(1,)](x, old, KIND="add", SCOPE=scope)
    assert x.tolist() == [108] * 8
    for place in range(8):
        assert sorted(old[place::8].tolist()) == list(range(100, 108))


def test_a_greatest_value_kept_by_an_atomic_returns_no_later_one(arch):
    x, old = torch.zeros(8, dtype=torch.int32), torch.empty(64, dtype=torch.int32)
    added[(1,)](x, old, KIND="max", SCOPE="gpu")
    assert x.tolist() == list(range(56, 64))
    lanes = torch.arange(64)
    assert (old <= x[lanes % 8]).all()
    assert ((old == 0) | (old % 8 == lanes % 8)).all()


def test_a_descriptor_made_in_the_kernel_loads_and_stores_to_its_borders(arch):
    x = torch.randn(20, 48)
    out = torch.full((21, 48), 7.0)
    described[(2,)](x, out, 20, 48, ROWS=16, COLUMNS=32)
    assert torch.equal(out[:20], 2 * x)
    assert (out[20] == 7).all()


def test_a_loop_ends_when_its_condition_does(arch):
    x, out = torch.arange(1, 65, dtype=torch.int32), torch.empty(64, dtype=torch.int32)
    collatz[(1,)](x, out, BLOCK=64)
    expected = []
    for start in x.tolist():
        value, steps = start, 0
        while value > 1:
            value, steps = value // 2 if value % 2 == 0 else 3 * value + 1, steps + 1
        expected.append(steps)
    assert out.tolist() == expected


def test_inline_assembly_is_executed(arch):
    x, y = _numbers(2, 64)
    out = torch.empty(64, dtype=torch.int32)
    assembled[(1,)](x, y, out, BLOCK=64)
    wide = (x.long() & 0xFFFFFFFF) << 32 | (y.long() & 0xFFFFFFFF)
    expected = torch.from_numpy(((wide.numpy().view(np.uint64) >> np.uint64(8))
                                 & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.int32))
    assert torch.equal(out, expected)


def test_a_print_is_a_fault_that_says_so(arch):
    with pytest.raises(KernelFault, match="tl.device_print"):
        printed[(1,)](torch.ones(1))


def test_random_numbers_are_the_same_on_both_architectures_and_uniform():
    found = []
    for arch in ("gfx942", "gfx950"):
        out = torch.full((1024,), float("nan"))
        with mla_testbed.triton.emulated(arch):
            uniform[(4,)](out, 42, BLOCK=256)
        found.append(out)
    assert torch.equal(*found)
    assert ((found[0] >= 0) & (found[0] < 1)).all()
    counts = torch.histc(found[0], 8, 0, 1)  # 128 each; the deviation is 10.6
    assert ((counts - 128).abs() < 5 * 10.6).all()


@pytest.mark.parametrize(("n", "value"), [(128, 1), (100, 2)])
def test_a_heuristic_chooses_what_is_compiled(arch, n, value):
    out = torch.zeros(128, dtype=torch.int32)
    chosen[(2,)](out, n, BLOCK=64)
    assert out.tolist() == [value] * n + [0] * (128 - n)


@pytest.mark.parametrize("warps", [1, 2, 4, 8, 16])
def test_sums_and_scans_are_exact_with_any_number_of_waves(arch, warps):
    x, out = _numbers(1024), torch.empty(1025, dtype=torch.int32)
    with mla_testbed.triton.options(checks="all"):
        sums[(1,)](x, out, BLOCK=1024, num_warps=warps)
    assert out[0] == x.sum()
    assert torch.equal(out[1:], x.cumsum(0).to(torch.int32))


def test_an_offset_above_2_31_reaches_its_element(arch):
    stride = (1 << 30) + 5
    x, out = torch.empty(3 * stride, dtype=torch.int8), torch.empty(3, dtype=torch.int8)
    far[(3,)](x, out, stride)
    assert out.tolist() == [3, 4, 5]
    assert [x[n * stride].item() for n in range(3)] == [3, 4, 5]


@pytest.mark.parametrize(("dtype", "result"), [
    (torch.float64, torch.float64), (torch.float16, torch.float16), (torch.int8, torch.int32)],
    ids=str)
def test_a_product_of_small_whole_numbers_is_exact(arch, dtype, result):
    a, b = _numbers(16, 32, low=-8, high=8, dtype=dtype), _numbers(32, 16, low=-8, high=8,
                                                                   dtype=dtype)
    c = torch.empty(16, 16, dtype=result)
    dot[(1,)](a, b, c, M=16, N=16, K=32)
    # At most 32 * 64 in magnitude: f16 holds whole numbers to 2048.
    assert torch.equal(c.double(), a.double() @ b.double())


_E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def _operand(form, rows, k, generator):
    """Bytes of [rows, k] numbers with their values; scales of 32 with theirs."""
    scale = torch.randint(124, 131, (rows, k // 32), dtype=torch.uint8, generator=generator)
    factor = 2.0 ** (scale.double() - 127).repeat_interleave(32, 1)
    if form == "e2m1":  # two a byte, the first one in the lower half
        codes = torch.randint(0, 16, (rows, k), generator=generator)
        values = torch.tensor(_E2M1 + [-v for v in _E2M1], dtype=torch.float64)[codes]
        data = (codes[:, 0::2] | codes[:, 1::2] << 4).to(torch.uint8)
    else:
        dtype = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}[form]
        data = torch.randn(rows, k, generator=generator).to(dtype)
        values = data.double()
    return data, values * factor, scale


@pytest.mark.parametrize("form", ["e2m1", "e4m3", "e5m2"])
def test_a_scaled_product_is_within_the_rounding_of_its_sums(arch, form):
    m, n, k = 32, 32, 128
    generator = torch.Generator().manual_seed(2)
    a, a_values, a_scale = _operand(form, m, k, generator)
    b, b_values, b_scale = _operand(form, n, k, generator)
    c = torch.full((m, n), float("nan"))
    data = [a, b.T.contiguous()]
    if form != "e2m1":
        data = [one.view(torch.uint8).view(one.dtype) for one in data]
    scaled_dot[(1,)](data[0], a_scale, data[1], b_scale, c, M=m, N=n, K=k, FORMAT=form,
                     PER_BYTE=2 if form == "e2m1" else 1)
    expected, size = a_values @ b_values.T, a_values.abs() @ b_values.abs().T
    # gfx942 multiplies in bf16, which holds these values and scales exactly.
    assert ((c.double() - expected).abs() <= k * 2.0**-23 * size).all()
