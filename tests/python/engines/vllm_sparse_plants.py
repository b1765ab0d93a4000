"""vLLM's sparse MLA backend with defects planted, one after the other; run by vLLM's interpreter.

    python vllm_sparse_plants.py CASE ...

A plant changes what the unmodified builder returned, or a function that builder or forward calls.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from unittest import mock

#: Plant -> properties that catch it. Sums that are too large show as a write past the end where the
#: buffer is full. The first are in the builder, then come those in the forward, and in the indexer.
PLANTS = {
    "OneKeyMore": "P04 P06", "NoLimit": "P04 P06", "LateSums": "P04 P06", "TwoRows": "P04",
    "NextOwner": "P26",
    "PlansOnce": "P05", "PlansAnotherBatch": "P05", "RemembersSplit": "P03",
    "NextRequest": "P01", "NextRow": "P01 P13", "OneLayer": "P01", "SmallTable": "P01",
    "SkipsATile": "P01", "LateLists": "P06", "LaterKeys": "P01 P13", "HalfScale": "P05",
    "ReadsFirstKey": "P05", "WrongCall": "P28",
    "ScaleOfNextToken": "SP-02 SP-03", "SlotOfNextRow": "SP-03", "GathersNextRequest": "SP-05",
    "WeightsOfNextRow": "SP-06", "OneKeyShort": "SP-06", "OneKeyTooFew": "SP-10",
    "TakesTheFirst": "SP-11",
    "ListIsMadeForEver": "SP-23", "TableOfFirstLayer": "SP-23", "SelectionMoves": "SP-23",
}
OPS = "vllm.v1.attention.ops.rocm_aiter_mla_sparse"


class Planted:
    """vLLM's adapter, whose builder has one defect."""

    def __init__(self, engine, plant: str) -> None:
        self._engine, self._plant, self._most, self._built = engine, plant, 0, False
        self._real = engine._build
        engine._build = self._build

    def __getattr__(self, name: str):
        return getattr(self._engine, name)

    def start(self, steps) -> None:
        self._most, self._built = 0, False
        self._engine.start(steps)
        if self._plant == "SelectionMoves":
            taking, selected = self._engine._taking, self._engine._selected
            lists = taking.lists

            def moved(made):
                selected.copy_(selected.flip(0))  # rows of padding among them
                return lists(made)

            taking.lists = moved

    def _build(self, common, *, capture):
        builder = self._engine._builder
        if self._plant == "PlansOnce" and builder._prev_metadata_key is not None:
            builder._prev_metadata_key = _Equal()
        if self._plant == "RemembersSplit":
            self._most = common.max_seq_len = max(self._most, common.max_seq_len)
        made = self._real(common, capture=capture)
        if self._plant == "LateSums":
            made.paged_kv_indptr += 1
        if self._plant == "TwoRows":
            made.qo_indptr = made.qo_indptr * 2
        if self._plant == "ListIsMadeForEver" and self._engine._of_taking:
            taken, taking = self._engine._of_taking[id(made)][1], self._engine._taking
            if self._built:
                taken.flags = taking.impl.topk_indices_buffer, taking.impl.index_epoch
            self._built = True
        if self._plant == "TableOfFirstLayer":
            self._engine._of_taking[id(made)][1].metadata.block_table = made.block_table
        if self._plant == "NextOwner":
            made.req_id_per_token = made.req_id_per_token.roll(1)
        return made

    def remove(self) -> None:
        """The engine is sound again."""
        self._engine._build = self._real


class _Equal:
    """Equal to every key of a plan."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


def _in_module(module, plant: str) -> dict[str, object]:
    """What the module's functions are replaced by."""
    counts = module.generate_sparse_seqlen_triton
    convert = module.triton_convert_req_index_to_global_index

    def counted(change):
        return {"generate_sparse_seqlen_triton": lambda *a: change(*a)}

    def converted(change):
        def call(req_id, table, indices, sums, out, **named):
            given = {"req_id": req_id, "table": table, "indices": indices, "sums": sums,
                     "out": out, **named}
            given.update(change(given))
            lists = [given.pop(name) for name in ("req_id", "table", "indices", "sums", "out")]
            convert(*lists, **given)
        return {"triton_convert_req_index_to_global_index": call}

    return {
        "OneKeyMore": counted(lambda *a: counts(*a) + 1),
        "NoLimit": counted(lambda lens, sums, topk, *a: counts(lens, sums, topk * 2, *a)),
        "NextRequest": converted(lambda g: {"req_id": (g["req_id"] + 1) % g["table"].shape[0]}),
        "NextRow": converted(lambda g: {"indices": g["indices"].roll(1, 0)}),
        "OneLayer": converted(lambda g: {"BLOCK_STRIDE_ROWS": g["BLOCK_SIZE"]}),
        "SmallTable": converted(lambda g: {"table": g["table"][:, :1]}),
        "SkipsATile": converted(lambda g: {"NUM_TOPK_TOKENS": 128,
                                           "indices": g["indices"][:, :128]}),
        "LateLists": converted(lambda g: {"sums": g["sums"] + 1}),
        "LaterKeys": converted(lambda g: {"indices": g["indices"] + (g["indices"] >= 0)}),
    }.get(plant, {})


def _in_operations(module, plant: str) -> dict[str, object]:
    """What rocm_aiter_ops calls are replaced by."""
    attend = module.rocm_aiter_ops.mla_decode_fwd

    def half(q, kv, o, scale, *more, **named):
        attend(q, kv, o, scale / 2, *more, **named)

    def first(q, kv, o, scale, qo, rows, sums, indices, *more, **named):
        attend(q, kv, o, scale, qo, rows, sums, indices[:1].expand(indices.shape).contiguous(),
               *more, **named)

    def wrong(*a, **named):
        attend(*a, **named, no_such_argument=1)

    found = {"HalfScale": half, "ReadsFirstKey": first, "WrongCall": wrong}.get(plant)
    return {} if found is None else {"mla_decode_fwd": staticmethod(found)}


def _in_indexer(ops, plant: str) -> dict[str, object]:
    """What the indexer's operation calls is replaced by."""
    write, gather, logits = (getattr(ops, name) for name in (
        "indexer_k_quant_and_cache_triton", "cp_gather_indexer_k_quant_cache_triton",
        "rocm_fp8_paged_mqa_logits"))

    def scales(k, cache, *more):
        write(k, cache, *more)
        flat = cache.flatten(1) if cache.is_contiguous() else cache.as_strided(
            (cache.shape[0], cache.shape[1] * 132), (cache.stride(0), 1))
        tail = flat[:, cache.shape[1] * 128:]
        tail.copy_(tail.roll(4, 1))

    def next_request(cache, codes, scale, table, *more, **named):
        gather(cache, codes, scale, table.roll(1, 0).contiguous(), *more, **named)

    return {
        "ScaleOfNextToken": {"indexer_k_quant_and_cache_triton": scales},
        "SlotOfNextRow": {"indexer_k_quant_and_cache_triton": lambda k, cache, slots, *a: write(
            k, cache, slots.roll(1), *a)},
        "GathersNextRequest": {"cp_gather_indexer_k_quant_cache_triton": next_request},
        "WeightsOfNextRow": {"rocm_fp8_paged_mqa_logits": lambda q, cache, w, *a, **n: logits(
            q, cache, w.roll(1, 0).contiguous(), *a, **n)},
        "OneKeyShort": {"rocm_fp8_paged_mqa_logits": lambda q, cache, w, lens, *a, **n: logits(
            q, cache, w, (lens - 1).clamp(min=0), *a, **n)},
    }.get(plant, {})


def _in_topk(select, plant: str) -> dict[str, object]:
    """What stands for vLLM's compiled top-k is replaced by."""
    def too_few(logits, starts, ends, indices, k):
        select(logits, starts, ends, indices, k)
        last = (indices >= 0).sum(1, keepdim=True) - 1
        indices.scatter_(1, last.clamp(min=0), -1)

    def first_keys(logits, starts, ends, indices, k):
        select(logits, starts, ends, indices, k)
        indices.copy_((indices >= 0) * (indices * 0).add(1).cumsum(1) - 1)

    found = {"OneKeyTooFew": too_few, "TakesTheFirst": first_keys}.get(plant)
    return {} if found is None else {"_select": found}


def _in_planner(plant: str, real) -> dict[str, object]:
    """What aiter's planner is replaced by."""
    def shorter(qo, sums, *more, **named):
        real(qo, sums.clamp(max=int(sums[1])), *more, **named)

    return {"get_mla_metadata_v1": shorter} if plant == "PlansAnotherBatch" else {}


def main(cases: list[str]) -> None:
    """Prints the properties that each plant, and none, makes fail: one import for all of them."""
    from mla_testbed.engines import Machine  # noqa: PLC0415 where vLLM is
    from mla_testbed.engines.judge import judge  # noqa: PLC0415
    from mla_testbed.engines.sparse.kind import Sparse  # noqa: PLC0415
    from mla_testbed.engines.vllm import topk  # noqa: PLC0415
    from mla_testbed.engines.vllm.sparse_adapter import VllmSparse  # noqa: PLC0415

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    engine = VllmSparse(Machine("gfx942", 304))
    import aiter  # noqa: PLC0415 the machine around it is there now

    module, ops = engine._module, importlib.import_module(OPS)
    for plant in ("", *PLANTS):
        planted = Planted(engine, plant)
        with contextlib.ExitStack() as stack:
            for owner, changes in (
                    (module, _in_module(module, plant)),
                    (module.rocm_aiter_ops, _in_operations(module, plant)),
                    (ops, _in_indexer(ops, plant)),
                    (topk, _in_topk(topk._select, plant)),
                    (aiter, _in_planner(plant, aiter.get_mla_metadata_v1))):
                for name, value in changes.items():
                    stack.enter_context(mock.patch.object(owner, name, value))
            found = [judge(Sparse(), planted, case, attend=True) for case in cases]
        planted.remove()
        out.write(json.dumps([plant, sorted({p for j in found for p in j.properties}),
                              sorted({j.verdict for j in found}),
                              [f.what for j in found for f in j.findings][:3]]) + "\n")
        out.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
