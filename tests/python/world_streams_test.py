"""torch.cuda's streams and events in a world: one order of work, and handles that differ."""

import threading

import pytest

torch = pytest.importorskip("torch", reason="the world needs torch, which is not installed")

from mla_testbed import world  # noqa: E402


@pytest.fixture
def late():
    with world.entered(world.machine("gfx942", late_copies=True)) as entered:
        yield entered


def handle():
    return torch.cuda.current_stream().cuda_stream


def test_streams_and_events_of_any_device_are_those_of_the_gpu(late):
    side = torch.Stream(device=torch.device("cuda"))
    assert side == torch.cuda.current_stream()
    event = torch.Event("cuda", enable_timing=True)
    with side:
        event.record(side)
    pinned = torch.zeros(2, pin_memory=True)
    there = pinned.to("cuda", non_blocking=True)
    event.synchronize()
    pinned.fill_(7)
    assert there.tolist() == [0, 0]


def test_a_stream_context_can_be_entered_again(late):
    context = torch.cuda.stream(torch.cuda.Stream())
    for _ in range(2):
        with context:
            assert torch.zeros(1, device="cuda").item() == 0
    with torch.cuda.StreamContext(torch.cuda.Stream()):
        pass


def test_one_of_33_streams_has_another_handle_than_one_that_is_taken(late):
    taken = torch.cuda.Stream()
    drawn = [torch.cuda.Stream().cuda_stream for _ in range(32)]
    assert len(set(drawn)) == 32
    assert taken.cuda_stream == drawn[-1]
    assert 0 not in drawn


def test_the_current_stream_is_the_innermost_that_was_entered(late):
    outer, inner = torch.cuda.Stream(), torch.cuda.Stream()
    assert handle() == torch.cuda.default_stream().cuda_stream == 0
    with torch.cuda.stream(outer):
        assert handle() == outer.cuda_stream
        with inner:
            assert handle() == inner.cuda_stream
        with torch.cuda.stream(None):
            assert handle() == outer.cuda_stream
        assert handle() == outer.cuda_stream
    assert handle() == 0


def test_a_stream_that_is_set_stays_until_the_context_or_the_world_ends():
    with world.entered(world.machine("gfx942")):
        outer, chosen = torch.cuda.Stream(), torch.cuda.Stream()
        with torch.cuda.stream(outer):
            torch.cuda.set_stream(chosen)
            assert handle() == chosen.cuda_stream
        assert handle() == 0
        torch.cuda.set_stream(chosen)
        torch.cuda.set_stream(None)
        assert handle() == chosen.cuda_stream
    with world.entered(world.machine("gfx942")):
        assert handle() == 0


def test_another_thread_is_in_the_default_stream(late):
    seen = []
    with torch.cuda.stream(torch.cuda.Stream()):
        thread = threading.Thread(target=lambda: seen.append(handle()))
        thread.start()
        thread.join()
    assert seen == [0]
