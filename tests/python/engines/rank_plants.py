"""Defects of data-parallel ranks that have no requests, and of ranks that share contexts, planted
around whole engines.

    python rank_plants.py sglang|sglang-fp8|vllm|vllm-dcp [PLANT ...]

Prints what each plant leads to, as JSON lines: one import, and a process tree for each plant. A
function gets the engine before its ranks are forked, and changes one thing.
"""

import importlib
import json
import os
import sys

BACKEND = "sglang.srt.layers.attention.aiter_backend"
BATCH = "sglang.srt.model_executor.forward_batch_info"
DP = "sglang.srt.managers.scheduler_components.dp_attn"
REGISTRY = "sglang.srt.model_executor.cuda_graph_buffer_registry"
TABLES = "vllm.v1.worker.gpu.block_table"
#: Slot of the first page that requests get.
REAL = 16


def change(module, owner, name, around):
    """Replaces an attribute of a class, or of a module, by what `around` makes of it."""
    of = importlib.import_module(module)
    of = getattr(of, owner) if owner else of
    setattr(of, name, around(getattr(of, name)))


def idle(whole):
    """Whether the step that runs has no requests."""
    steps = whole.watch.steps
    return whole.watch.on and bool(steps) and not steps[-1].served


def without_plan(whole, module):
    """A step without requests is not planned: the plan is that of the step before."""

    def around(real):
        def planned(*rest, **named):
            if not idle(whole):
                real(*rest, **named)

        return planned

    change(module, "", "get_mla_metadata_v1", around)


def sglang_padding_is_written(whole):
    """Without a graph, rows of padding are written to a page of a request."""

    def around(real):
        def pad(batch, runner, tokens, requests):
            live = batch.out_cache_loc.shape[0]
            real(batch, runner, tokens, requests)
            batch.out_cache_loc[live:] = REAL

        return pad

    change(BATCH, "ForwardBatch", "_pad_inputs_to_size", around)


def sglang_graph_padding_is_written(whole):
    """From a graph, rows of padding are written to a page of a request."""

    def around(real):
        def fill(registry, batch, *, raw_num_tokens, padded_num_tokens, **named):
            real(registry, batch, raw_num_tokens=raw_num_tokens,
                 padded_num_tokens=padded_num_tokens, **named)
            if registry.has_slot("out_cache_loc"):
                loc = registry.get_slot("out_cache_loc").buffer
                loc[raw_num_tokens:padded_num_tokens] = REAL

        return fill

    change(REGISTRY, "CudaGraphBufferRegistry", "fill_from", around)


def sglang_stale_plan(whole):
    """A step without requests is not planned: the plan is that of the step before."""
    without_plan(whole, BACKEND)


def sglang_no_idle_batch(whole):
    """Rank 1 makes no batch for a step in which it has no requests."""

    def around(real):
        def prepare(adapter, batch, need_sync=None):
            found = real(adapter, batch, need_sync)
            left_out = found is not None and found.forward_mode.is_idle() and whole.watch.on
            return None if left_out and adapter.ps.attn_dp_rank == 1 else found

        return prepare

    change(DP, "SchedulerDPAttnAdapter", "maybe_prepare_mlp_sync_batch", around)


def sglang_own_sizes(whole):
    """Each rank sizes what is gathered by its own count of tokens."""

    def around(real):
        def gather(info, *rest, **named):
            real(info, *rest, **named)
            if whole.watch.on:
                info.global_num_tokens = [max(info.num_tokens, 1)] * len(info.global_num_tokens)

        return gather

    change(DP, "MLPSyncBatchInfo", "all_gather", around)


def sglang_rows_of_others(whole):
    """Rank 1 takes its rows back from where the rows of rank 0 begin."""

    def around(real):
        def info(batch):
            start, count = real(batch)
            return start * 0, count

        return info

    change("sglang.srt.layers.dp_attention", "", "get_dp_local_info", around)


def vllm_slot_0(whole):
    """A step without requests writes slot 0."""

    def around(real):
        def slots(tables, tokens):
            found = real(tables, tokens)
            if whole.watch.on:
                found.zero_()
            return found

        return slots

    change(TABLES, "BlockTables", "get_dummy_slot_mappings", around)


def vllm_stale_slots(whole):
    """A step without requests writes the slots of the step before."""

    def around(real):
        def slots(tables, tokens):
            if whole.watch.on:
                return tables.slot_mappings[:, :tokens]
            return real(tables, tokens)

        return slots

    change(TABLES, "BlockTables", "get_dummy_slot_mappings", around)


def vllm_stale_plan(whole):
    """A step without requests is not planned: the plan is that of the step before."""
    aiter = importlib.import_module("aiter")
    real = aiter.get_mla_metadata_v1

    def planned(*rest, **named):
        if not idle(whole):
            real(*rest, **named)

    aiter.get_mla_metadata_v1 = planned


def vllm_no_dummy(whole):
    """Rank 1 runs no batch in a step without requests."""
    def around(real):
        def run(worker):
            if worker.parallel_config.data_parallel_rank != 1:
                real(worker)

        return run

    change("vllm.v1.worker.gpu_worker", "Worker", "execute_dummy_batch", around)


def vllm_steps_in_a_queue(whole):
    """vLLM's default, in one process: a step may take a result from its queue, and run nothing."""
    module = importlib.import_module("vllm")
    real = module.LLM
    module.LLM = lambda **named: real(**{k: v for k, v in named.items() if k != "async_scheduling"})


def vllm_dcp_next_share(whole):
    """Each rank attends to as many keys as the next rank has."""

    def around(real):
        def lengths(out, lens, requests, size, rank, *rest, **named):
            return real(out, lens, requests, size, (rank + 1) % size, *rest, **named)

        return lengths

    change("vllm.v1.worker.gpu.model_runner", "", "prepare_dcp_local_seq_lens", around)


def vllm_dcp_base_2(whole):
    """The LSE of AITER, a natural logarithm, is merged as one to base 2."""
    module = importlib.import_module("vllm.v1.attention.backends.mla.rocm_aiter_mla")
    real = module.AiterMLAImpl.__init__

    def init(self, *rest, **named):
        real(self, *rest, **named)
        self.lse_base_on_e = False

    module.AiterMLAImpl.__init__ = init


def vllm_dcp_no_gather(whole):
    """Rank 1 does not call the merge of its second decode."""
    calls = []

    def around(real):
        def scattered(self, input_, dim=-1):
            if whole.watch.on and whole.context_rank == 1:
                calls.append(1)
                if len(calls) == 2:
                    return input_.chunk(self.world_size, dim)[1].contiguous()
            return real(self, input_, dim)

        return scattered

    change("vllm.distributed.device_communicators.base_device_communicator",
           "DeviceCommunicatorBase", "reduce_scatter", around)


_EAGER = "e2e1:requests=3;tokens=6;longest=40;layers=1;ranks=2"
_GRAPHS = _EAGER + ";graphs=1"
_SHARED = "e2e1:arch=gfx950;requests=3;tokens=6;longest=40;layers=1;dcp=2"
#: SGLang plans for a cache of fp8.
_FP8 = _GRAPHS + ";cache=fp8"
GROUPS = {
    "sglang": {
        "none": _GRAPHS,
        "sglang_padding_is_written": _EAGER,
        "sglang_graph_padding_is_written": _GRAPHS,
        "sglang_no_idle_batch": _EAGER,
        "sglang_own_sizes": _EAGER,
        "sglang_rows_of_others": _EAGER},
    "sglang-fp8": {
        "none": _FP8,
        "sglang_stale_plan": _FP8},
    "vllm": {
        "none": _GRAPHS,
        "vllm_steps_in_a_queue": _EAGER,
        "vllm_slot_0": _GRAPHS,
        "vllm_stale_slots": _GRAPHS,
        "vllm_stale_plan": _GRAPHS,
        "vllm_no_dummy": _GRAPHS},
    "vllm-dcp": {
        "none": _SHARED,
        "vllm_dcp_next_share": _SHARED,
        "vllm_dcp_base_2": _SHARED,
        "vllm_dcp_no_gather": _SHARED},
}


def main(group, *chosen):
    """Serves each scenario of a group in forks of this process."""
    import torch  # noqa: PLC0415 where the engine is
    from mla_testbed._options import COMPUTE_UNITS  # noqa: PLC0415
    from mla_testbed.engines.e2e import model, prompts, tree, worker  # noqa: PLC0415
    from mla_testbed.engines.e2e.judged import Result  # noqa: PLC0415
    from mla_testbed.engines.e2e.scenario import Scenario  # noqa: PLC0415

    torch.set_num_threads(1)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    engine = group.partition("-")[0]
    scenario = Scenario.parse(GROUPS[group]["none"])
    made = model.make(scenario)
    asked = prompts.ask(scenario, made)
    kind = importlib.import_module(f"mla_testbed.engines.{engine}.whole").Whole
    whole = kind(scenario, COMPUTE_UNITS[scenario.arch])
    if engine == "vllm":
        importlib.import_module("vllm.entrypoints.llm")  # once
    for plant, text in GROUPS[group].items():
        if chosen and plant not in chosen:
            continue
        child = os.fork()
        if child == 0:
            result, own = Result(text), Scenario.parse(text)
            try:
                globals().get(plant, lambda whole: None)(whole)
                tree.serve(own, result, lambda rank, found, own=own: worker.served_rank(
                    own, made, asked, whole, found, rank))
            except BaseException as e:  # noqa: BLE001
                result.verdict = "inconclusive"
                result.findings.append(repr(e))
            out.write(json.dumps([plant, result.verdict, result.findings, result.idle,
                                  [result.equal, result.tokens]]) + "\n")
            out.flush()
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
