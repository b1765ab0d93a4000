"""vLLM's AITER FA backend with defects planted, one after the other; run by vLLM's interpreter.

    python vllm_fa_plants.py CASE ...

A plant changes what the unmodified builder returned, or a function that its forward calls.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import types
from unittest import mock

#: Plant -> property that catches it. The first change metadata, the last what forward calls.
PLANTS = {
    "LateChunk": "P25", "ShortChunk": "P25", "OneOwner": "P25", "NotRebased": "P04",
    "ShortMaximum": "P04", "SlotOff": "P18", "WiderDecodes": "P26", "NarrowWindow": "P25",
    "SmallWorkspace": "P06", "Waits": "P21", "Remembers": "P03", "NotCausal": "P29",
    "GathersLate": "P05", "MergesNothing": "P05", "OneRowLess": "P05", "WrongCall": "P28",
}



class Planted:
    """vLLM's adapter, whose builder or whose forward has one defect."""

    def __init__(self, engine, plant: str) -> None:
        self._engine, self._plant, self._longest = engine, plant, 0
        self._real = engine._build
        engine._build = self._build

    def __getattr__(self, name: str):
        return getattr(self._engine, name)

    def start(self, steps) -> None:
        self._longest = 0
        self._engine.start(steps)
        builder = self._engine._builder
        if self._plant == "NarrowWindow" and builder.aot_sliding_window is not None:
            builder.aot_sliding_window = (builder.aot_sliding_window[0] - 2, 0)

    def _build(self, common, fetched, *, capture):
        made = self._real(common, fetched, capture=capture)
        if self._plant == "Waits":
            fetched.append("cpu() of a tensor, planted")
        if self._plant == "Remembers":
            self._longest = made.max_seq_len = max(self._longest, made.max_seq_len)
        _in_metadata(made, self._plant)
        return made

    def remove(self) -> None:
        """The engine is sound again."""
        self._engine._build = self._real


def _in_metadata(made, plant: str) -> None:
    if plant == "SlotOff":
        made.slot_mapping = made.slot_mapping + 1
    if plant == "NotCausal":
        made.causal = not made.causal
    if plant == "ShortMaximum" and made.prefill_metadata is not None:
        made.prefill_metadata.max_query_len -= 1
    extend = made.extend_metadata
    if extend is None:
        return
    chunks = extend.chunk_context_metadata
    if plant == "NotRebased":
        extend.query_start_loc = extend.query_start_loc + 1
    if plant == "LateChunk":
        chunks.chunk_starts = chunks.chunk_starts + 1
    if plant == "ShortChunk":
        chunks.cu_seq_lens_chunk[:, -1] -= 1
        chunks.total_token_per_batch = [n - 1 for n in chunks.total_token_per_batch]
    if plant == "OneOwner":
        chunks.token_to_batch = chunks.token_to_batch * 0
    if plant == "SmallWorkspace":
        chunks.workspace = chunks.workspace[:, :3]


def _in_module(module, plant: str) -> dict[str, object]:
    """What the module's functions are replaced by."""
    split, gather = module.split_decodes_prefills_and_extends, module.cp_mha_gather_cache
    attend = module.rocm_aiter_ops.flash_attn_varlen_func

    def called_with(**changes):
        return types.SimpleNamespace(
            is_shuffle_kv_cache_enabled=module.rocm_aiter_ops.is_shuffle_kv_cache_enabled,
            flash_attn_varlen_func=lambda **named: attend(**{**named, **{
                name: change(named) for name, change in changes.items()}}))

    return {
        "WiderDecodes": {"split_decodes_prefills_and_extends": lambda common, decode_threshold:
                         split(common, decode_threshold + 8)},
        "GathersLate": {"cp_mha_gather_cache": lambda **named: gather(
            **{**named, "seq_starts": named["seq_starts"] + 1})},
        "MergesNothing": {"merge_attn_states": lambda output, prefix_output, **named:
                          output.copy_(prefix_output)},
        "OneRowLess": {"rocm_aiter_ops": called_with(
            max_seqlen_q=lambda named: named["max_seqlen_q"] - 1)},
        "WrongCall": {"rocm_aiter_ops": called_with(no_such_argument=lambda named: 1)},
    }.get(plant, {})


def main(cases: list[str]) -> None:
    """Prints the properties that each plant, and none, makes fail: one import for all of them."""
    from mla_testbed.engines import Machine  # noqa: PLC0415 where vLLM is
    from mla_testbed.engines.fa.kind import Fa  # noqa: PLC0415
    from mla_testbed.engines.judge import judge  # noqa: PLC0415
    from mla_testbed.engines.vllm.fa_adapter import VllmFa  # noqa: PLC0415

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    engine = VllmFa(Machine("gfx942", 304))
    for plant in ("", *PLANTS):
        planted = Planted(engine, plant)
        with contextlib.ExitStack() as stack:
            for name, value in _in_module(engine._module, plant).items():
                stack.enter_context(mock.patch.object(engine._module, name, value))
            found = [judge(Fa(), planted, case, attend=True) for case in cases]
        planted.remove()
        out.write(json.dumps([plant, sorted({p for j in found for p in j.properties}),
                              sorted({j.verdict for j in found})]) + "\n")
        out.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
