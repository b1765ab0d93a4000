"""Lists that a captured launch gets as an address alone."""

import pytest

torch = pytest.importorskip("torch", reason="the world needs torch, which is not installed")

from mla_testbed import world  # noqa: E402


@pytest.fixture
def gfx942():
    with world.entered(world.machine("gfx942")) as entered:
        yield entered


@pytest.fixture
def lengths():
    """What an operation with a list and a bound of it got, call by call."""
    found = []
    library = torch.library.Library("mla_testbed_listed", "FRAGMENT")
    library.define("taken(Tensor pages, Tensor bounds, Tensor(a!) out) -> ()")
    library.impl("taken", lambda pages, bounds, out: found.append((len(pages), len(bounds))),
                 "CompositeExplicitAutograd")
    yield found
    library._destroy()


@pytest.mark.parametrize(("named", "replayed"), [(("pages",), (9, 2)), ((), (4, 2))])
def test_a_replay_gets_a_list_of_addresses_to_the_end_of_its_memory_and_no_other(
        gfx942, lengths, named, replayed):
    gfx942.state.addresses["mla_testbed_listed::taken"] = named
    pages = torch.zeros(10, dtype=torch.int32, device="cuda")
    bounds, out = torch.zeros(5, device="cuda"), torch.zeros(1, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.ops.mla_testbed_listed.taken(pages[1:5], bounds=bounds[:2], out=out)
    graph.replay()
    assert lengths == [(4, 2), replayed]


def test_a_call_outside_of_a_graph_keeps_the_length_of_its_list(gfx942, lengths):
    gfx942.state.addresses["mla_testbed_listed::taken"] = ("pages",)
    pages, other = torch.zeros(10, device="cuda"), torch.zeros(2, device="cuda")
    torch.ops.mla_testbed_listed.taken(pages[:4], other, other)
    assert lengths == [(4, 2)]
