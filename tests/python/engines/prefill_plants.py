"""An engine's MLA prefill with defects planted, one after the other; run by the engine's Python.

    python prefill_plants.py ENGINE ARCH CASE ...

A plant changes what the unmodified builder returned, or a function that its forward calls.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import os
import sys
from unittest import mock

#: Engine -> plant -> property that catches it.
PLANTS = {
    "vllm": {
        "Rows": "P04", "Longest": "P04", "LateChunk": "P25", "OtherTable": "P01",
        "WholeContext": "P25", "NoContext": "P25", "SmallWorkspace": "P06", "Remembers": "P03",
        "GathersLate": "P05", "MergesNothing": "P05", "Causal": "P05", "OneRowLess": "P05",
        "WrongCall": "P28",
    },
    "sglang": {
        "Rows": "P04", "Longest": "P04", "MostKeys": "P04", "OtherRow": "P01",
        "WithoutPrefix": "P25", "Remembers": "P03", "NotCausal": "P05", "OneRowLess": "P05",
        "WrongCall": "P28",
    },
}


class Planted:
    """An adapter whose builder has one defect."""

    def __init__(self, engine, plant: str) -> None:
        self._engine, self._plant, self._built = engine, plant, 0

    def __getattr__(self, name: str):
        return getattr(self._engine, name)

    def start(self, steps) -> None:
        self._built = 0
        self._engine.start(steps)

    def build(self, step):
        self._built += 1
        built = self._engine.build(step)
        if self._plant == "Remembers" and self._built > 1:
            return dataclasses.replace(built, longest=built.longest + 1)
        if self._plant == "SmallWorkspace" and built.chunks:
            return dataclasses.replace(built, workspace=built.chunks[0].tokens - 1)
        return built


def _vllm(engine, plant: str) -> dict[tuple[object, str], object]:
    """What functions and classes of vLLM are replaced by."""
    common = importlib.import_module("vllm.model_executor.layers.attention.mla_attention")
    operations = importlib.import_module("mla_testbed.engines.vllm.operations")
    aiter = importlib.import_module("aiter")
    cut, attend = common.build_mla_chunked_context_metadata, aiter.flash_attn_varlen_func
    part = common.MLACommonPrefillMetadata

    def cut_with(**changes):
        return lambda **named: cut(**{**named, **{
            name: change(named[name]) for name, change in changes.items()}})

    def made_with(**changes):
        class Made(part):  # a class as it was: the builder takes ContextChunk from it
            def __init__(self, **named) -> None:
                super().__init__(**{**named, **{
                    name: change(named[name]) for name, change in changes.items()}})
        return Made

    def attended_with(**changes):
        return lambda *values, **named: attend(*values, **{**named, **{
            name: change(named.get(name)) for name, change in changes.items()}})

    cuts, parts, kernel = ((common, "build_mla_chunked_context_metadata"),
                           (common, "MLACommonPrefillMetadata"), (aiter, "flash_attn_varlen_func"))
    return {
        "Rows": {parts: made_with(query_start_loc=lambda sums: sums + 1)},
        "Longest": {parts: made_with(max_query_len=lambda most: most - 1)},
        "OtherTable": {parts: made_with(block_table=lambda table: table.flip(0))},
        "WholeContext": {cuts: cut_with(context_lens_cpu=lambda lens: lens + 1)},
        "NoContext": {cuts: lambda **named: None},
        "LateChunk": {cuts: lambda **named: _late(cut(**named))},
        "GathersLate": {(operations.torch.ops._C_cache_ops, "gather_and_maybe_dequant_cache"):
                        lambda *values: operations.gather(*values[:-1], values[-1] + 1)},
        "MergesNothing": {(common, "merge_attn_states"): lambda output, prefix_output, **named:
                          output.copy_(prefix_output)},
        "Causal": {kernel: attended_with(causal=lambda causal: True)},
        "OneRowLess": {kernel: attended_with(max_seqlen_q=lambda most: most - 1)},
        "WrongCall": {kernel: attended_with(no_such_argument=lambda none: 1)},
    }.get(plant, {})


def _late(context):
    """Starts one key late, in either layout of vLLM."""
    for chunk in getattr(context, "chunks", [context] if context is not None else []):
        chunk.starts = chunk.starts + 1
    return context


def _sglang(engine, plant: str) -> dict[tuple[object, str], object]:
    """What functions and classes of SGLang are replaced by."""
    module = engine.module
    made, attend = module.ForwardMetadata, module.flash_attn_varlen_func
    indices = module.create_flashinfer_kv_indices_triton

    class OtherRow:
        def __getitem__(self, grid):
            return lambda table, rows, *rest: indices[grid](table, rows.flip(0), *rest)

    def metadata_with(place, change):
        return lambda *values, **named: made(*(
            change(value) if i == place else value for i, value in enumerate(values)), **named)

    def attended_with(place=None, change=None, **changes):
        return lambda *values, **named: attend(*(
            change(value) if i == place else value for i, value in enumerate(values)),
            **{**named, **changes})

    update = module.AiterMlaIndicesUpdaterPrefill.update_single_wrapper
    metadata, kernel = (module, "ForwardMetadata"), (module, "flash_attn_varlen_func")
    return {
        "Rows": {metadata: metadata_with(2, lambda sums: sums + 1)},
        "Longest": {metadata: metadata_with(4, lambda most: most - 1)},
        "MostKeys": {metadata: metadata_with(5, lambda most: most - 1)},
        "OtherRow": {(module, "create_flashinfer_kv_indices_triton"): OtherRow()},
        "WithoutPrefix": {(module.AiterMlaIndicesUpdaterPrefill, "update_single_wrapper"):
                          lambda self, pool, lens, total, extend, *rest, **named: update(
                              self, pool, extend, int(extend.sum()), extend, *rest, **named)},
        "NotCausal": {kernel: attended_with(causal=False)},
        "OneRowLess": {kernel: attended_with(5, lambda most: most - 1)},
        "WrongCall": {kernel: attended_with(no_such_argument=1)},
    }.get(plant, {})


def main(name: str, arch: str, cases: list[str]) -> None:
    """Prints the properties that each plant, and none, makes fail: one import for all of them."""
    from mla_testbed.engines import Machine  # noqa: PLC0415 where the engine is
    from mla_testbed.engines.judge import judge  # noqa: PLC0415
    from mla_testbed.engines.kinds import load  # noqa: PLC0415
    from mla_testbed.engines.prefill.kind import Prefill  # noqa: PLC0415

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    engine = load(name, Machine(arch, 304 if arch == "gfx942" else 256, kind="prefill"))
    replaced = {"vllm": _vllm, "sglang": _sglang}[name]
    for plant in ("", *PLANTS[name]):
        with contextlib.ExitStack() as stack:
            for (owner, attribute), value in replaced(engine, plant).items():
                stack.enter_context(mock.patch.object(owner, attribute, value))
            found = [judge(Prefill(), Planted(engine, plant), case, attend=True) for case in cases]
        said = [f.what for judgement in found for f in judgement.findings]
        out.write(json.dumps([plant, sorted({p for j in found for p in j.properties}),
                              sorted({j.verdict for j in found}), said]) + "\n")
        out.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
