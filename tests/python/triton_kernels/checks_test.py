"""The checks of the emulator: silent on compiled code, loud where a barrier is missing."""

from __future__ import annotations

import contextvars

import mla_testbed.triton
import pytest
import torch
import triton
import triton.language as tl
from mla_testbed import gfx
from mla_testbed.triton import state


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
        report = _run_sums(arch, compiled, _without(code, S_BARRIER, S_NOP, number), x, out,
                           gfx.Options(checks=gfx.ALL_CHECKS))
        found += [event for event in report.events if event.problem == "lds-race"]
    assert found
    assert found[0].line > 0


def _run_sums(arch, compiled, code, x, out, options):
    kernarg = x.data_ptr().to_bytes(8, "little") + out.data_ptr().to_bytes(8, "little")
    return gfx.Device(arch).load(code).run(
        "row_sums", grid=(1, 1, 1), block=(compiled.threads, 1, 1),
        kernarg=kernarg + bytes(16), dynamic_lds=compiled.lds_size,
        ranges=[gfx.Range(t.data_ptr(), t.untyped_storage().nbytes(), name)
                for t, name in ((x, "x"), (out, "out"))],
        options=options)


def test_late_memory_shows_waits_that_were_taken_out_of_a_reduction(arch):
    compiled = mla_testbed.triton.compile_only(
        row_sums, torch.float32, torch.float32, ROWS=64, COLUMNS=64, arch=arch)
    code = bytearray(compiled.asm["hsaco"])
    for at in range(0, len(code), 4):
        if code[at + 2:at + 4] == b"\x8c\xbf":  # s_waitcnt
            code[at:at + 4] = S_NOP.to_bytes(4, "little")
    # The emulator's own loads of arguments have to arrive for the launch to mean anything.
    x, out = torch.randn(64, 64), torch.empty(64)
    early = _run_sums(arch, compiled, bytes(code), x, out, gfx.Options())
    assert not early.faults
    assert torch.allclose(out, x.sum(0), atol=1e-4)
    for arrival in ({"arrival": "late"}, {"arrival": "after", "arrival_number": 500}):
        out.fill_(-1)
        late = _run_sums(arch, compiled, bytes(code), x, out, gfx.Options(**arrival))
        assert late.faults or not torch.allclose(out, x.sum(0), atol=1e-4)


def test_a_launch_with_late_memory_gives_the_numbers_of_one_without_and_takes_no_checks(arch):
    x, out = torch.randn(64, 64), torch.empty(64)
    timing = {"slice": 64, "order": "random", "seed": 7, "arrival": "random", "arrival_number": 3}
    with mla_testbed.triton.options(**timing):
        row_sums[(1,)](x, out, ROWS=64, COLUMNS=64)
        assert torch.allclose(out, x.sum(0), atol=1e-4)
        with (pytest.raises(mla_testbed.MlaError, match="memory that answers late and checks"),
              mla_testbed.triton.options(checks="all")):
            row_sums[(1,)](x, out, ROWS=64, COLUMNS=64)


def test_a_timing_in_the_environment_is_that_of_launches_without_options(monkeypatch):
    monkeypatch.setenv("MLA_TESTBED_SCHEDULE", "slice=64,order=shuffled.7")
    monkeypatch.setenv("MLA_TESTBED_ARRIVAL", "random.3")
    found = contextvars.Context().run(state.current_options)
    assert found == gfx.Options(slice=64, order="random", seed=7, arrival="random",
                                arrival_number=3)


@pytest.mark.parametrize(("schedule", "arrival", "fields"), [
    ("slice=64,order=shuffled.7", "random.3",
     {"slice": 64, "order": "random", "seed": 7, "arrival": "random", "arrival_number": 3}),
    ("order=reverse", "late", {"order": "reverse", "arrival": "late"}),
    ("slice=0,order=in-turn", "after.9", {"slice": 0, "arrival": "after", "arrival_number": 9}),
    ("", "", {}),
])
def test_options_take_a_timing_in_the_words_of_the_command_line(schedule, arrival, fields):
    assert gfx.Options().timed(schedule, arrival) == gfx.Options(**fields)


@pytest.mark.parametrize(("schedule", "arrival", "sentence"), [
    ("slice=-1", "", "schedule is 'slice=-1'; expected slice=<n>"),
    ("slice=4,", "", "schedule is 'slice=4,'"),
    ("", "soon", "arrival is 'soon'; expected early, late"),
    ("", "late.3", "arrival is 'late.3'"),
])
def test_other_words_of_a_timing_are_refused(schedule, arrival, sentence):
    with pytest.raises(mla_testbed.UsageError, match=sentence):
        gfx.Options().timed(schedule, arrival)


@pytest.mark.parametrize(("field", "value", "sentence"), [
    ("checks", "wait", "check 'wait' is not known"),
    ("order", "sideways", "order is 'sideways'"),
    ("fence", -1, "fence is -1"),
    ("arrival", "soon", "arrival is 'soon'"),
])
def test_an_unknown_option_is_refused_with_its_value(field, value, sentence):
    with (pytest.raises(mla_testbed.UsageError, match=sentence),
          mla_testbed.triton.options(**{field: value})):
        pass
