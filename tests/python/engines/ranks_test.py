"""Which keys each of several ranks holds, and collectives of ranks in one process."""

import numpy as np
import pytest
from mla_testbed.engines.ranks.shard import Shard
from mla_testbed.engines.step import steps_of
from mla_testbed.errors import FaultError

torch = pytest.importorskip("torch")

from mla_testbed.engines.vllm.ranks_group import Exchange, Group  # noqa: E402 it imports torch


@pytest.mark.parametrize("world", [2, 4, 8])
@pytest.mark.parametrize("interleave", [1, 4, 16])
def test_a_rank_holds_what_vllms_formula_says_and_all_hold_each_key_once(world, interleave):
    deal = Shard(world, interleave)
    for keys in {0, 1, world - 1, world, world + 1, world * interleave - 1, 16 * world,
                 16 * world + 1, 333}:
        base = keys // interleave // world * interleave
        lengths = [base + min(max(keys - base * world - rank * interleave, 0), interleave)
                   for rank in range(world)]
        assert [deal.length(keys, rank) for rank in range(world)] == lengths
        assert sum(lengths) == keys


@pytest.mark.parametrize("deal", [Shard(2), Shard(4, 4), Shard(8, 16)])
def test_slots_of_all_ranks_are_those_of_one_device_with_all_their_blocks(deal):
    (step,) = steps_of("mla1:1q4s1000_1q2s7;heads=16;block=16")
    whole = deal.whole(step)
    cache = np.arange(step.pool_blocks * 16 * deal.world)[:, None]
    for request in range(2):
        slots = whole.token_slots(request)
        owners = deal.owners(step.seq_lens[request])
        for rank in range(deal.world):
            share = deal.share(step, rank).token_slots(request)
            assert (deal.position_slots(step, share, rank) == slots[owners == rank]).all()
            assert (deal.cache(step, cache, rank)[share, 0] == slots[owners == rank]).all()


def test_a_row_sees_the_keys_of_a_rank_that_are_not_after_its_own():
    (step,) = steps_of("mla1:1q4s6;heads=16;block=16")
    assert Shard(2).seen(step, 0, 0).tolist() == [2, 2, 3, 3]
    assert Shard(2).seen(step, 0, 1).tolist() == [1, 2, 2, 3]


def _bodies(world, body):
    exchange = Exchange(world)
    groups = [Group(exchange, rank) for rank in range(world)]
    return exchange, [lambda group=group: body(group) for group in groups]


def test_collectives_give_each_rank_its_part_of_what_all_gave():
    def body(group):
        own = torch.arange(4.0).reshape(1, 4) + 10 * group.rank_in_group
        gathered = group.all_gather(own, dim=0)
        scattered = group.reduce_scatter(gathered * (1 + group.rank_in_group), dim=1)
        exchanged = torch.empty(2)
        group.all_to_all(exchanged, scattered[:, 0].contiguous())
        return gathered, scattered, exchanged

    exchange, bodies = _bodies(2, body)
    first, second = exchange.together(bodies)
    assert first[0].tolist() == second[0].tolist() == [[0, 1, 2, 3], [10, 11, 12, 13]]
    assert first[1].tolist() == [[0, 3], [30, 33]]
    assert second[1].tolist() == [[6, 9], [36, 39]]
    assert first[2].tolist() == [0, 6]
    assert second[2].tolist() == [30, 36]


def test_a_rank_that_calls_another_collective_or_none_is_a_fault():
    exchange, bodies = _bodies(2, lambda group: group.all_gather(
        torch.zeros(2 + group.rank_in_group), dim=0))
    with pytest.raises(FaultError, match=r"rank 0 calls all_gather along 0 with \(2,\)"):
        exchange.together(bodies)
    exchange, bodies = _bodies(2, lambda group: group.rank_in_group or group.all_gather(
        torch.zeros(2), dim=0))
    with pytest.raises(FaultError, match=r"ranks \[1\] have returned"):
        exchange.together(bodies)


def test_a_gathered_dtype_of_a_byte_keeps_its_bits():
    exchange, bodies = _bodies(2, lambda group: group.all_gather(
        torch.tensor([group.rank_in_group + 0.5]).to(torch.float8_e4m3fn), dim=0))
    assert exchange.together(bodies)[1].float().tolist() == [0.5, 1.5]
