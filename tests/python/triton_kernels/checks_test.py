"""The checks of the emulator: silent on compiled code, loud where a barrier is missing."""

from __future__ import annotations

import mla_testbed.triton
import pytest
import torch
import triton
import triton.language as tl
from mla_testbed import gfx


@triton.jit
def row_sums(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i, j = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    v = tl.load(x + i[:, None] * COLUMNS + j[None, :])
    tl.store(out + j, tl.sum(v, axis=0))


@triton.jit
def product(a, b, c, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    at = i[:, None] * SIZE + i[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


def test_compiled_reductions_and_products_pass_all_checks(arch):
    x, out = torch.randn(64, 64), torch.empty(64)
    a, c = torch.randn(64, 64).half(), torch.empty(64, 64)
    for order in ("round_robin", "reverse", "random"):
        with mla_testbed.triton.options(checks="all", order=order, seed=3):
            row_sums[(1,)](x, out, ROWS=64, COLUMNS=64)
            product[(1,)](a, a, c, SIZE=64)
        assert torch.allclose(out, x.sum(0), atol=1e-4)
        assert torch.allclose(c, a.float() @ a.float(), atol=1e-3)


def _without(code: bytes, wanted: int, replacement: int, number: int) -> bytes:
    """The code object with one of its instruction words replaced."""
    words = bytearray(code)
    places = [at for at in range(0, len(words), 4)
              if int.from_bytes(words[at:at + 4], "little") == wanted]
    at = places[number]
    words[at:at + 4] = replacement.to_bytes(4, "little")
    return bytes(words)


S_BARRIER, S_NOP = 0xBF8A0000, 0xBF800000


def test_a_barrier_taken_out_of_a_reduction_is_reported_as_a_race(arch):
    compiled = mla_testbed.triton.compile_only(
        row_sums, torch.float32, torch.float32, ROWS=64, COLUMNS=64, arch=arch)
    code = compiled.asm["hsaco"]
    x, out = torch.randn(64, 64), torch.empty(64)
    count = sum(int.from_bytes(code[at:at + 4], "little") == S_BARRIER
                for at in range(0, len(code), 4))
    assert count > 0
    found = []
    for number in range(count):
        module = gfx.Device(arch).load(_without(code, S_BARRIER, S_NOP, number))
        kernarg = x.data_ptr().to_bytes(8, "little") + out.data_ptr().to_bytes(8, "little")
        report = module.run(
            "row_sums", grid=(1, 1, 1), block=(compiled.threads, 1, 1),
            kernarg=kernarg + bytes(16), dynamic_lds=compiled.lds_size,
            ranges=[gfx.Range(t.data_ptr(), t.untyped_storage().nbytes(), name)
                    for t, name in ((x, "x"), (out, "out"))],
            options=gfx.Options(checks=gfx.ALL_CHECKS))
        found += [event for event in report.events if event.problem == "lds-race"]
    assert found
    assert found[0].line > 0


@pytest.mark.parametrize(("field", "value", "sentence"), [
    ("checks", "wait", "check 'wait' is not known"),
    ("order", "sideways", "order is 'sideways'"),
    ("fence", -1, "fence is -1"),
])
def test_an_unknown_option_is_refused_with_its_value(field, value, sentence):
    with (pytest.raises(mla_testbed.UsageError, match=sentence),
          mla_testbed.triton.options(**{field: value})):
        pass
