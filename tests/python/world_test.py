"""torch as a machine with one GPU."""

import pytest

torch = pytest.importorskip("torch", reason="the world needs torch, which is not installed")

from mla_testbed import world  # noqa: E402
from mla_testbed.world import ahead  # noqa: E402


@pytest.fixture
def gfx942():
    with world.entered(world.machine("gfx942")) as entered:
        yield entered


@pytest.fixture
def late():
    with world.entered(world.machine("gfx942", late_copies=True)) as entered:
        yield entered


def test_torch_is_what_it_was_after_a_world():
    before = (torch.empty, torch.Tensor.to, torch.cuda.is_available, torch.version.hip)
    with world.entered(world.machine("gfx942")):
        tensor = torch.empty(2, device="cuda")
        assert torch.cuda.is_available()
    assert before == (torch.empty, torch.Tensor.to, torch.cuda.is_available, torch.version.hip)
    assert not torch.cuda.is_available()
    assert tensor.device.type == "cpu"
    assert torch.empty(1).device.type == "cpu"


def test_a_second_world_is_refused(gfx942):
    with pytest.raises(RuntimeError, match="a world of gfx942 is entered already"):
        world.World(world.machine("gfx950"))


@pytest.mark.parametrize(("arch", "units"), [("gfx942", 304), ("gfx950", 256)])
def test_the_device_has_the_compute_units_of_its_architecture(arch, units):
    with world.entered(world.machine(arch)):
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        assert properties.multi_processor_count == units
        assert properties.gcnArchName.startswith(arch)
        assert torch.cuda.device_count() == 1


@pytest.mark.parametrize(("arguments", "sentence"), [
    (("gfx90a",), "architecture 'gfx90a' is unknown"),
    (("gfx942", 0), "0 compute units"),
])
def test_a_machine_that_is_unknown_is_refused_by_its_value(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        world.machine(*arguments)


def test_a_second_gpu_does_not_exist(gfx942):
    with pytest.raises(RuntimeError, match="invalid device ordinal: device cuda:1"):
        torch.empty(1, device="cuda:1")


MAKERS = {
    "empty": lambda: torch.empty(2, 3, device="cuda"),
    "tensor": lambda: torch.tensor([1, 2], device="cuda:0"),
    "full by torch.device": lambda: torch.full((2,), 7, device=torch.device("cuda")),
    "arange on an index": lambda: torch.arange(4, device=0),
    "randn with a generator": lambda: torch.randn(
        3, device="cuda", generator=torch.Generator(device="cuda").manual_seed(1)),
    "empty_like": lambda: torch.empty_like(torch.zeros(2, device="cuda")),
    "new_tensor": lambda: torch.zeros(2, device="cuda").new_tensor([1, 2]),
    "new_zeros": lambda: torch.zeros(2, device="cuda").new_zeros(3),
    "to": lambda: torch.zeros(2).to("cuda"),
    "cuda": lambda: torch.zeros(2).cuda(),
    "to of another tensor": lambda: torch.zeros(2).to(torch.zeros(1, device="cuda")),
    "view": lambda: torch.zeros(4, device="cuda").view(2, 2)[1:],
    "sum": lambda: torch.zeros(4, device="cuda") + 1,
    "cast": lambda: torch.zeros(4, device="cuda").float().to(torch.bfloat16),
    "cat": lambda: torch.cat([torch.zeros(2, device="cuda"), torch.ones(1, device="cuda")]),
    "einsum": lambda: torch.einsum(
        "ij,jk->ik", torch.ones(2, 3, device="cuda"), torch.ones(3, 2, device="cuda")),
    "bytes of fp8": lambda: torch.zeros(4, device="cuda").to(torch.float8_e4m3fnuz).view(
        torch.uint8),
    "deep copy": lambda: __import__("copy").deepcopy(torch.zeros(2, device="cuda")),
    "indexed by a host tensor": lambda: torch.zeros(4, device="cuda")[torch.tensor([0, 2])],
}


@pytest.mark.parametrize("maker", MAKERS)
def test_a_tensor_made_on_the_device_is_there(gfx942, maker):
    tensor = MAKERS[maker]()
    assert tensor.device == torch.device("cuda", 0)
    assert tensor.is_cuda
    assert tensor.get_device() == 0


HOST_MAKERS = {
    "zeros": lambda: torch.zeros(2),
    "cpu": lambda: torch.zeros(2, device="cuda").cpu(),
    "to": lambda: torch.zeros(2, device="cuda").to("cpu", torch.float64),
    "empty_like on the host": lambda: torch.empty_like(
        torch.zeros(2, device="cuda"), device="cpu"),
    "sum": lambda: torch.zeros(2) + 1,
    "new_tensor of the host": lambda: torch.zeros(2).new_tensor([1, 2]),
    "new_tensor onto the host": lambda: torch.zeros(2, device="cuda").new_tensor([1], device="cpu"),
}


@pytest.mark.parametrize("maker", HOST_MAKERS)
def test_a_tensor_of_the_host_is_not_on_the_device(gfx942, maker):
    tensor = HOST_MAKERS[maker]()
    assert tensor.device.type == "cpu"
    assert not tensor.is_cuda
    assert tensor.get_device() == -1


def test_a_default_device_is_where_factories_make_tensors(gfx942):
    torch.set_default_device("cuda")
    assert torch.zeros(2).is_cuda
    assert torch.tensor([1.0]).is_cuda
    assert not torch.zeros(2, device="cpu").is_cuda
    torch.set_default_device(None)
    assert not torch.zeros(2).is_cuda


def test_a_copy_between_devices_never_shares_memory(gfx942):
    host = torch.zeros(2)
    there = host.to("cuda")
    host.fill_(1)
    back = there.cpu()
    there.fill_(2)
    assert there.tolist() == [2, 2]
    assert back.tolist() == [0, 0]


def test_tensors_of_two_devices_do_not_meet(gfx942):
    with pytest.raises(RuntimeError, match=r"at least two devices, cuda:0 and cpu"):
        torch.zeros(2, device="cuda") + torch.zeros(2)
    assert (torch.zeros(2, device="cuda") + torch.tensor(1.0)).tolist() == [1, 1]


def test_a_device_tensor_is_no_numpy_array(gfx942):
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        torch.zeros(2, device="cuda").numpy()


def test_a_copy_from_pinned_memory_reads_it_late(late):
    pinned = torch.zeros(2).pin_memory()
    assert pinned.is_pinned()
    there = torch.empty(2, device="cuda")
    there.copy_(pinned, non_blocking=True)
    pinned.fill_(7)  # too early
    assert there.tolist() == [7, 7]


def test_a_copy_has_happened_after_the_host_waited(late):
    pinned = torch.zeros(2, pin_memory=True)
    there = pinned.to("cuda", non_blocking=True)
    event = torch.cuda.Event()
    event.record()
    event.synchronize()
    pinned.fill_(7)
    assert there.tolist() == [0, 0]


def test_a_copy_from_pageable_memory_is_never_late(late):
    pageable = torch.zeros(2)
    there = pageable.to("cuda", non_blocking=True)
    pageable.fill_(7)
    assert there.tolist() == [0, 0]


def test_a_copy_to_the_host_arrives_when_the_host_waits(late):
    pinned = torch.full((2,), -1.0, pin_memory=True)
    there = torch.ones(2, device="cuda")
    pinned.copy_(there, non_blocking=True)
    there.fill_(5)  # after the copy in the stream
    assert pinned.tolist() == [-1, -1]
    torch.cuda.synchronize()
    assert pinned.tolist() == [1, 1]


def test_a_late_copy_into_an_inference_tensor_happens_whoever_waits(late):
    pinned = torch.ones(2, pin_memory=True)
    with torch.inference_mode():
        there = torch.empty(2, device="cuda")
        there.copy_(pinned, non_blocking=True)
    torch.cuda.synchronize()
    assert there.tolist() == [1, 1]


def staged(steps, wait):
    """The early writes of a host that copies each step from one pinned buffer."""
    pinned = torch.zeros(4, dtype=torch.int32, pin_memory=True)
    there = [torch.zeros(4, dtype=torch.int32, device="cuda") for _ in range(steps)]
    for step in range(steps):
        pinned.numpy()[:] = step + 1
        there[step].copy_(pinned, non_blocking=True)
        there[step] += 1  # device work: the copy itself has happened before the next step
        wait()
    torch.cuda.synchronize()
    return world.active().early_writes()


def test_one_staging_buffer_for_two_steps_is_an_early_write_of_a_host_that_is_ahead(late):
    found = staged(2, lambda: None)
    assert len(found) == 1
    assert "pinned memory of shape [4] was written before the device had read it" in found[0]
    assert "world_test.py:" in found[0]


def test_a_host_that_waits_between_two_steps_writes_nothing_early(late):
    assert staged(3, torch.cuda.synchronize) == []


def test_an_event_covers_the_copies_before_it_and_no_later_ones(late):
    first, second = (torch.zeros(2, pin_memory=True) for _ in range(2))
    first.to("cuda", non_blocking=True)
    event = torch.cuda.Event()
    event.record()
    second.to("cuda", non_blocking=True)
    event.synchronize()
    first.numpy()[:] = 1
    assert late.early_writes() == []
    second.numpy()[:] = 1
    torch.cuda.synchronize()
    assert len(late.early_writes()) == 1


def test_what_stands_for_a_kernel_looks_at_values_and_the_host_does_not_wait(late):
    pinned = torch.ones(2, pin_memory=True)
    there = torch.zeros(2, device="cuda")
    there.copy_(pinned, non_blocking=True)
    with late.kernel():
        assert there.sum().item() == 2
        assert there.tolist() == [1, 1]
    late.launch(there.tolist, [there])
    pinned.numpy()[:] = 5
    torch.cuda.synchronize()
    assert len(late.early_writes()) == 1
    there.copy_(pinned, non_blocking=True)
    assert there.sum().item() == 10
    pinned.numpy()[:] = 6
    torch.cuda.synchronize()
    assert len(late.early_writes()) == 1


def test_one_element_of_any_stride_may_be_copied_by_a_host_that_is_ahead(late):
    pinned = torch.zeros(2, dtype=torch.int32, pin_memory=True)
    one = pinned.as_strided((1,), (0,))
    there = torch.empty(1, dtype=torch.int32, device="cuda")
    there.copy_(one, non_blocking=True)
    pinned.numpy()[0] = 5
    torch.cuda.synchronize()
    assert len(late.early_writes()) == 1


def test_a_host_that_is_ahead_by_the_bound_of_the_queue_waits(late):
    pinned = torch.zeros(1, pin_memory=True)
    there = torch.zeros(1, device="cuda")
    for _ in range(ahead.BOUND + 1):
        there.copy_(pinned, non_blocking=True)
    pinned.fill_(1)
    torch.cuda.synchronize()
    assert len(late.early_writes()) == ahead.BOUND


def test_without_late_copies_every_copy_happens_at_once(gfx942):
    pinned = torch.zeros(2, pin_memory=True)
    there = pinned.to("cuda", non_blocking=True)
    pinned.fill_(7)
    assert there.tolist() == [0, 0]


def test_a_capture_runs_nothing_and_a_replay_everything(gfx942):
    x = torch.ones(2, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        assert torch.cuda.is_current_stream_capturing()
        y = x * 2
        x += 1
    assert x.tolist() == [1, 1]
    assert y.isnan().all()
    graph.replay()
    assert (x.tolist(), y.tolist()) == ([2, 2], [2, 2])
    x.fill_(10)
    graph.replay()
    assert (x.tolist(), y.tolist()) == ([11, 11], [20, 20])


def test_a_graph_of_inference_tensors_is_replayed_whoever_replays(gfx942):
    graph = torch.cuda.CUDAGraph()
    with torch.inference_mode():
        x = torch.ones(2, device="cuda")
        with torch.cuda.graph(graph):
            x += 1
    graph.replay()
    assert x.tolist() == [2, 2]


def test_a_replay_reads_pinned_memory_as_it_is_then(gfx942):
    pinned = torch.zeros(2, pin_memory=True)
    there = torch.zeros(2, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        there.copy_(pinned, non_blocking=True)
    pinned.fill_(3)
    graph.replay()
    assert there.tolist() == [3, 3]


def test_the_host_cannot_wait_for_a_stream_that_is_captured(gfx942):
    x = torch.ones(2, device="cuda")
    with pytest.raises(RuntimeError, match="not permitted when stream is capturing"), \
            torch.cuda.graph(torch.cuda.CUDAGraph()):
        x.sum().item()
    assert not torch.cuda.is_current_stream_capturing()


def test_a_launch_is_recorded_with_a_graph(gfx942):
    x = torch.zeros(2, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        gfx942.launch(lambda: x.add_(1), [x])
    assert x.tolist() == [0, 0]
    graph.replay()
    assert x.tolist() == [1, 1]


def test_the_accelerator_of_torch_is_the_gpu_of_the_world(gfx942):
    assert torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    assert (torch.accelerator.device_count(), torch.accelerator.current_device_index()) == (1, 0)
    torch.accelerator.empty_cache()
    torch.accelerator.empty_host_cache()
    torch.accelerator.synchronize()
    assert torch.accelerator.memory_allocated() == 0


def test_the_device_and_the_allocator_of_torch_are_asked_below_torch_cuda_too(gfx942):
    assert torch._C._cuda_getDevice() == 0
    assert torch.cuda.memory.get_allocator_backend() == "native"


def test_memory_that_nobody_wrote_is_poison_on_request_and_only_on_the_device():
    with world.entered(world.machine("gfx942", poison=True)):
        for made in (torch.empty(3, 4, device="cuda"),
                     torch.empty_strided((2, 3), (5, 1), device="cuda"),
                     torch.empty_like(torch.zeros(2, device="cuda")),
                     torch.zeros(2, device="cuda").new_empty(7),
                     torch.empty(5, dtype=torch.bfloat16, device="cuda"),
                     torch.empty(2, dtype=torch.float8_e4m3fnuz, device="cuda").float()):
            assert torch.isnan(made.float().cpu()).all(), made.shape
        assert torch.empty(3, device="cuda").view(torch.int32).tolist() == [0x7FA5A5A5] * 3
        numbers = torch.empty(3, dtype=torch.int32, device="cuda")
        assert numbers.tolist() == [-0x5EADBEEF] * 3
        assert torch.zeros(3, device="cuda").tolist() == [0, 0, 0]
        assert world.on_device(numbers)
        torch.set_default_device("cuda")
        assert torch.isnan(torch.empty(2)).all()
        host = torch.empty(2, device="cpu")
        assert host.view(torch.int32).tolist() != [0x7FA5A5A5] * 2
    with world.entered(world.machine("gfx942")):
        plain = torch.empty(1000, device="cuda").view(torch.int32)
        assert (plain != 0x7FA5A5A5).any()


def test_a_queued_copy_keeps_its_source_whatever_stream_is_recorded():
    with world.entered(world.machine("gfx942", late_copies=True)):
        host = torch.empty(3, pin_memory=True)
        source = torch.arange(3.0, device="cuda")
        host.copy_(source, non_blocking=True)
        source.record_stream(torch.cuda.current_stream())
        del source
        torch.cuda.synchronize()
        assert host.tolist() == [0, 1, 2]
    with pytest.raises((RuntimeError, TypeError)):
        torch.zeros(1).record_stream(None)
