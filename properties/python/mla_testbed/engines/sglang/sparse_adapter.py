"""SGLang's DeepseekSparseAttnBackend on our steps: V3.2 and GLM-5 with AITER's kernels."""

from __future__ import annotations

import dataclasses
import importlib
import os
import types
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ... import mla_bundle
from ...planning import POISON
from ..decode.built import PADDING, Built
from ..engine import Machine
from ..line import CaseLine
from ..sparse.step import TOPKS, SparseStep, model_of
from ..step import EngineStep
from . import attention, batch, indexer, server, sparse_indexer, versions
from .adapter import SglangEngine, server_of
from .attention import Kept
from .batch import Mode

BACKEND = "sglang.srt.layers.attention.dsa_backend"
#: What the kernel gets, by position, and by name.
_LISTS = ("qo_indptr", "kv_indptr", "kv_indices", "kv_last_page_lens")
_PLAN = ("work_indptr", "work_info_set", "reduce_indptr", "reduce_final_map", "reduce_partial_map")
_IN_BUNDLE = {"qo_indptr": "seqlens_qo_indptr", "kv_indptr": "seqlens_kv_indptr",
              "work_info_set": "work_info"}


class SglangSparse(SglangEngine):
    """One SGLang, one architecture.

    The backend makes lists in its forward, out of an indexer's positions and its page table: the
    forward is called, and what it hands to mla_decode_fwd is judged. Where nothing is attended it
    ends there. The selection is that of SGLang's indexer; for steps of which that would take long,
    and for blocks that its kernels do not take, it is drawn.

    A row selects 2,048 keys, whose positions come from SGLang's own top-k in torch. With an indexer
    it may be fewer: of these the fused top-k gives slots.
    """

    def __init__(self, of: Machine) -> None:
        indexer.legacy_writer()
        super().__init__(of)
        self.module = importlib.import_module(BACKEND)
        self.sources = (str(self.module.__file__),)
        self._kernel = self.module.mla_decode_fwd
        self._calls: list[dict[str, Any]] = []
        self._indexer: sparse_indexer.Indexer | None = None
        self._indexes = sparse_indexer.there(self.version, attends=self.attends)
        if self._indexes:
            sparse_indexer.install(self.version)

    def adapt(self, line: CaseLine) -> CaseLine:
        """As for decode. A cache has one layer, and its scale is 1; the query is bf16. Without an
        indexer each row selects up to 2,048 keys."""
        made = super().adapt(line)
        kind, _, seed = made["data"].rpartition(".")
        topk = sparse_indexer.UNFUSED
        if self._indexes and sparse_indexer.block_is_served(int(made["block"])):
            topk = model_of(made)[0]
        number = int(seed) - int(seed) % (2 * len(TOPKS)) + TOPKS.index(topk)
        return CaseLine.parse(str(made.with_fields(
            data=f"{kind}.{number}", scale="1/1",
            dtype=f"bf16/{made['dtype'].partition('/')[2]}")))

    def refuses(self, step: EngineStep) -> str | None:
        """It has no assertions about heads."""
        return None if step.causal else "SGLang's attention over the MLA cache is causal"

    def start(self, steps: Sequence[SparseStep]) -> None:  # type: ignore[override]
        """One backend for all steps and its indexer; graph buffers if one has graph padding."""
        super().start(steps)
        self._indexer = None
        if self._indexes and sparse_indexer.block_is_served(steps[0].block_size) and all(
                map(sparse_indexer.affordable, steps)):
            self._indexer = sparse_indexer.Indexer(self.backend, steps[0].topk,
                                                   max(max(step.seq_lens) for step in steps))

    def backend_of(self, steps: Sequence[EngineStep]) -> Any:
        """By SGLang's own constructor, in a server whose page table has room for graph padding."""
        self._globals = {}
        topk = getattr(steps[0], "topk", sparse_indexer.UNFUSED)
        os.environ.update(sparse_indexer.switches(topk))
        most = max(step.requests + step.pad for step in steps)
        made = dataclasses.replace(server_of(steps), max_requests=most)
        arguments = server.publish(made, {"dsa_prefill_backend": "aiter",
                                          "dsa_decode_backend": "aiter",
                                          "dsa_topk_backend": "sgl-kernel" if (
                                              topk != sparse_indexer.UNFUSED) else "torch",
                                          "enable_two_batch_overlap": False})
        runner = server.runner(made, arguments)
        _with_selection(runner, made, topk)
        if self._indexes and sparse_indexer.block_is_served(made.page_size):
            runner.token_to_kv_pool = pool = sparse_indexer.pool_of(made)
            runner.token_to_kv_pool_allocator.get_kvcache = lambda: pool
        # A forward puts its own buffer into the pool, which is as large as the steps' caches.
        runner.token_to_kv_pool.size = max(step.pool_blocks * step.block_size for step in steps)
        with server.poisoned(int(POISON)):
            backend = self.module.DeepseekSparseAttnBackend(runner)
        backend.mla_testbed_runner = runner
        return backend

    def _built(self, step: SparseStep, kept: Kept, live: int | None = None,  # type: ignore[override]
               ) -> Built:
        """Of the lists that the forward hands to the kernel. Requests that it gives to dense
        attention are elsewhere."""
        count = step.requests if live is None else live
        if self.backend.use_mha:
            return Built(None, (), kept, elsewhere=tuple(range(count)))
        live_rows = sum(step.query_lens[:count])
        indexed = None
        if self._indexer is not None and live_rows:
            self.backend.forward_metadata = kept.metadata
            indexed, chosen = self._indexer.run(step, kept)
            kept = dataclasses.replace(kept, chosen=chosen)
        call = self._recorded_call(step, kept, live_rows)
        rows = int(call["qo_indptr"].numel()) - 1
        here = [request for request in range(count) for _ in range(step.query_lens[request])]
        lists = {"qo_indptr": call["qo_indptr"], "kv_indptr": call["kv_indptr"][:rows + 1],
                 "kv_indices": call["kv_indices"],
                 "kv_last_page_lens": call["kv_last_page_lens"][:rows]}
        if kept.batch.mode is not Mode.DECODE:  # a buffer of its own, of zeros
            lists["kv_indices"] = lists["kv_indices"][:int(lists["kv_indptr"][-1])]
        named = {_IN_BUNDLE.get(name, name): tensor for name, tensor in lists.items()}
        if self.observed.decode:
            plan = {_IN_BUNDLE.get(name, name): call[name] for name in _PLAN}
            # Planner v1.0 does not read topk, which SGLang passes; its lists are that short.
            asked = {**self.observed.decode[-1], "topk": -1}
            bundle = self.observed.planned(step.case, asked, {**named, **plan})
        else:
            bundle = self.observed.unplanned(
                step.case, {"num_heads_per_head_k": int(self.backend.num_head_padded),
                            "num_heads_k": 1, "page_size": 1, "is_causal": False,
                            "max_seqlen_qo": 1, "dtype_q": step.dtype_q,
                            "dtype_kv": step.dtype_kv}, named)
        reads = {"page_table_1": kept.metadata.page_table_1, "qo_indptr": call["qo_indptr"]}
        if kept.batch.mode is Mode.DECODE:
            reads.update({name: call[name] for name in ("kv_indptr", "kv_indices")})
        return Built(bundle, (*here, *[PADDING] * (rows - len(here))), kept,
                     padding_keys=self._padding(step, kept, count), indexed=indexed,
                     last_pages_are_sums=step.dtype_kv == "bf16",
                     addresses={name: mla_bundle.address(at) for name, at in reads.items()})

    def capture(self, step: SparseStep) -> Built | None:  # type: ignore[override]
        """As for dense decode, with the addresses that the forward reads."""
        mode = batch.mode_of(step)
        if not self._graph or mode is Mode.EXTEND:
            return None
        made = batch.padding(mode, step.requests + step.pad, step.query_lens[0], self._fill())
        forward_batch = self._forward_batch(made)
        with self._recorded(step):
            versions.graph_metadata(self.backend, made, forward_batch, in_capture=True)
            kept = Kept(made, self.backend.forward_metadata, forward_batch)
            found = self._built(step, kept, live=0)
        self._captures[mode, step.query_lens[0]] = found
        return found

    def replay(self, step: SparseStep, captured: Built) -> Built:  # type: ignore[override]
        """As for dense decode."""
        mode, count = batch.mode_of(step), len(captured.metadata.batch.rows)
        graph = self._captures.get((mode, step.query_lens[0])) or self.capture(
            dataclasses.replace(step, pad=count - step.requests))
        if graph is None:
            return self.build(step)
        kept: Kept = graph.metadata
        made = batch.refill(kept.batch, step, self._fill())
        forward_batch = self._forward_batch(made)
        with self._recorded(step):
            versions.graph_metadata(self.backend, made, forward_batch, in_capture=False)
            kept = Kept(made, self.backend.forward_metadata, forward_batch)
            return self._built(step, kept)

    def attend(self, step: SparseStep, built: Built, q: np.ndarray,  # type: ignore[override]
               cache: np.ndarray) -> np.ndarray:
        """forward_decode or forward_extend."""
        attention.fill(self.backend, cache)
        padded = np.zeros((len(built.requests), *q.shape[1:]), q.dtype)
        padded[:q.shape[0]] = q
        self.module.mla_decode_fwd = self._attend
        try:
            out = self._forward(step, built.metadata, torch.from_numpy(
                padded.view(np.int16)).to("cuda").view(torch.bfloat16), len(built.live))
        finally:
            self.module.mla_decode_fwd = self._kernel
        values: np.ndarray = out.reshape(len(built.requests), step.heads, -1).float().cpu().numpy()
        return values[:q.shape[0]]

    def _recorded_call(self, step: SparseStep, kept: Kept, live: int) -> dict[str, Any]:
        """What the forward hands to the kernel, which is not called."""
        self._calls.clear()
        self.backend.kv_indices.fill_(int(POISON))
        self.observed.clear()
        self.module.mla_decode_fwd = self._record
        try:
            rows = sum(kept.batch.rows)
            attention.fill(self.backend, np.zeros((1, server.WIDTH), np.uint16)
                           if step.dtype_kv == "bf16" else np.zeros((1, server.WIDTH), np.uint8))
            query = torch.zeros((rows, step.heads, server.WIDTH), dtype=torch.bfloat16,
                                device="cuda")
            with server.poisoned(int(POISON)):  # a forward plans in buffers of its own
                self._forward(step, kept, query, live)
        finally:
            self.module.mla_decode_fwd = self._kernel
        return self._calls[-1]

    def _attend(self, *lists: torch.Tensor, **named: Any) -> Any:
        """mla_decode_fwd with lists that end with the batch. AITER takes longer ones, and reads no
        lengths of last pages of one token; what stands for its stage 1 here asks for ones."""
        q, kv, out, qo_indptr, kv_indptr, kv_indices, last, *rest = lists
        rows = int(qo_indptr.numel()) - 1
        return self._kernel(q, kv, out, qo_indptr, kv_indptr[:rows + 1], kv_indices,
                            torch.ones_like(last[:rows]), *rest, **named)

    def _record(self, q: torch.Tensor, kv: torch.Tensor, out: torch.Tensor, qo_indptr: torch.Tensor,
                kv_indptr: torch.Tensor, kv_indices: torch.Tensor, kv_last_page_lens: torch.Tensor,
                *_: Any, **named: Any) -> None:
        """mla_decode_fwd's arguments, in its order."""
        lists = (qo_indptr, kv_indptr, kv_indices, kv_last_page_lens)
        self._calls.append({**dict(zip(_LISTS, lists, strict=True)), **named})

    def _forward(self, step: SparseStep, kept: Kept, query: torch.Tensor, live: int,
                 ) -> torch.Tensor:
        """A row of padding selects key 0: SGLang says that it has one."""
        self.backend.forward_metadata = kept.metadata
        selected = kept.chosen
        if selected is None:
            selected = torch.from_numpy(self._drawn(step, query.shape[0], live)).to("cuda")
        if kept.batch.mode is Mode.DECODE:
            made: torch.Tensor = self.backend.forward_decode(
                query.flatten(1), None, None, attention.layer_of(step), kept.forward_batch,
                save_kv_cache=False, topk_indices=selected)
            return made
        latent = server.KV_LORA_RANK
        extended: torch.Tensor = self.backend.forward_extend(
            query[..., :latent].contiguous(), None, None, attention.layer_of(step),
            kept.forward_batch, save_kv_cache=False, q_rope=query[..., latent:].contiguous(),
            topk_indices=selected)
        return extended


    def _padding(self, step: SparseStep, kept: Kept, live: int) -> tuple[int, ...]:
        """Keys of each row of padding: one, or what an indexer finds for a request of that many."""
        made: list[int] = []
        for rows in kept.batch.rows[live:]:
            seen = self._fill() + (0 if kept.batch.mode is Mode.VERIFY else -rows)
            made += [1 if kept.chosen is None else min(max(seen + place + 1, 0), step.topk)
                     for place in range(rows)]
        return tuple(made)

    def _drawn(self, step: SparseStep, rows: int, live: int) -> np.ndarray:
        """(rows, k): positions, or slots as a fused top-k gives them; slot 0 is padding's."""
        chosen = step.selection(0, rows)
        if self.backend.use_fused_topk:
            for row, request in enumerate(step.owners):
                keys = chosen[row] >= 0
                chosen[row, keys] = step.token_slots(int(request))[chosen[row, keys]]
        chosen[live:] = -1
        chosen[live:, 0] = 0
        return chosen


def _with_selection(runner: Any, made: server.Server, topk: int) -> None:
    """What this backend reads of a model runner beside what the dense one does."""
    runner.model_config.hf_config = types.SimpleNamespace(
        architectures=["DeepseekV32ForCausalLM"], index_topk=topk)
    for name, value in (("qk_nope_head_dim", 128), ("kv_lora_rank", server.KV_LORA_RANK),
                        ("qk_rope_head_dim", server.ROPE)):
        setattr(runner.model_config, name, value)
    runner.page_size, runner.hisparse_coordinator = made.page_size, None
    runner.is_draft_worker, runner.max_running_requests = False, made.max_requests


