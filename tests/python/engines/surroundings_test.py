"""What an engine finds around it: operations that it registers, amdsmi, AITER's wrappers."""

import inspect

import pytest

torch = pytest.importorskip("torch", reason="a world is CPU-only torch: pip install torch")

from mla_testbed import mla_capture, world  # noqa: E402
from mla_testbed.engines import Machine, plain, surroundings  # noqa: E402
from mla_testbed.engines.fa import served  # noqa: E402
from mla_testbed.world.operations import inside_operations  # noqa: E402


@pytest.fixture
def operations(monkeypatch):
    """A library of operations whose bodies run inside of a world."""
    monkeypatch.setattr(torch.library.Library, "impl", torch.library.Library.impl)
    with world.entered(world.machine("gfx942")) as entered:
        inside_operations(entered)
        library = torch.library.Library("mla_testbed_test", "FRAGMENT")
        yield library
        library._destroy()


def test_what_an_operation_of_python_allocates_is_on_the_device(operations):
    seen = []

    def body(x):
        seen.append(world.on_device((x * 2).contiguous()))
        return x + 1

    operations.define("plus(Tensor x) -> Tensor")
    operations.impl("plus", body, "CPU")
    out = torch.ops.mla_testbed_test.plus(torch.zeros(3, device="cuda"))
    assert seen == [True]
    assert out.tolist() == [1, 1, 1]


def test_an_operation_of_the_device_runs_on_what_the_world_has_there(operations):
    operations.define("twice(Tensor x) -> Tensor")
    operations.define("both(Tensor x) -> Tensor")
    operations.impl("twice", lambda x: x * 2, "CUDA")
    operations.impl("both", lambda x: x + 1, "CPU")
    operations.impl("both", lambda x: x + 2, "CUDA")
    ones = torch.ones(2, device="cuda")
    assert torch.ops.mla_testbed_test.twice(ones).tolist() == [2, 2]
    assert torch.ops.mla_testbed_test.both(ones).tolist() == [2, 2]  # its own for the CPU stays


def test_a_world_knows_which_list_of_stage_1_is_an_address_alone(operations):
    assert world.active().state.addresses == {
        "aiter::mla_decode_stage1_asm_fwd": ("kv_page_indices",)}


def test_a_graph_records_such_an_operation_once(operations):
    operations.define("add_one(Tensor(a!) x) -> ()")
    operations.impl("add_one", lambda x: (x.add_(1), None)[1], "CPU")
    x = torch.zeros(2, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.ops.mla_testbed_test.add_one(x)
    assert x.tolist() == [0, 0]
    graph.replay()
    assert x.tolist() == [1, 1]


def captured(namespace_of):
    """Calls of an operation's body, and what it left, after one capture and two replays; the body
    reads a number that Python holds."""
    held, calls = {"value": 1}, []

    def body(x):
        calls.append(1)
        x.add_(held["value"])

    namespace_of.define("add_held(Tensor(a!) x) -> ()")
    namespace_of.impl("add_held", body, "CPU")
    x = torch.zeros(2, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        getattr(torch.ops, namespace_of.ns).add_held(x)
    held["value"] = 100
    graph.replay()
    graph.replay()
    return len(calls), x.tolist()


def test_a_replay_repeats_what_an_engines_operation_did_and_not_its_python(operations):
    assert captured(operations) == (1, [2, 2])


def test_a_replay_runs_an_operation_of_aiter_as_a_whole(operations):
    library = torch.library.Library("aiter", "FRAGMENT")
    try:
        assert captured(library) == (3, [200, 200])
    finally:
        library._destroy()


def test_what_an_engines_operation_returns_is_where_a_replay_leaves_it(operations):
    operations.define("twice(Tensor x) -> Tensor")
    operations.impl("twice", lambda x: x * 2, "CPU")
    x = torch.ones(2, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = torch.ops.mla_testbed_test.twice(x)
    x.fill_(3)
    graph.replay()
    assert y.tolist() == [6, 6]


def test_amdsmi_answers_for_the_gpu_of_the_world():
    made = surroundings.amdsmi(world.machine("gfx950"))
    assert made.amdsmi_get_processor_handles() == [0]
    assert made.amdsmi_get_gpu_asic_info(0)["target_graphics_version"] == "gfx950"


def test_a_wrapper_that_takes_anything_has_the_parameters_that_torch_knows(operations):
    library = torch.library.Library("aiter", "FRAGMENT")
    library.define("get_it_for_a_test(Tensor lists, int heads, bool causal=True) -> ()")
    seen = []
    wrapped = mla_capture.observed(lambda *args, **kwargs: None, seen.append,
                                   name="get_it_for_a_test")
    wrapped("lists", heads=16)
    assert seen == [{"lists": "lists", "heads": 16, "causal": True}]
    again = mla_capture.observed(wrapped, seen.append)  # a second installation
    again("lists", 8)
    assert seen[-1]["heads"] == 8
    library._destroy()


def test_options_that_an_adapter_does_not_know_are_refused():
    known = {"dcp": ("1", "2")}
    assert Machine("gfx942", 304).option(known) == {"dcp": "1"}
    assert Machine("gfx942", 304, options=(("dcp", "2"),)).option(known) == {"dcp": "2"}
    for name, value in (("dcp", "3"), ("tp", "1")):
        with pytest.raises(ValueError, match=rf"option {name}={value} is unknown; .* dcp=1\|2"):
            Machine("gfx942", 304, options=((name, value),)).option(known)


def test_a_tree_of_aiter_without_code_objects_is_refused_by_name(tmp_path):
    missing = "hsa/gfx950/mla/mla_asm.csv"
    with pytest.raises(ImportError, match=rf"'{tmp_path}', which has no {missing}"):
        surroundings.whole(str(tmp_path), "gfx950")
    manifest = tmp_path / "hsa" / "gfx950" / "mla" / "mla_asm.csv"
    manifest.parent.mkdir(parents=True)
    manifest.touch()
    surroundings.whole(str(tmp_path), "gfx950")
    with pytest.raises(ImportError, match="hsa/gfx942"):
        surroundings.whole(str(tmp_path), "gfx942")


def test_each_call_of_attention_that_stands_in_for_aiters_is_counted_by_its_name():
    before = plain.used["stand_in"]
    called = served._served("stand_in", inspect.signature(lambda q: q), lambda a: a["q"] + 1)
    assert called(q=3) == 4
    with pytest.raises(TypeError, match="of this AITER"):
        called(k=3)
    assert plain.used["stand_in"] == before + 1
