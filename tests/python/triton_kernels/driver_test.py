"""The driver as Triton sees it: targets, arguments, hooks, autotuning, versions."""

from __future__ import annotations

import sys
import types

import mla_testbed
import mla_testbed.triton
import pytest
import torch
import triton
import triton.language as tl
from mla_testbed import gfx, world
from mla_testbed.aiter import stage
from mla_testbed.triton import versions
from mla_testbed.triton.kernarg import Value, encoded, packed
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def scalars(out, a, b, c, flag, pair):
    tl.store(out, a.to(tl.float64) + b + c)
    tl.store(out + 1, flag.to(tl.float64))
    tl.store(out + 2, (pair[0] * 10 + pair[1]).to(tl.float64))


@triton.jit
def tile_sum(described, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    tile = described.load([ROWS, COLUMNS])
    tl.store(out + tl.arange(0, ROWS), tl.sum(tile, axis=1))


@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 1024})], key=["n"])
@triton.jit
def tuned(x, out, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


@triton.jit
def where_am_i(out):
    at = tl.program_id(0) + tl.num_programs(0) * (
        tl.program_id(1) + tl.num_programs(1) * tl.program_id(2))
    tl.store(out + at, tl.program_id(0) * 10000 + tl.program_id(1) * 100 + tl.program_id(2))


def test_scalars_of_every_width_and_tuples_arrive(arch):
    out = torch.zeros(3, dtype=torch.float64)
    scalars[(1,)](out, 7, 2**40 + 5, 0.5, True, (3, 9))
    assert out.tolist() == [2**40 + 12.5, 1.0, 39.0]


def test_a_tensor_descriptor_is_taken_apart(arch):
    x = torch.randn(64, 48)
    out = torch.empty(16)
    described = TensorDescriptor(x, x.shape, x.stride(), [16, 16])
    tile_sum[(1,)](described, out, ROWS=16, COLUMNS=16)
    assert torch.allclose(out, x[16:32, 16:32].sum(1), atol=1e-5)


def test_a_grid_of_three_axes_runs_every_program_once(arch):
    out = torch.full((2 * 3 * 4,), -1, dtype=torch.int32)
    where_am_i[(2, 3, 4)](out)
    expected = [x * 10000 + y * 100 + z for z in range(4) for y in range(3) for x in range(2)]
    assert out.tolist() == expected


def test_a_grid_without_programs_runs_nothing(arch):
    out = torch.full((1,), -1, dtype=torch.int32)
    where_am_i[(0,)](out)
    assert out.item() == -1


def test_the_autotuner_takes_the_configuration_with_the_least_work(arch):
    x, out = torch.arange(1024), torch.empty(1024, dtype=torch.int64)
    tuned[(1,)](x, out, 1024)
    assert torch.equal(out, x + 1)
    assert tuned.best_config.kwargs["BLOCK"] == 1024


def test_triton_sees_one_device_for_each_architecture(arch):
    target = triton.runtime.driver.active.get_current_target()
    assert (target.backend, target.arch, target.warp_size) == ("hip", arch, 64)
    assert triton.runtime.driver.active.get_active_torch_device() == torch.device("cpu")


@pytest.mark.parametrize(("programs", "left"), [(1, 0), (0, -1)])
def test_hooks_are_called_around_a_launch_also_around_one_without_programs(arch, programs, left):
    seen = []
    launcher = mla_testbed.triton.launcher.EmulatorLauncher(
        types.SimpleNamespace(signature={"out": "*i32"}),
        types.SimpleNamespace(launch_cooperative_grid=False, name="where_am_i",
                              tensordesc_meta=[], global_scratch_size=0, global_scratch_align=1,
                              profile_scratch_size=0, profile_scratch_align=1))
    out = torch.full((1,), -1, dtype=torch.int32)
    compiled = where_am_i.warmup(out, grid=(1,))
    compiled._init_handles()
    launcher(programs, 1, 1, 0, compiled.function, (4, 1, 0), "metadata",
             lambda m: seen.append(("enter", m)), lambda m: seen.append(("exit", m)), out)
    assert seen == [("enter", "metadata"), ("exit", "metadata")]
    assert out.item() == left


@pytest.mark.parametrize(("kind", "value", "expected"), [
    ("i1", True, "01"), ("i8", -1, "ff"), ("u16", 65535, "ffff"), ("i32", -2, "feffffff"),
    ("i64", 1 << 40, "0000000000010000"), ("fp16", 1.0, "003c"), ("bf16", 1.00390625, "803f"),
    ("fp32", 1e300, "0000807f"), ("fp64", 1.0, "000000000000f03f"), ("*fp32", None, "00" * 8),
    ("*i8", 0x1234, "3412000000000000"),
])
def test_a_value_is_encoded_as_its_type_says(kind, value, expected):
    assert encoded(Value("x", kind, value)).hex() == expected


def test_arguments_that_do_not_fit_the_code_object_are_refused():
    kernel = gfx.Kernel("k", 0, 0, 16, 0, 0, 0, 0, 0, 0, (gfx.Argument(0, 8, "global_buffer"),))
    with pytest.raises(mla_testbed.UnsupportedError, match="takes 1 arguments, the launch has 2"):
        packed(kernel, [Value("a", "*i8", None), Value("b", "i32", 1)])
    with pytest.raises(mla_testbed.UnsupportedError, match="'a' has type i32 of 4 bytes"):
        packed(kernel, [Value("a", "i32", 1)])
    with pytest.raises(mla_testbed.UsageError, match="'a' is str; expected a tensor"):
        packed(kernel, [Value("a", "*i8", "text")])


def test_without_triton_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton.runtime", None)
    with pytest.raises(mla_testbed.UnsupportedError, match="Triton is not installed: pip install"):
        mla_testbed.triton.activate("gfx942")


def test_host_tensors_are_taken_inside_and_after_a_stage_for_aiter():
    machine = world.machine("gfx950")
    out = torch.zeros(3, dtype=torch.float64)
    with stage.entered(machine):
        staged = triton.runtime.driver._active
        with mla_testbed.triton.emulated("gfx942"):
            scalars[(1,)](out, 1.5, 2.5, 3, True, (4, 5))
        assert triton.runtime.driver._active is staged
    with mla_testbed.triton.emulated("gfx942"):
        assert triton.runtime.driver._active is not staged
        scalars[(1,)](out, 1.5, 2.5, 3, True, (4, 5))
    assert out.tolist() == [7, 1, 45]


@pytest.mark.parametrize("version", ["3.6.0", "3.10.0", "4.0.0"])
def test_a_version_that_nobody_has_looked_at_is_refused(version):
    with pytest.raises(mla_testbed.UnsupportedError, match=f"Triton {version} is installed"):
        versions.adapter_for(version)


@pytest.mark.parametrize("minor", versions.KNOWN)
def test_every_known_version_has_an_adapter(minor):
    adapter = versions.adapter_for(minor + ".1+local")
    signature = {"x": "*fp32", "n": "i32", "BLOCK": "constexpr", "pair": ("i32", "constexpr")}
    values = adapter.arguments(signature, types.SimpleNamespace(tensordesc_meta=None),
                               ("tensor", 5, 64, (1, 2)))
    assert [(v.name, v.type, v.value) for v in values] == [
        ("x", "*fp32", "tensor"), ("n", "i32", 5), ("pair[0]", "i32", 1)]
