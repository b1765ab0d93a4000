"""A whole, unmodified SGLang in this process, without a GPU: its scheduler, runner and sampler."""

from __future__ import annotations

import importlib
import json
import os
import pathlib
from array import array
from typing import Any

import torch

from ... import world
from ...errors import UsageError
from .. import attending, plain, surroundings
from ..e2e import drafts, model
from ..e2e.options import WITHOUT
from ..e2e.scenario import Scenario
from ..e2e.tree import Rank
from ..engine import Machine
from ..fa import served
from ..moved import replace
from ..observed import Observed
from . import gloo, indexer, machine, releases, stand_ins
from .watched import Watch

_BACKENDS = {"mla": {"attention_backend": "aiter"},
             "dsa": {"attention_backend": "dsa", "dsa_prefill_backend": "aiter",
                     "dsa_decode_backend": "aiter"}}
_DISTRIBUTED = "sglang.srt.distributed.bootstrap:get_default_distributed_backend"


class Whole:
    """One engine; see vllm.whole.Whole.

    Attributes:
        name, supported: "sglang", and versions that whole runs know.
        first_draft: what a draft gets in place of a request's first token.
        version, aiter: of SGLang and of AITER. watch: what it did.

    Raises:
        ImportError: SGLang, AITER, or what they need, is not installed.
        MovedError: this SGLang is not known here.
        UsageError: a scenario that is not served.
    """

    name, supported = "sglang", releases.SUPPORTED
    first_draft = drafts.LEFT_OUT

    def __init__(self, scenario: Scenario, units: int, modules: str = "ported") -> None:
        _expect(scenario)
        without = modules == WITHOUT
        if without:
            attending.expect(scenario)
        # SGLang's own switches, for a compiled sampler of AITER that is not served, and for a tree
        # of prefixes in Rust, whose tensors are of a device that C++ does not find here.
        os.environ["SGLANG_DISABLE_AITER_GREEDY_SAMPLE"] = "1"
        os.environ["SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND"] = "python"
        if scenario.cache == "bf16":  # the floor of bf16 knows nothing of a prefill in fp8
            os.environ["SGLANG_AITER_FP8_PREFILL_ATTN"] = "0"
        os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")
        if scenario.model == "dsa":
            indexer.prepare(scenario.block)
        self._scenario = scenario
        self.stage = surroundings.enter(Machine(
            scenario.arch, units, late_copies=bool(scenario.late), poison=True,
            backend=scenario.backend, modules="ported" if without else modules,
            without_aiter=without), all_names=True)
        machine.prepare()
        if without:
            attending.install(scenario.arch)
        machine.import_backend()
        self.version, self.aiter = machine.version(), surroundings.aiter_version()
        stand_ins.own_rope(self.version) if without else served.install()
        stand_ins.install(self.version)
        if scenario.model == "dsa":
            indexer.install(self.version)
        replace(f"SGLang {self.version}", self.supported, _DISTRIBUTED,
                lambda before: lambda device: "gloo")  # one rank, and no GPU for another
        self.watch = Watch(self.version, scenario, Observed(scenario.arch, units))
        self._scheduler: Any = None
        self._rank: Rank | None = None
        self._turn = 0
        self._seen: list[Any] = []
        self._earlier: list[Any] = []
        self._waiting: list[Any] = []

    def join(self, rank: Rank) -> None:
        """This process is one of several ranks, with DP attention."""
        os.environ["SGLANG_ONE_VISIBLE_DEVICE_PER_PROCESS"] = "1"
        self._rank = rank
        gloo.install(self.version)
        self.watch.joined(rank.collectives)

    def start(self, scenario: Scenario, folder: pathlib.Path) -> None:
        """SGLang's Scheduler, with the model of a folder."""
        from sglang.srt.server_args import PortArgs, ServerArgs

        s = scenario
        longest = s.longest + s.tokens + s.draft + 1
        arguments = ServerArgs(
            model_path=str(folder), skip_tokenizer_init=True, device="cuda",
            **_BACKENDS[s.model], dtype="bfloat16", page_size=s.block,
            max_total_tokens=s.block * s.blocks(2 * (s.draft + 1) + s.block),
            max_running_requests=_room(s), context_length=-(-longest // 64) * 64,
            mem_fraction_static=0.5, random_seed=s.seed % (1 << 31), sampling_backend="pytorch",
            disable_radix_cache=not s.prefix, chunked_prefill_size=s.chunk or -1,
            disable_overlap_schedule=not s.late, log_level="error",
            kv_cache_dtype=_cache(s), disable_cuda_graph=not s.graphs,
            disable_prefill_cuda_graph=True, cuda_graph_bs_decode=_sizes(s), **_ranks(s),
            **_speculation(s, folder))
        number = 0 if self._rank is None else self._rank.number
        replica = None if self._rank is None else number
        releases.publish(arguments, number, replica)
        ports = PortArgs.init_new(arguments)
        if self._rank is not None:
            ports.nccl_port = self._rank.port
        self._scheduler = releases.scheduler(arguments, ports, number, replica)
        self._fed()

    def _fed(self) -> None:
        """The scheduler's loop gets our requests, and ends with the last of them."""
        scheduler = self._scheduler
        queue, receiver = scheduler._add_request_to_queue, type(scheduler.request_receiver)

        def add(request: Any, *rest: Any, **named: Any) -> Any:
            if request not in self._seen:
                self._seen.append(request)
            return queue(request, *rest, **named)

        def receive(_: Any, *rest: Any, **named: Any) -> list[Any]:
            self._turn += 1
            if self._rank is not None and self._turn <= self._rank.arrives(self._scenario):
                self._rank.collectives.all_done(False)
                return []
            given, self._waiting = self._waiting, []
            done = not given and all(request.finished() for request in self._seen)
            if self._rank is not None:  # a rank without requests serves as long as the others
                done = self._rank.collectives.all_done(done)
            if done:
                scheduler.gracefully_exit = True
            return given

        scheduler._add_request_to_queue = add
        receiver.recv_requests = receive

    def generate(self, prompts: list[list[int]]) -> tuple[list[list[int]], int]:
        """What follows each prompt, and how many tokens of prompts were found in the cache."""
        from sglang.srt.managers.io_struct import TokenizedGenerateReqInput
        from sglang.srt.sampling.sampling_params import SamplingParams

        self._earlier += self._seen
        turn, self._seen = len(self._earlier), []
        for number, prompt in enumerate(prompts):
            ask = SamplingParams(temperature=0.0, max_new_tokens=self._scenario.tokens_of(number),
                                 ignore_eos=True)
            ask.normalize(None)
            self._waiting.append(TokenizedGenerateReqInput(
                rid=f"{number}-{turn}", input_text="", input_ids=array("q", prompt),
                input_embeds=None, mm_inputs=None, token_type_ids=None, sampling_params=ask,
                return_logprob=False, logprob_start_len=-1, top_logprobs_num=0,
                token_ids_logprob=None, stream=False))
        scheduler = self._scheduler
        scheduler.gracefully_exit, self._turn = False, 0
        self.watch.on = True
        try:
            scheduler.run_event_loop()
        finally:
            self.watch.ended(scheduler)
            self.watch.on = False
        made = sorted(self._seen, key=lambda request: int(request.rid.partition("-")[0]))
        return ([list(request.output_ids) for request in made],
                sum(int(request.cached_tokens) for request in made))

    def metrics(self) -> dict[str, float]:
        """Drafted and accepted tokens, as SGLang counts them."""
        seen = [*self._earlier, *self._seen]
        return {"draft_tokens": float(self._scenario.draft * sum(r.spec_verify_ct for r in seen)),
                "accepted_tokens": float(sum(r.spec_num_correct_drafts for r in seen))}

    def early_writes(self) -> list[str]:
        """What a host that is ahead of its device wrote too early."""
        torch.cuda.synchronize()
        entered = world.active()
        return [] if entered is None else entered.early_writes()

    def stand_ins(self) -> dict[str, int]:
        """Operations that neither SGLang nor AITER ran, and how often."""
        return dict(plain.used)


# A graph of drafts keeps the view of kv_indices that it was captured with, which is shorter than
# what a replay reads of the same buffer: our launch would call that out of bounds.
def _expect(scenario: Scenario) -> None:
    s = scenario
    if s.model not in _BACKENDS or s.spec not in ("none", "mtp"):
        raise UsageError("SGLang serves scenarios with model=mla or model=dsa and spec=none or "
                         f"spec=mtp here; found model={s.model};spec={s.spec}")
    if s.model == "dsa" and s.spec != "none":
        raise UsageError("SGLang serves drafts of model=mla alone here: it takes a draft model of "
                         f"its own for one without an indexer; found model=dsa;spec={s.spec}")
    if s.model == "dsa" and s.block not in indexer.BLOCKS:
        raise UsageError(f"scenario field 'block' is {s.block}; SGLang's indexer has blocks of "
                         f"{' or '.join(map(str, indexer.BLOCKS))} on this GPU")
    if s.scale != 1:
        raise UsageError(f"scenario field 'scale' is {s.scale}; SGLang is served with scale=1 here")
    if s.dcp > 1:
        raise UsageError("SGLang's AITER backend has no decode context parallelism "
                         f"(sglang#38709); found dcp={s.dcp}")
    if s.spec != "none" and s.ranks > 1:
        raise UsageError("SGLang itself refuses a draft model of its own (STANDALONE) with DP "
                         f"attention; found spec={s.spec};ranks={s.ranks}")


def _cache(scenario: Scenario) -> str:
    """With an indexer "auto" is fp8 where torch says that the GPU is of generation 10 or later."""
    if scenario.cache == "fp8":
        return "fp8_e4m3"
    return "bfloat16" if scenario.model == "dsa" else "auto"


def _speculation(scenario: Scenario, folder: pathlib.Path) -> dict[str, Any]:
    """A model drafts that is the target with less of the MLP. SGLang's MTP layers have experts
    always, and this model none; it takes the older name of the architecture for a model that has no
    such layer."""
    if scenario.spec == "none":
        return {}
    draft = folder / "draft"
    draft.mkdir()
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["architectures"] = ["DeepseekV2ForCausalLM"]
    (draft / "config.json").write_text(json.dumps(config), encoding="utf-8")
    files = importlib.import_module("safetensors.torch")  # engines have it
    files.save_file(model.drafting(files.load_file(folder / "model.safetensors")),
                    draft / "model.safetensors")
    return {"speculative_algorithm": "STANDALONE", "speculative_draft_model_path": str(draft),
            "speculative_num_steps": scenario.draft,
            "speculative_eagle_topk": 1, "speculative_num_draft_tokens": scenario.draft + 1}


def _ranks(scenario: Scenario) -> dict[str, Any]:
    """DP attention: the MLP is split between the ranks, attention has all heads on each."""
    if scenario.ranks == 1:
        return {}
    return {"tp_size": scenario.ranks, "dp_size": scenario.ranks, "enable_dp_attention": True,
            "disable_custom_all_reduce": True}


def _sizes(scenario: Scenario) -> list[int]:
    """Requests of captured steps."""
    return [1 << power for power in range((_room(scenario) - 1).bit_length() + 1)]


def _room(scenario: Scenario) -> int:
    """Most requests of a step: a power of two, so that other numbers are padded in graphs. SGLang
    captures no size above it."""
    return scenario.running or 1 << max(scenario.requests - 1, 1).bit_length()
