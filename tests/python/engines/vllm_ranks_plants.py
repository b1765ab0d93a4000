"""vLLM's decode context parallelism with defects planted, one after the other; run by vLLM's
interpreter.

    python vllm_ranks_plants.py ARCH BACKEND

A plant changes what the unmodified builders returned, or a function that runner, builder, forward
or merge calls.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sys
from unittest import mock

GFX950, FP8 = ";arch=gfx950;block=16", ";dtype=fp8/fp8"
#: A row each, where the last request has a key on rank 0 alone; verification of 2 and of 4 rows;
#: the latter in a graph with padding.
ONE = f"mla1:2q1s131_1q1s1;heads=16{GFX950}"
TWO = "mla1:2q2s131;heads=32;arch=gfx942;block=128"
FOUR = f"mla1:2q4s131_1q4s6;heads=16{GFX950}"
WIDE = f"mla1:1q4s200;heads=64{GFX950}"
GRAPH = f"mla1:2q4s131+1q4s40;heads=16;pad=2{GFX950}"


@dataclasses.dataclass(frozen=True)
class Plant:
    """A defect: the case that is judged with it, the property that catches it, and what executes
    AITER's operations: this project's emulator, or AITER's code objects on the emulated GPU."""

    case: str
    caught: str
    backend: str = "cpu"


#: BUG-065 and BUG-066 are of AITER's round robin (docs/reference/bugs.md). The first ones are in
#: runner and builder, then those of the forward, then of the merge.
PLANTS = {
    "OneKeyMore": Plant(ONE, "P24"), "NextRank": Plant(ONE, "P24"),
    "FirstRankAlways": Plant(ONE, "P24"), "WrongInterleave": Plant(ONE, "P18"),
    "WritesEverywhere": Plant(ONE, "P18"), "RankOffsetOfRows": Plant(TWO, "P24"),
    "LocalTail": Plant(TWO, "P04"), "NextBlock": Plant(TWO, "P24"),
    "GlobalIsLocal": Plant(FOUR, "P04"), "DummiesWithoutKeys": Plant(GRAPH, "P04"),
    "AnotherRoute": Plant(FOUR, "P24"), "LocalHeads": Plant(WIDE, "P28", "aiter"),
    "BUG-066": Plant(WIDE, "P05"),
    "BUG-065": Plant(f"mla1:2q4s131;heads=24{GFX950}{FP8}", "P05", "aiter"),
    "RankOffsetInKernel": Plant(FOUR, "P05"), "HeadsRolled": Plant(ONE, "P05"),
    "BaseOfLse": Plant(ONE, "P24"), "NoWeights": Plant(ONE, "P24"), "NoMask": Plant(ONE, "P24"),
    "RanksSwapped": Plant(ONE, "P24"), "HalfLse": Plant(ONE, "P24"),
}


def _in_runner(plant: str) -> list[tuple[object, str, object]]:
    from vllm.v1.worker.gpu import block_table, cp_utils  # noqa: PLC0415 where vLLM is

    share = cp_utils.prepare_dcp_local_seq_lens
    tables = block_table.BlockTables.__init__

    def one_more(out, *more, **named):
        found = share(out, *more, **named)
        out += out > 0
        return found

    def of_rank(change):
        def called(out, lens, requests, size, rank, run, **named):
            return share(out, lens, requests, size, change(rank, size), run, **named)
        return called

    def dealt(change):
        def init(self, *more):
            *rest, size, rank, run = more
            tables(self, *rest, *change(size, rank, run))
        return init

    return {
        "OneKeyMore": [(cp_utils, "prepare_dcp_local_seq_lens", one_more)],
        "NextRank": [(cp_utils, "prepare_dcp_local_seq_lens",
                      of_rank(lambda rank, size: (rank + 1) % size))],
        "FirstRankAlways": [(cp_utils, "prepare_dcp_local_seq_lens", of_rank(lambda *_: 0))],
        "WrongInterleave": [(block_table.BlockTables, "__init__",
                             dealt(lambda size, rank, run: (size, rank, 2 * run)))],
        "WritesEverywhere": [(block_table.BlockTables, "__init__", dealt(lambda *_: (1, 0, 1)))],
    }.get(plant, [])


def _in_module(module, plant: str) -> list[tuple[object, str, object]]:
    """In the backend's module."""
    helper, builder = module.AiterMLAHelper, module.AiterMLAMetadataBuilder
    rows, fill = helper.dcp_local_verify_row_lens, builder._fill_dcp_verify_page_table
    route, build = module._select_dcp_decode_route, builder._build_decode
    calls = iter(range(1 << 20))

    def local_tail(total, qlen, size, rank, run):
        local = module.get_dcp_local_seq_lens(total, size, rank, run)
        back = module.torch.arange(qlen - 1, -1, -1, device=total.device)
        return (local[:, None] - back).clamp_(min=0).flatten()

    def another(**named):
        found = route(**named)
        return module._DCPDecodeRoute.SEGMENTED if next(calls) % 2 else found

    def changed(change):
        def called(self, *more, **named):
            found = build(self, *more, **named)
            change(self, found)
            return found
        return called

    def global_is_local(_, made):
        made.g_kv_indptr = made.paged_kv_indptr

    def without_dummies(_, made):
        live = int((made.dcp_tot_seq_lens > 0).sum())
        made.g_kv_indptr[live + 1:] = made.g_kv_indptr[live]

    def next_rank(self, made):
        made.cp_rank = (self.dcp_rank + 1) % self.dcp_world_size

    def local_heads(self, *more, **named):
        self._asm_dcp_verify_heads = self._decode_num_heads = self.num_heads
        return build(self, *more, **named)

    def build_change(change):
        return [(builder, "_build_decode", changed(change))]

    def rank_offset(*lists):
        total, qlen, size, rank, run = lists
        return rows(total, qlen, size, (rank + 1) % size, run)

    def next_block(self, table, *more):
        fill(self, table, *more)
        table += 1

    return {
        "RankOffsetOfRows": [(helper, "dcp_local_verify_row_lens", staticmethod(rank_offset))],
        "LocalTail": [(helper, "dcp_local_verify_row_lens", staticmethod(local_tail))],
        "NextBlock": [(builder, "_fill_dcp_verify_page_table", next_block)],
        "AnotherRoute": [(module, "_select_dcp_decode_route", another)],
        "GlobalIsLocal": build_change(global_is_local),
        "DummiesWithoutKeys": build_change(without_dummies),
        "RankOffsetInKernel": build_change(next_rank),
        "BUG-065": [(module, "_asm_dcp_verify_heads", lambda heads: heads)],
        "LocalHeads": [(builder, "_build_decode", local_heads)],
        "HalfLse": [(helper, "get_mla_unpadded_lse", staticmethod(lambda heads, lse: lse / 2))],
    }.get(plant, [])


def _in_planner(plant: str) -> list[tuple[object, str, object]]:
    import aiter  # noqa: PLC0415 the machine around it is there

    real = aiter.get_mla_metadata_v1

    def of_one_rank(*lists, is_cp_round_robin=False, **named):
        lists = list(lists)
        lists[5] = True  # is_causal
        return real(*lists, **named)

    return [(aiter, "get_mla_metadata_v1", of_one_rank)] if plant == "BUG-066" else []


def _in_merge(module, plant: str) -> list[tuple[object, str, object]]:
    from vllm.v1.attention.ops import dcp  # noqa: PLC0415

    gather, correct = dcp.MLADCPManager._gather_query, dcp.correct_attn_out

    def mean(out, lses, *more, **named):
        return out / lses.shape[0], lses[0]

    def swapped(out, lses, *more, **named):
        return correct(out, lses.flip(0).contiguous(), *more, **named)

    return {
        "HeadsRolled": [(dcp.MLADCPManager, "_gather_query",
                         lambda self, q: gather(self, q).roll(1, 1))],
        "BaseOfLse": [(module.AiterMLAImpl, "lse_base_on_e", False)],
        "NoWeights": [(dcp, "correct_attn_out", mean)],
        "RanksSwapped": [(dcp, "correct_attn_out", swapped)],
        "NoMask": [(dcp, "mask_dcp_empty_shards_", lambda *_: None)],
    }.get(plant, [])


def main(arch: str, backend: str) -> None:
    """Prints the properties that each plant of a machine, and none, makes fail."""
    from mla_testbed.engines import Machine  # noqa: PLC0415 where vLLM is
    from mla_testbed.engines.judge import judge  # noqa: PLC0415
    from mla_testbed.engines.ranks.kind import Ranks  # noqa: PLC0415
    from mla_testbed.engines.vllm.ranks_adapter import VllmRanks  # noqa: PLC0415

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    engine = VllmRanks(Machine(arch, 304 if arch == "gfx942" else 256, kind="ranks",
                               options=(("backend", backend),)))
    module = engine._module

    def said(plant: str, cases) -> None:
        with contextlib.ExitStack() as stack:
            for change in (*_in_runner(plant), *_in_module(module, plant), *_in_planner(plant),
                           *_in_merge(module, plant)):
                stack.enter_context(mock.patch.object(*change))
            found = [judge(Ranks(), engine, case, attend=True) for case in cases]
        out.write(json.dumps([plant, sorted({p for j in found for p in j.properties}),
                              sorted({j.verdict for j in found}),
                              [f.what for j in found for f in j.findings][:3]]) + "\n")
        out.flush()

    ours = {name: plant for name, plant in PLANTS.items()
            if f"arch={arch}" in plant.case and plant.backend == backend}
    said("", dict.fromkeys(plant.case for plant in ours.values()))
    for name, plant in ours.items():
        said(name, [plant.case])


if __name__ == "__main__":
    main(*sys.argv[1:])
