"""What a program asks the driver for before it chooses a grid: device properties, registers."""

from __future__ import annotations

import dataclasses
import importlib.resources
import re
import types

import mla_testbed
import mla_testbed.triton.driver
import pytest
import torch
import triton
import triton.language as tl
from triton.backends.amd.driver import HIPDriver

_EXPECTED = {
    "gfx942": {"max_shared_mem": 65536, "multiprocessor_count": 304, "sm_clock_rate": 2_100_000,
               "mem_clock_rate": 1_300_000},
    "gfx950": {"max_shared_mem": 163840, "multiprocessor_count": 256, "sm_clock_rate": 2_400_000,
               "mem_clock_rate": 2_000_000},
}


def _utils():
    return triton.runtime.driver.active.utils


def _device_named(index):
    return types.SimpleNamespace(index=index)  # a torch.device of a GPU, where torch has none


@triton.jit
def row_softmax(out, x, stride, rows, columns, BLOCK: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        at = tl.arange(0, BLOCK)
        values = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * stride + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@triton.jit
def spilling(x, out, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    left = tl.load(x + at[:, None] * SIZE + at[None, :])
    tl.store(out + at[:, None] * SIZE + at[None, :], tl.dot(left, left) + tl.trans(left))


def test_the_properties_are_those_of_the_product_except_for_cooperative_launches(arch):
    assert _utils().get_device_properties(None) == {
        **_EXPECTED[arch], "max_num_regs": 65536, "mem_bus_width": 8192, "warpSize": 64,
        "arch": f"{arch}:sramecc+:xnack-", "max_threads_per_sm": 2048, "cooperativeLaunch": 0}


def test_no_field_of_the_installed_driver_for_amd_is_missing(arch):
    source = importlib.resources.files("triton.backends.amd").joinpath("driver.c").read_text()
    call = re.search(r'Py_BuildValue\(\s*"\{(s:[^}]*)\}",(.*?)\);', source, re.DOTALL)
    assert call, "driver.c makes its properties in another way: read it again"
    fields = set(re.findall(r'"(\w+)"', call[2]))
    assert len(fields) == call[1].count("s:")
    assert set(_utils().get_device_properties(0)) == fields


def test_the_driver_has_every_method_of_the_installed_driver_for_amd(arch):
    asked = {name for name in dir(HIPDriver) if not name.startswith("_")}
    asked -= {"assemble_tensormap_to_arg"}  # for NVIDIA's descriptors, in the shared base class
    asked |= {"utils", "launcher_cls", "get_current_device", "set_current_device",
              "get_current_stream", "get_device_capability"}  # which its constructor makes
    driver = triton.runtime.driver.active
    assert len(asked) > 12
    assert {name for name in asked if not hasattr(driver, name)} == set()


def test_a_benchmark_gives_host_milliseconds_and_runs_the_kernel(arch):
    x = torch.ones(3, 64)
    out = torch.full_like(x, float("nan"))
    times = triton.testing.do_bench(
        lambda: row_softmax[(1,)](out, x, 64, 3, 64, BLOCK=64), warmup=1, rep=1, return_mode="all")
    assert all(0 < time < 10_000 for time in times)
    assert torch.allclose(out, torch.full_like(out, 1 / 64))


def test_the_interface_has_one_stream_and_two_devices(arch):
    interface = triton.runtime.driver.active.get_device_interface()
    assert (interface.device_count(), interface.is_available()) == (2, True)
    with interface.stream(interface.default_stream(0)):
        assert interface.current_stream() == interface.default_stream() == 0
    other = 1 - interface.current_device()
    with interface.device(other):
        assert interface.current_device() == other
    assert interface.current_device() == 1 - other


def test_a_device_is_named_by_its_number_by_a_torch_device_or_by_nothing(arch):
    def name(device):
        return _utils().get_device_properties(device)["arch"].split(":")[0]

    assert [name(0), name(1)] == ["gfx942", "gfx950"]
    assert [name(_device_named(0)), name(_device_named(1))] == ["gfx942", "gfx950"]
    assert [name(None), name(torch.device("cpu")), name(torch.device("cuda", 1))] == [
        arch, arch, "gfx950"]


@pytest.mark.parametrize("device", [2, -1, "cuda:0", 1.0])
def test_a_device_that_is_none_of_the_two_is_refused(arch, device):
    with pytest.raises(mla_testbed.UsageError, match=r"expected 0 \(gfx942\), 1 \(gfx950\)"):
        _utils().get_device_properties(device)


def test_a_grid_computed_from_properties_and_registers_covers_every_row(arch):
    # As Triton's tutorial on a fused softmax computes it for CDNA.
    x = torch.randn(37, 781, generator=torch.Generator().manual_seed(0))
    out = torch.full_like(x, float("nan"))
    device = triton.runtime.driver.active.get_active_torch_device()
    properties = _utils().get_device_properties(device.index)
    kernel = row_softmax.warmup(out, x, x.stride(0), 37, 781, BLOCK=1024, num_warps=8, grid=(1,))
    kernel._init_handles()
    waves = min(properties["max_num_regs"] // properties["warpSize"] // kernel.n_regs,
                properties["max_threads_per_sm"] // properties["warpSize"]) // 8
    groups = min(waves, properties["max_shared_mem"] // max(1, kernel.metadata.shared))
    programs = min(properties["multiprocessor_count"] * groups, 37)
    assert programs > 0
    row_softmax[(programs,)](out, x, x.stride(0), 37, 781, BLOCK=1024, num_warps=8)
    assert torch.allclose(out, torch.softmax(x, 1), atol=1e-6)


@pytest.mark.parametrize("warps", [1, 4])
def test_a_kernel_takes_as_many_threads_as_it_was_compiled_for(arch, warps):
    x = torch.zeros(16, 16)
    kernel = spilling.warmup(x, x, SIZE=16, num_warps=warps, grid=(1,))
    kernel._init_handles()
    assert kernel.n_max_threads == 64 * warps
    assert 0 < kernel.n_regs <= 512


def test_spills_are_the_dwords_of_scratch_of_a_lane(arch):
    x = torch.zeros(64, 64)
    kernel = spilling.warmup(x, x, SIZE=64, num_warps=1, grid=(1,))
    kernel._init_handles()
    loaded = dataclasses.replace(kernel.function.kernel, scratch_size=20, spilled_vgprs=3)
    module = types.SimpleNamespace(kernel=lambda name: loaded)
    device = types.SimpleNamespace(load=lambda code: module)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mla_testbed.triton.driver, "_device", lambda arch: device)
        _, _, registers, spills, threads = _utils().load_binary("spilling", b"", 0, 0)
    assert (registers, spills, threads) == (loaded.vgprs, 5, 64)
