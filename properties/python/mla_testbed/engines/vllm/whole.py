"""A whole, unmodified vLLM in this process, without a GPU: its scheduler, runner and sampler."""

from __future__ import annotations

import functools
import os
import pathlib
from typing import Any

import torch

from ... import world
from .. import attending, plain, surroundings
from ..e2e import drafts
from ..e2e.model import DRAFT
from ..e2e.options import WITHOUT
from ..e2e.scenario import Scenario
from ..e2e.tree import Rank
from ..engine import Machine
from ..fa import served
from ..moved import replace
from ..observed import Observed
from . import installed, kernels, topk
from .releases import SUPPORTED, settle
from .watched import Watch

BACKENDS = {"mla": "ROCM_AITER_MLA", "llama": "ROCM_AITER_FA",
            "dsa": "ROCM_AITER_MLA_SPARSE"}

_COMMUNICATOR = "vllm.platforms.rocm:RocmPlatform.get_device_communicator_cls"
_GLOO = ("vllm.distributed.device_communicators.base_device_communicator.DeviceCommunicatorBase")
_SUMS = ("vllm.config.parallel:cpu_all_reduce_", "vllm.distributed.parallel_state:cpu_all_reduce_")


class Whole:
    """One engine.

    Attributes:
        name, supported: "vllm", and versions that whole runs know.
        first_draft: what a draft gets in place of a request's first token.
        context_rank: of ranks that share contexts and heads.
        version, aiter: of vLLM and of AITER. watch: what it did.

    Raises:
        ImportError: vLLM, AITER, or what they need, is not installed.
        MovedError: this vLLM is not known here.
    """

    name, supported = "vllm", SUPPORTED
    first_draft = drafts.MASKED

    def __init__(self, scenario: Scenario, units: int, modules: str = "ported") -> None:
        settle(modules)
        self.version = installed.version()
        self._scenario = scenario
        without = modules == WITHOUT
        if without:
            attending.expect(scenario)
        self.stage = surroundings.enter(Machine(
            scenario.arch, units, late_copies=bool(scenario.late), poison=True,
            backend=scenario.backend, modules="ported" if without else modules,
            without_aiter=without), all_names=without)
        import aiter  # noqa: F401 before the engine, as on ROCm images

        self.aiter = surroundings.aiter_version()
        installed.platform()
        if without:
            attending.install(scenario.arch)
        else:
            served.install(unified=scenario.backend != "aiter")
        kernels.install()
        if scenario.model == "dsa":
            topk.install()
        # In this process: another one would have no world.
        replace(f"vLLM {self.version}", SUPPORTED,
                "vllm.model_executor.models.registry:_run_in_subprocess",
                lambda before: lambda function: function())
        self.watch = Watch(self.version, scenario, Observed(scenario.arch, units))
        self.context_rank = 0
        self._engine: Any = None
        self._rank: Rank | None = None

    def join(self, rank: Rank) -> None:
        """This process is one of several ranks: vLLM reads that from variables."""
        if self._scenario.dcp > 1:
            self.context_rank = rank.number
            if self.watch.written is not None:
                self.watch.written.share = rank.number, rank.of
            os.environ.update({
                "RANK": str(rank.number), "LOCAL_RANK": "0", "WORLD_SIZE": str(rank.of),
                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(rank.port)})
            # A GPU's library of collectives is not here, and vLLM calls it all the same.
            replace(f"vLLM {self.version}", SUPPORTED, _COMMUNICATOR,
                    lambda before: staticmethod(lambda: _GLOO))
        else:
            os.environ.update({
                "VLLM_DP_SIZE": str(rank.of), "VLLM_DP_RANK": str(rank.number),
                "VLLM_DP_RANK_LOCAL": "0", "VLLM_DP_MASTER_IP": "127.0.0.1",
                "VLLM_DP_MASTER_PORT": str(rank.port)})
        self._rank = rank
        self.watch.joined(rank.collectives)
        for place in _SUMS:  # of small tensors, by sends of its own
            replace(f"vLLM {self.version}", SUPPORTED, place, functools.partial(
                rank.collectives.around, "cpu_all_reduce_"))

    def start(self, scenario: Scenario, folder: pathlib.Path) -> None:
        """Loads the model of a folder; what follows is served by it."""
        from vllm import LLM

        s = self._scenario = scenario
        more: dict[str, Any] = {}
        if s.spec == "mtp":
            more["speculative_config"] = {"method": "mtp", "num_speculative_tokens": s.draft}
        elif s.spec == "eagle3":
            more["speculative_config"] = {"method": "eagle3", "model": str(folder / DRAFT),
                                          "num_speculative_tokens": s.draft}
        elif s.spec == "ngram":
            more["speculative_config"] = {"method": "ngram", "num_speculative_tokens": s.draft,
                                          "prompt_lookup_max": 3, "prompt_lookup_min": 1}
        if s.graphs:
            more["compilation_config"] = {"mode": 0, "cudagraph_mode": "FULL_DECODE_ONLY",
                                          "cudagraph_capture_sizes": _sizes(s)}
        if s.dcp > 1:
            more.update(distributed_executor_backend="external_launcher", async_scheduling=False,
                        tensor_parallel_size=s.dcp, decode_context_parallel_size=s.dcp)
        elif self._rank is not None:
            # The worker in this process; and without a queue of steps, with which ranks of vLLM do
            # not keep pace (VLLM-18 in docs/findings/vllm.md).
            more.update(distributed_executor_backend="uni", async_scheduling=False)
        longest = s.longest + s.tokens + s.draft + 1
        self._engine = LLM(
            model=str(folder), skip_tokenizer_init=True, dtype="bfloat16",
            enforce_eager=not s.graphs, max_model_len=-(-longest // 64) * 64, block_size=s.block,
            num_gpu_blocks_override=_blocks(s, -(-longest // 64) * 64),
            max_num_seqs=_room(s),
            max_num_batched_tokens=max(s.chunk, s.requests * (s.draft + 1)) if s.chunk
            else max(512, s.requests * s.longest),
            enable_chunked_prefill=True, enable_prefix_caching=bool(s.prefix), seed=s.seed,
            kv_cache_dtype="fp8" if s.cache == "fp8" else "auto", disable_log_stats=False,
            attention_config={"backend": BACKENDS[s.model]}, **more)

    def generate(self, prompts: list[list[int]]) -> tuple[list[list[int]], int]:
        """What follows each prompt, and how many tokens of prompts were found in the cache."""
        from vllm import SamplingParams

        ask = [SamplingParams(temperature=0.0, max_tokens=self._scenario.tokens_of(number),
                              ignore_eos=True, detokenize=False)
               for number in range(len(prompts))]
        self.watch.on = True
        try:
            self._wait_for_requests()
            out = self._engine.generate([{"prompt_token_ids": prompt} for prompt in prompts], ask,
                                        use_tqdm=False)
        finally:
            self.watch.ended()
            self.watch.on = False
        return ([list(one.outputs[0].token_ids) for one in out],
                sum(one.num_cached_tokens or 0 for one in out))

    def _wait_for_requests(self) -> None:
        """A rank that has none yet takes part in the steps of those that have some."""
        engine = self._engine.llm_engine
        if self._rank is None or self._scenario.ranks == 1:
            return
        for _ in range(self._rank.arrives(self._scenario)):
            if engine.has_unfinished_requests():
                engine.step()

    def metrics(self) -> dict[str, float]:
        """Counters of vLLM: drafted and accepted tokens."""
        found = {}
        for metric in self._engine.get_metrics():
            name = metric.name.rpartition(":")[2]
            if name.startswith("spec_decode_num_") and hasattr(metric, "value"):
                found[name.removeprefix("spec_decode_num_")] = float(metric.value)
        return found

    def early_writes(self) -> list[str]:
        """What a host that is ahead of its device wrote too early."""
        torch.cuda.synchronize()
        entered = world.active()
        return [] if entered is None else entered.early_writes()

    def stand_ins(self) -> dict[str, int]:
        """Operations that neither vLLM nor AITER ran, and how often."""
        return dict(plain.used)


def _sizes(scenario: Scenario) -> list[int]:
    """Rows of captured steps: some batches are padded."""
    rows = scenario.draft + 1
    return [rows * (1 << power) for power in range((_room(scenario) - 1).bit_length() + 1)]


def _blocks(scenario: Scenario, longest: int) -> int:
    """Blocks for padding and for requests; a request of the longest length that vLLM takes fits."""
    return 1 + max(scenario.blocks(scenario.draft + 1), longest // scenario.block)


def _room(scenario: Scenario) -> int:
    """Most requests of a step: a power of two, so that other numbers are padded in graphs."""
    return scenario.running or 1 << max(scenario.requests - 1, 1).bit_length()
