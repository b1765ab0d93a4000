"""What a kernel must not do is named, and what the checks see."""

from __future__ import annotations

import ctypes
import gc
import inspect
import os

import mla_testbed
import mla_testbed.triton
import pytest
import torch
import triton
import triton.language as tl
from mla_testbed import world
from mla_testbed.triton import KernelFault
from mla_testbed.triton.faults import host_lines
from mla_testbed.triton.pointers import addresses_in


@triton.jit
def copy(source, target, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(source + at, mask=at < n)
    tl.store(target + at, value, mask=at < n)


@triton.jit
def scatter(indices, target, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + tl.load(indices + at), at)


@triton.jit
def through_a_table(addresses, out):
    source = tl.load(addresses + tl.program_id(0)).to(tl.pointer_type(tl.int32))
    tl.store(out + tl.program_id(0), tl.load(source))


@triton.jit
def past_the_targets(addresses, out):
    source = tl.load(addresses + tl.program_id(0)).to(tl.pointer_type(tl.int32))
    tl.store(out + tl.program_id(0), tl.load(source + 3 + tl.program_id(0)))


@triton.jit
def endless(flag):
    while tl.load(flag, volatile=True) == 0:
        pass


@triton.jit
def checked(x):
    tl.device_assert(tl.load(x) > 0, "positive")


def _line_of(kernel, text):
    lines, first = inspect.getsourcelines(kernel.fn)
    return first + next(n for n, line in enumerate(lines) if text in line)


def test_a_store_past_the_end_names_kernel_line_program_lane_and_tensor(arch):
    source, target = torch.arange(1000), torch.zeros(900, dtype=torch.int64)
    with pytest.raises(KernelFault) as caught:
        copy[(8,)](source, target, 1000, BLOCK=128)
    fault = caught.value
    assert fault.problem == "out-of-bounds"
    assert fault.kernel == "copy"
    assert os.path.basename(fault.file) == os.path.basename(__file__)
    assert fault.line == _line_of(copy, "tl.store")
    assert fault.program_id == (7, 0, 0)
    # The first lane past the end: 900 is element 4 of program 7, two waves of one element a lane.
    assert (fault.wave, fault.lane) == (0, 4)
    assert (fault.tensor, fault.offset) == ("target", 8 * 900)
    sentence = str(fault)
    assert f"{os.path.basename(__file__)}:{fault.line}" in sentence
    assert "offset 7200 of 'target', which has 7200 bytes" in sentence
    assert fault.report.startswith("out-of-bounds")
    assert f"{__file__}:{fault.line}" in fault.report


def test_a_store_before_the_begin_that_hardware_drops_is_reported_all_the_same(arch):
    indices = torch.full((64,), -1, dtype=torch.int32)
    target = torch.zeros(10, dtype=torch.int32)
    with pytest.raises(KernelFault) as caught:
        scatter[(1,)](indices, target, BLOCK=64)
    assert caught.value.problem == "hidden-out-of-bounds"
    assert (caught.value.tensor, caught.value.offset) == ("target", -4)
    assert not target.any()


def test_a_view_may_be_left_but_not_its_storage(arch):
    storage = torch.zeros(100, dtype=torch.int32)
    view = storage[50:60]
    scatter[(1,)](torch.full((64,), 49, dtype=torch.int32), view, BLOCK=64)
    assert storage[99] != 0
    with pytest.raises(KernelFault) as caught:
        scatter[(1,)](torch.full((64,), 50, dtype=torch.int32), view, BLOCK=64)
    assert (caught.value.tensor, caught.value.offset) == ("target", 400)


def test_with_a_fence_an_index_into_another_tensor_is_a_fault(arch):
    target, indices = sorted((torch.zeros(64, dtype=torch.int32) for _ in range(2)),
                             key=lambda tensor: tensor.data_ptr())
    indices[:] = (indices.data_ptr() - target.data_ptr()) // 4
    reached = indices.clone()
    scatter[(1,)](indices, target, BLOCK=64)  # lands in `indices`, and no check sees it
    assert not torch.equal(indices, reached)
    with mla_testbed.triton.options(fence=1 << 24), pytest.raises(KernelFault) as caught:
        scatter[(1,)](reached, target, BLOCK=64)
    assert caught.value.tensor == "target"


def test_with_a_fence_results_come_back_and_shared_storages_stay_shared(arch):
    storage = torch.arange(2000)
    with mla_testbed.triton.options(fence=4096):
        copy[(8,)](storage[:1000], storage[1000:], 1000, BLOCK=128)
    assert torch.equal(storage[1000:], torch.arange(1000))


def test_a_null_pointer_is_a_fault(arch):
    with pytest.raises(KernelFault, match="null pointer"):
        copy[(1,)](torch.empty(0, dtype=torch.int64), torch.zeros(8, dtype=torch.int64), 8, BLOCK=8)


def _hidden(value):
    """Memory that no torch tensor of this process has, with its owner."""
    owner = (ctypes.c_int32 * 1)(value)
    return owner, ctypes.addressof(owner)


def test_memory_that_no_tensor_has_is_a_fault_which_names_register(arch):
    owner, address = _hidden(42)
    out = torch.zeros(1, dtype=torch.int32)
    with pytest.raises(KernelFault, match=r"out-of-bounds.*(\n.*)*mla_testbed.triton.register\("):
        through_a_table[(1,)](torch.tensor([address]), out)
    named = torch.frombuffer(owner, dtype=torch.int32)
    table = torch.tensor([address, 1])  # 1 is no address: the table is not followed
    with pytest.raises(KernelFault, match="out-of-bounds"):
        through_a_table[(1,)](table, out)
    mla_testbed.triton.register(named, "hidden")
    try:
        through_a_table[(1,)](table, out)
    finally:
        mla_testbed.triton.unregister(named)
    assert out.item() == 42


def test_tensors_that_a_table_of_addresses_names_are_reached(arch):
    parts = [torch.full((3 + n,), n, dtype=torch.int32) for n in range(4)]
    out = torch.full((4,), -1, dtype=torch.int32)
    addresses = torch.tensor([part.data_ptr() for part in parts] + [0])
    through_a_table[(4,)](addresses, out)
    assert out.tolist() == [0, 1, 2, 3]
    with pytest.raises(KernelFault) as caught:
        past_the_targets[(4,)](addresses, out)
    assert (caught.value.tensor, caught.value.offset) == ("target of addresses[0]", 12)
    with pytest.raises(KernelFault, match=r"null pointer"):
        through_a_table[(5,)](addresses, out)


def test_tables_of_a_world_name_tensors_that_pythons_collector_does_not_show(arch):
    with world.entered(world.machine(arch)):
        parts = [torch.full((3,), n, dtype=torch.int32, device="cuda") for n in range(2)]
        out = torch.full((2,), -1, dtype=torch.int32, device="cuda")
        addresses = torch.tensor([part.data_ptr() for part in parts], device="cuda")
        gc.freeze()  # as engines do after their start
        try:
            through_a_table[(2,)](addresses, out)
        finally:
            gc.unfreeze()
        assert out.tolist() == [0, 1]
        host = torch.full((3,), 7, dtype=torch.int32)
        addresses[1] = host.data_ptr()
        with pytest.raises(KernelFault):  # memory of the host
            through_a_table[(2,)](addresses, out)


@pytest.mark.parametrize(("numbers", "found"), [
    ([0, 1 << 40, 0, 1 << 20], [(1, 1 << 40), (3, 1 << 20)]),
    ([1 << 40, (1 << 20) - 1], []),
    ([1 << 40, 1 << 47], []),
    ([1 << 40] * 4097, []),
    ([], []),
], ids=["addresses", "an index", "too large", "too long", "empty"])
def test_a_table_of_addresses_has_nothing_else_but_zeros(numbers, found):
    assert addresses_in(torch.tensor(numbers, dtype=torch.int64), "x") == found


def test_an_assertion_passes_where_it_holds_and_is_a_fault_where_not(arch):
    checked[(1,)](torch.ones(1), debug=True)
    with pytest.raises(KernelFault, match="a tl.device_assert that does not hold") as caught:
        checked[(1,)](torch.zeros(1), debug=True)
    assert caught.value.line == _line_of(checked, "tl.device_assert")


@triton.jit
def checked_twice(x):
    tl.device_assert(tl.load(x) > 0, "positive")
    tl.device_assert(tl.load(x) < 9, "small")


def test_the_line_of_the_assertion_that_does_not_hold_is_named_or_one_of_two(arch):
    lines, first = inspect.getsourcelines(checked_twice.fn)
    at = [first + n for n, line in enumerate(lines) if "device_assert" in line]
    with pytest.raises(KernelFault, match="does not hold") as caught:
        checked_twice[(1,)](torch.full((1,), 9.0), debug=True)
    assert caught.value.line in (0, at[1])
    own = f"{os.path.basename(__file__)}:"
    assert f"{own}{at[1]}" in str(caught.value) or f"{own}{at[0]} or {at[1]}" in str(caught.value)


def test_a_kernel_without_source_has_no_lines_that_ask_the_host():
    assert host_lines(None) == host_lines(eval("lambda x: x")) == ("", ())  # noqa: S307


def test_a_kernel_that_never_ends_is_ended_by_the_instruction_limit(arch):
    limited = mla_testbed.triton.options(instruction_limit=100_000)
    with limited, pytest.raises(KernelFault) as caught:
        endless[(1,)](torch.zeros(1, dtype=torch.int32))
    assert caught.value.problem == "instruction-limit"
    assert "options(instruction_limit=N) or MLA_TESTBED_INSTRUCTION_LIMIT" in str(caught.value)


def test_options_take_away_the_instruction_limit_of_the_environment(arch, monkeypatch):
    source, target = torch.ones(100), torch.zeros(100)
    monkeypatch.setenv("MLA_TESTBED_INSTRUCTION_LIMIT", "5")
    with pytest.raises(KernelFault, match="instruction-limit"):
        copy[(1,)](source, target, 100, BLOCK=128)
    with mla_testbed.triton.options(instruction_limit=0):
        copy[(1,)](source, target, 100, BLOCK=128)
    assert torch.equal(source, target)


def test_an_instruction_limit_that_is_no_number_is_refused(arch, monkeypatch):
    monkeypatch.setenv("MLA_TESTBED_INSTRUCTION_LIMIT", "-1")
    with pytest.raises(mla_testbed.UsageError, match="MLA_TESTBED_INSTRUCTION_LIMIT is '-1'"):
        copy[(1,)](torch.ones(100), torch.zeros(100), 100, BLOCK=128)


def test_a_fault_leaves_the_next_launch_alone(arch):
    source = torch.arange(64)
    with pytest.raises(KernelFault):
        copy[(1,)](source, torch.zeros(3, dtype=torch.int64), 64, BLOCK=64)
    target = torch.zeros(64, dtype=torch.int64)
    copy[(1,)](source, target, 64, BLOCK=64)
    assert torch.equal(source, target)
    report = mla_testbed.triton.last_report()
    assert report is not None
    assert report.clean
    assert report.statistics.workgroups == 1


def test_a_tensor_on_no_host_memory_is_refused_by_its_name(arch):
    with pytest.raises(mla_testbed.TensorError, match="'source' lies on 'meta'"):
        copy[(1,)](torch.zeros(8, device="meta"), torch.zeros(8), 8, BLOCK=8)
