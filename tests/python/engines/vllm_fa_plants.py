"""vLLM's AITER FA backend with one defect planted: `vllm_fa_plants:NAME` is an adapter.

A plant changes what the unmodified builder returned, or a function that its forward calls.
"""

from __future__ import annotations

#: Plant -> property that catches it. The first change metadata, the last what forward calls.
PLANTS = {
    "LateChunk": "P25", "ShortChunk": "P25", "OneOwner": "P25", "NotRebased": "P04",
    "ShortMaximum": "P04", "SlotOff": "P18", "WiderDecodes": "P26", "NarrowWindow": "P25",
    "SmallWorkspace": "P06", "Waits": "P21", "Remembers": "P03", "NotCausal": "P29",
    "GathersLate": "P05", "MergesNothing": "P05", "OneRowLess": "P05", "WrongCall": "P28",
}


def __getattr__(name: str):
    if name not in PLANTS:
        raise AttributeError(name)
    return lambda machine: _planted(name, machine)


def _planted(plant: str, machine):
    from mla_testbed.engines.vllm.fa_adapter import VllmFa  # noqa: PLC0415 where vLLM is

    class Planted(VllmFa):
        def __init__(self, machine) -> None:
            super().__init__(machine)
            self._longest = 0
            _in_module(self._module, plant)

        def start(self, steps) -> None:
            self._longest = 0
            super().start(steps)
            if plant == "NarrowWindow" and self._builder.aot_sliding_window is not None:
                self._builder.aot_sliding_window = (self._builder.aot_sliding_window[0] - 2, 0)

        def _build(self, common, fetched, *, capture):
            made = super()._build(common, fetched, capture=capture)
            if plant == "Waits":
                fetched.append("cpu() of a tensor, planted")
            if plant == "Remembers":
                self._longest = made.max_seq_len = max(self._longest, made.max_seq_len)
            _in_metadata(made, plant)
            return made

    return Planted(machine)


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


def _in_module(module, plant: str) -> None:
    split, gather = module.split_decodes_prefills_and_extends, module.cp_mha_gather_cache
    if plant == "WiderDecodes":
        module.split_decodes_prefills_and_extends = lambda common, decode_threshold: split(
            common, decode_threshold + 8)
    if plant == "GathersLate":
        module.cp_mha_gather_cache = lambda **named: gather(
            **{**named, "seq_starts": named["seq_starts"] + 1})
    if plant == "MergesNothing":
        module.merge_attn_states = lambda output, prefix_output, **named: output.copy_(
            prefix_output)
    attend = module.rocm_aiter_ops.flash_attn_varlen_func
    if plant == "OneRowLess":
        module.rocm_aiter_ops.flash_attn_varlen_func = lambda **named: attend(
            **{**named, "max_seqlen_q": named["max_seqlen_q"] - 1})
    if plant == "WrongCall":
        module.rocm_aiter_ops.flash_attn_varlen_func = lambda **named: attend(
            **{**named, "no_such_argument": 1})
