"""ATOM's AiterMLAMetadataBuilder and MLAAttention on our steps."""

from __future__ import annotations

import importlib
import os
import pathlib
import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from ...planning import POISON
from .. import adapt, surroundings
from ..decode.built import PADDING, Built
from ..decode.result import SCALE
from ..engine import Machine
from ..line import CaseLine
from ..observed import Observed
from ..step import EngineStep
from .drafts import propose, verified
from .runner import MOST_ROWS, Limits, Runner, scheduled

#: What `--option` takes: whether drafts of the step before were rejected; which draft step after a
#: verified one a case is, 0 for none; whether the longest request of a server fills its last block.
OPTIONS: dict[str, tuple[str, ...]] = {
    "rejected": ("some", "none"), "draft": ("0", "1", "2", "3"), "longest": ("blocks", "exact")}
_BUILDER = "atom.model_ops.attentions.aiter_mla"
_LAYER = "atom.model_ops.attention_mla"


class AtomEngine:
    """Decode (engine.py). One process imitates one machine."""

    name = "atom"

    def __init__(self, machine: Machine) -> None:
        tree = source()
        self.ported = surroundings.enter(machine, all_names=True).ported
        self.version = surroundings.version_of(tree, "ATOM_VERSION", "atom") or "unknown"
        self._module: Any = imported(_BUILDER, self.version)
        self._layers: Any = imported(_LAYER, self.version)
        self.aiter = surroundings.aiter_version()
        self.sources: tuple[str, ...] = (str(self._module.__file__),)
        self.attends = not machine.without_aiter
        self._options = machine.option(OPTIONS)
        self._draft = int(self._options["draft"])
        self._observed = Observed(machine.arch, machine.compute_units)
        one_rank()

    def adapt(self, line: CaseLine) -> CaseLine:
        """Equal rows, the same in each step, up to 5; the query has the cache's type and scale.

        A server has one number of drafts, and each request of a decode has as many rows. Heads
        above 16 become a multiple of 16. On gfx942 three of four cases have up to 4 rows, so that
        ATOM-03 of the ledger does not end most of them. A draft step has one row, and no graph.
        """
        made = adapt.common(line)
        kv, scale = (made[name].partition("/")[2] for name in ("dtype", "scale"))
        heads = int(made["heads"])
        seed = int(made["data"].rpartition(".")[2])
        most = MOST_ROWS if made["arch"] == "gfx950" or seed % 4 == 0 else MOST_ROWS - 1
        asked = [made.requests(number) for number in range(len(made.steps))]
        rows = 1 if self._draft else min(max(r for step in asked for r, _ in step), most)
        steps = [[(rows, max(rows + self._draft, keys)) for _, keys in step] for step in asked]
        fields = {"pad": "0"} if self._draft else {}
        return CaseLine.parse(str(made.with_requests(steps).with_fields(
            dtype=f"{kv}/{kv}", scale=f"{scale}/{scale}", page="1",
            heads=str(heads if heads < 16 else -(-heads // 16) * 16), **fields)))

    def refuses(self, step: EngineStep) -> str | None:
        """By what its builder passes to the planner."""
        if not step.causal:
            return "ATOM's attention over the MLA cache is causal"
        if step.dtype_q != step.dtype_kv:
            return "ATOM's query has the type of the cache"
        return None

    def start(self, steps: Sequence[EngineStep]) -> None:
        """A builder with room for these steps; its plan buffers are poison."""
        if self._draft:
            steps = [verified(step, self._draft).target for step in steps]
        first, limits = steps[0], Limits.of(steps, exact=self._options["longest"] == "exact")
        self._config = configuration(first, limits)
        importlib.import_module("atom.config").set_current_atom_config(self._config)
        buffer = importlib.import_module("atom.utils").CpuGpuBuffer
        self._runner = Runner(self._config, limits, first.block_size, buffer)
        self._rows = limits.rows
        self._builder = self._module.AiterMLAMetadataBuilder(self._runner)
        self._layer: Any = None
        for name, value in self._runner.forward_vars.items():
            if name.startswith(("work_", "reduce_")) and value.dtype == torch.int32:
                value.fill_(int(POISON))
        self._runner.forward_vars["kv_indices"].gpu.fill_(int(POISON))

    def build(self, step: EngineStep) -> Built:
        """prepare_decode outside of graphs, and what the proposer makes of it for a draft step."""
        if not self._draft:
            return self._built(step, self._prepare(step, step.requests), step.requests)
        drafting = verified(step, self._draft)
        metadata = self._prepare(drafting.target, step.requests)
        with torch.inference_mode():
            propose(self._builder, self._runner, metadata, drafting)
        return self._built(step, metadata, step.requests, {"max_seqlen_qo": 1, "uni_seqlen_qo": 1})

    def capture(self, step: EngineStep) -> Built | None:
        """build_for_cudagraph_capture, on buffers as the runner leaves them before a capture."""
        requests = step.requests + step.pad
        self._observed.clear()
        with self._runner.forward():
            self._runner.warm(requests, self._rows)
            metadata, _ = self._builder.build_for_cudagraph_capture(requests)
        self._captured = requests
        return self._built(step, metadata, requests)

    def replay(self, step: EngineStep, captured: Built) -> Built:
        """prepare_decode with padding; the graph reads what the capture named."""
        self._prepare(step, self._captured)
        return self._built(step, captured.metadata, self._captured)

    def _prepare(self, step: EngineStep, requests: int) -> Any:
        self._observed.clear()
        rejected = self._rejected(step)
        self._runner.tokenID_processor.num_rejected = rejected if self._rows > 1 else None
        with self._runner.forward():
            self._runner.rows(step.query_lens, requests)
            metadata, _ = self._builder.build(scheduled(step, rejected), requests)
        return metadata

    def _rejected(self, step: EngineStep) -> np.ndarray:
        if self._options["rejected"] == "none" or self._rows == 1 or self._draft:
            return np.zeros(step.requests, np.int64)
        drawn = np.random.default_rng(step.data_seed).integers(0, self._rows, step.requests)
        return np.minimum(drawn, self._config.max_model_len - np.array(step.seq_lens))

    def _built(
        self, step: EngineStep, metadata: Any, requests: int, moved: dict[str, int] | None = None
    ) -> Built:
        """What a kernel would find at the addresses in `metadata` now.

        Args:
            moved: what is different in a plan that was moved on.
        """
        lists = {"seqlens_qo_indptr": metadata.cu_seqlens_q,
                 "seqlens_kv_indptr": metadata.kv_indptr,
                 "kv_last_page_lens": metadata.kv_last_page_lens,
                 "kv_indices": metadata.kv_indices}
        asked = {**self._observed.decode[-1], **(moved or {})}
        bundle = self._observed.planned(f"{step.case} step {step.number}", asked, lists)
        owners = tuple(i if i < step.requests else PADDING for i in range(requests))
        return Built(bundle, owners, metadata)

    def attend(
        self, step: EngineStep, built: Built, q: np.ndarray, cache: np.ndarray
    ) -> np.ndarray:
        """MLAAttention._forward_decode, without the projections of its result."""
        assert built.bundle is not None
        rows, live = int(built.bundle.arrays["seqlens_qo_indptr"][-1]), q.shape[0]
        padded = np.zeros((max(rows, live), *q.shape[1:]), q.dtype)
        padded[:live] = q
        layer = self._layer or self._made_layer(step)
        slots = cache.reshape(step.pool_blocks * step.block_size, 1, -1)
        with torch.inference_mode():
            out = layer._forward_decode(
                surroundings.on_device(padded, step.dtype_q),
                surroundings.on_device(slots, step.dtype_kv), built.metadata)
        result: np.ndarray = out[:live].float().cpu().numpy()
        return result

    def _made_layer(self, step: EngineStep) -> Any:
        modules = self._layers.MLAModules(
            q_lora_rank=1536, kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64,
            qk_head_dim=192, v_head_dim=128, rotary_emb=None, q_proj=None, kv_b_proj=None,
            o_proj=None, indexer=None)
        made = self._layers.MLAAttention(
            step.heads, 576, SCALE, 1, self._config.kv_cache_dtype, mla_modules=modules)
        made._v_up_proj_and_o_proj = lambda out: out
        made._q_scale, made._k_scale = (
            torch.full((1,), scale, device="cuda") for scale in (step.q_scale, step.kv_scale))
        self._layer = made
        return made


def configuration(step: EngineStep, limits: Limits) -> SimpleNamespace:
    """What builder and layer read of ATOM's Config, with its names."""
    compilation = SimpleNamespace(static_forward_context={})
    model = SimpleNamespace(
        num_attention_heads=step.heads, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128)
    return SimpleNamespace(
        hf_config=model, kv_cache_dtype="fp8" if step.dtype_kv == "fp8" else "bf16",
        kv_cache_block_size=step.block_size, max_model_len=limits.keys, attn_prefill_chunk_size=0,
        torch_dtype=torch.bfloat16, decode_context_parallel_size=1,
        prefill_context_parallel_size=1, enable_tbo=False, enable_tbo_decode=False,
        enable_rapidserve=False, compilation_config=compilation)


def source() -> pathlib.Path | None:
    """ATOM's source tree, which ATOM_SRC names, made importable; None: an installed one.

    Raises:
        ImportError: the variable names no such tree.
    """
    named = os.environ.get("ATOM_SRC")
    if not named:
        return None
    tree = pathlib.Path(named)
    if not (tree / "atom" / "model_ops").is_dir():
        raise ImportError(f"ATOM_SRC is '{named}', which is no source tree of ATOM: it has no "
                          "atom/model_ops")
    sys.path.insert(0, str(tree))
    return tree


def imported(module: str, version: str) -> Any:
    """A module of ATOM.

    Raises:
        ImportError: ATOM, or something that it imports, is missing.
    """
    try:
        return importlib.import_module(module)
    except ImportError as e:
        if e.name == "atom":
            raise ImportError("ATOM is not installed, and ATOM_SRC names no source tree of it "
                              "(git clone https://github.com/ROCm/ATOM)", name=e.name) from e
        raise ImportError(f"ATOM {version} cannot be imported: {e}; docs/use/engines.md lists what "
                          "it needs", name=e.name) from e


def one_rank() -> None:
    """The groups of a server on one GPU, as builder and layer ask AITER for them."""
    state: Any = importlib.import_module("aiter.dist.parallel_state")
    for name in ("_TP", "_DP"):
        if getattr(state, name, None) is None:
            setattr(state, name, SimpleNamespace(world_size=1, rank_in_group=0))
