"""The ranks of a scenario: processes that gloo connects, without an engine."""

import os
import pathlib
import signal
import time

import pytest

torch = pytest.importorskip("torch", reason="ranks need torch, which is not installed")

from mla_testbed import UsageError, world  # noqa: E402
from mla_testbed.engines.e2e import command, tree  # noqa: E402
from mla_testbed.engines.e2e.judged import Result  # noqa: E402
from mla_testbed.engines.e2e.scenario import Scenario  # noqa: E402
from mla_testbed.engines.e2e.traced import Served, Step  # noqa: E402
from mla_testbed.engines.e2e.written import Written  # noqa: E402

TWO = Scenario(requests=2, ranks=2)


def joined(rank):
    """torch.distributed, as an engine calls it."""
    torch.distributed.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{rank.port}", rank=rank.number, world_size=rank.of)
    torch.distributed.barrier()
    time.sleep(0.5)  # the other has joined too before this one may end
    rank.collectives.install()
    return torch.distributed


def served(body):
    """What a tree of two ranks found. body: called with torch.distributed, a rank, its result."""
    result = Result(str(TWO))

    def one(rank, own):
        own.idle = [rank.number]
        body(joined(rank), rank, own)

    tree.serve(TWO, result, one)
    return result


def test_two_ranks_are_one_result():
    def body(dist, rank, own):
        both = torch.full((3,), rank.number + 1.0)
        dist.all_reduce(both)
        own.tokens, own.equal = 2, int((both == 3).all()) + rank.number
        own.worst = {"key": 0.25 * (1 + rank.number)}

    found = served(body)
    assert (found.verdict, found.findings) == ("pass", [])
    assert (found.equal, found.tokens, found.worst) == (3, 4, {"key": 0.5})
    assert found.idle == [0, 1]


def test_a_graph_records_a_collective_of_the_device_and_calls_it_in_each_replay():
    def body(dist, rank, own):
        with world.entered(world.machine("gfx942")):
            mine = torch.full((2,), float(rank.number + 1), device="cuda")
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                dist.all_reduce(mine)
            values = [mine.tolist()]
            for _ in range(2):
                graph.replay()
                values.append(mine.tolist())
            # A capture changes nothing.
            if values != [[rank.number + 1.0] * 2, [3.0] * 2, [6.0] * 2]:
                own.found(str(values))

    assert served(body).findings == []


def test_bytes_of_float8_are_gathered():
    def body(dist, rank, own):
        mine = torch.full((2,), float(rank.number + 1)).to(torch.float8_e4m3fn)
        both = torch.empty(4, dtype=torch.float8_e4m3fn)
        dist.all_gather_into_tensor(both, mine)
        if both.float().tolist() != [1, 1, 2, 2]:
            own.found(str(both))

    assert served(body).findings == []


def test_ranks_that_gather_other_sizes_fail_with_the_call_of_each():
    def body(dist, rank, _):
        rank.collectives.step = 7
        dist.all_reduce(torch.ones(4 + rank.number))

    found = served(body)
    assert found.verdict == "fail"
    assert found.findings[1] == (
        "rank 1: ranks call different collectives of one group: rank 0 calls all_reduce([4] "
        "float32) in its step 7; rank 1 calls all_reduce([5] float32) in its step 7")


def test_a_rank_that_ends_without_a_collective_is_a_sentence_and_no_hang():
    def body(dist, rank, own):
        rank.collectives.step = 2
        if rank.number == 0:
            dist.all_reduce(torch.ones(4))

    found = served(body)
    assert (found.verdict, found.findings) == ("fail", [
        "rank 0: LeftError: left alone in all_reduce([4] float32) in its step 2: a rank that it "
        "waits for has ended"])


def test_a_rank_that_is_left_by_one_that_failed_says_nothing_about_the_engine():
    def body(dist, rank, own):
        if rank.number:
            raise ImportError("no such package")
        dist.all_reduce(torch.ones(4))

    found = served(body)
    assert found.verdict == "inconclusive"
    assert found.findings[1] == "rank 1: ImportError: no such package"


def test_ranks_that_wait_in_two_groups_are_a_sentence_and_no_hang(monkeypatch):
    monkeypatch.setattr(tree, "PATIENCE", 1.0)

    def body(dist, rank, own):
        other = dist.new_group([0, 1], backend="gloo")
        dist.all_reduce(torch.ones(4 + rank.number), group=None if rank.number else other)

    found = served(body)
    assert found.verdict == "fail"
    assert found.findings[0] == (
        "a collective that not all ranks reach: rank 0 waits in all_reduce([4] float32) before "
        "its first step; rank 1 waits in all_reduce([5] float32) before its first step")


def test_without_an_idle_step_nothing_passed():
    def body(dist, rank, own):
        own.idle = [0]

    found = served(body)
    assert found.verdict == "inconclusive"
    assert "no rank was without requests in a step" in found.findings[0]


def test_a_rank_without_a_result_is_inconclusive():
    def body(dist, rank, own):
        if rank.number:
            raise KeyError("gone")

    found = served(body)
    assert (found.verdict, found.findings) == (
        "inconclusive", ["the process of rank 1 ended without a result"])


def test_ranks_end_with_the_process_that_forked_them(tmp_path):
    def body(rank, own):
        (tmp_path / str(rank.number)).write_text(str(os.getpid()))
        time.sleep(60)

    parent = os.fork()
    if parent == 0:
        tree.serve(TWO, Result(""), body)
        os._exit(0)
    pids = []
    while len(pids) < 2 or not all(pids):
        pids = [path.read_text() for path in tmp_path.iterdir()]
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    time.sleep(1)
    # What is left of one is at most a name that its new parent has not asked for.
    alive = [pid for pid in pids if os.path.exists(f"/proc/{pid}") and
             "State:\tZ" not in pathlib.Path(f"/proc/{pid}/status").read_text()]
    assert alive == []


def stepped(changes, served=(), unused=(), share=(0, 1)):
    """What is wrong with a step that changes slots of a cache."""
    kept = Written(unused)
    kept.share = share
    cache = torch.zeros(8, 4, dtype=torch.bfloat16)
    step = Step(3, list(served), positions=torch.tensor([5, 6]) if served else None)
    kept.begins(step, [cache])
    cache[changes] = 1.0
    kept.begins(None, [cache])
    return kept.wrong(step, block=2)


def test_a_step_without_requests_writes_no_slot():
    assert stepped([]) == ""
    assert stepped([0]) == ("step 3: slots 0 of layer 0 changed; expected none, since no request "
                            "is served")
    assert stepped([0], unused=[0]) == ""


def test_a_step_writes_the_slots_of_its_rows_and_no_others():
    rows = [Served(0, 2, 0, (3, 1, 2, 0))]  # positions 5 and 6: slots 5 and 0
    assert stepped([0, 5], rows) == ""
    assert stepped([0, 4, 5], rows) == ("step 3: slots 4 of layer 0 changed; expected those of its "
                                        "rows alone")


def test_a_rank_that_shares_contexts_writes_its_positions_and_no_others():
    rows = [Served(0, 2, 0, (3, 1))]  # a block is four positions: 5 and 6 are the slots 2 and 3
    assert stepped([2], rows, share=(1, 2)) == ""
    assert stepped([3], rows, share=(0, 2)) == ""
    assert stepped([3], rows, share=(1, 2)) == ("step 3: slots 3 of layer 0 changed; expected "
                                                "those of its rows alone")


def test_smaller_scenarios_of_ranks_are_scenarios():
    found = [str(one) for one in command._candidates(Scenario(requests=4, ranks=2))]
    assert "e2e1:requests=2;ranks=2" in found  # and not one request, which a rank would lack
    assert "e2e1:requests=4" in found


@pytest.mark.parametrize("fields", [
    {"ranks": 2, "model": "llama"}, {"ranks": 2, "running": 2}, {"ranks": 3, "requests": 2},
    {"ranks": 2, "dcp": 2}, {"dcp": 2, "spec": "ngram", "draft": 2}, {"dcp": 2, "heads": 128}])
def test_ranks_that_are_not_served_are_refused_by_name(fields):
    with pytest.raises(UsageError, match="scenario field '(ranks|dcp)' is"):
        Scenario(**fields)
