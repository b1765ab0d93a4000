"""Watches a whole SGLang while it serves: steps, layers, logits, and the lists of its decodes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from ..decode.built import PADDING, Built
from ..e2e.collectives import Collectives
from ..e2e.indexed import hadamard
from ..e2e.model import PLAIN, ROPE
from ..e2e.recorder import Recorder, copied, put, unplanned
from ..e2e.scenario import Scenario
from ..e2e.traced import Served, Step
from ..e2e.written import Written
from ..moved import replace
from ..observed import Observed
from . import metadata
from .releases import SUPPORTED

_POOL = "sglang.srt.mem_cache.memory_pool:MLATokenToKVPool."
_RUNNER = "sglang.srt.model_executor.model_runner:ModelRunner."
_DSA = "sglang.srt.layers.attention.dsa_backend:mla_decode_fwd"
_INDEXER = "sglang.srt.layers.attention.dsa.dsa_indexer:Indexer."
_BACKEND = "sglang.srt.layers.attention.aiter_backend:AiterAttnBackend."


#: Where a slot is that belongs to another request, or to none.
NOWHERE = 1 << 20


class Watch(Recorder):
    """The steps of one SGLang. A step is a batch that its scheduler runs."""

    def __init__(self, version: str, scenario: Scenario, observed: Observed) -> None:
        super().__init__(scenario, observed)
        if scenario.spec == "none":
            self.written = Written(unused=[0])  # SGLang's place for rows of padding
        self._collectives: Collectives | None = None
        self._modules: set[Any] = set()  # those of the target, not of a draft model
        at = functools.partial(replace, f"SGLang {version}", SUPPORTED)
        at("sglang.srt.managers.scheduler:Scheduler.run_batch", self._batch)
        at(_RUNNER + "load_model", self._loaded)
        at(_RUNNER + "forward", self._model)
        at("sglang.srt.layers.logits_processor:LogitsProcessor.forward", self._logits)
        at("sglang.srt.layers.radix_attention:RadixAttention.forward", self._query)
        at(_POOL + "set_kv_buffer", self._latent)
        at(_POOL + "set_mla_kv_buffer", self._two_parts)
        at(_BACKEND + "forward_decode", self._decode)
        at(_BACKEND + "forward_extend", self._decode)
        if scenario.model == "dsa":
            at(_DSA, self._selected_lists)
            at(_INDEXER + "_get_q_k_bf16", self._indexed)
            at(_INDEXER + "_get_k_bf16", self._index_key)

    def _loaded(self, before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def load_model(runner: Any, *rest: Any, **named: Any) -> Any:
            found = before(runner, *rest, **named)
            if not runner.is_draft_worker:
                self._modules = set(runner.model.modules())
                for number, layer in enumerate(runner.model.model.layers):
                    layer.self_attn.o_proj.register_forward_pre_hook(
                        functools.partial(self._attended, number))
            return found

        return load_model

    def _batch(self, before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def run_batch(scheduler: Any, batch: Any, *rest: Any, **named: Any) -> Any:
            if self.on:
                self.given = None
                self.steps.append(Step(len(self.steps), self._served(batch)))
                if self._collectives is not None:
                    self._collectives.step = len(self.steps) - 1
                self._writes(self.steps[-1], scheduler)
            return before(scheduler, batch, *rest, **named)

        return run_batch

    def _writes(self, step: Step | None, scheduler: Any) -> None:
        """A step begins; None: the last one ended. Drafts write where a later step does not."""
        if self.written is not None:
            pool = scheduler.token_to_kv_pool_allocator.get_kvcache()
            self.written.begins(step, [cache.flatten(1) for cache in pool.kv_buffer])

    def joined(self, collectives: Collectives) -> None:
        """This is one rank of several."""
        self._collectives = collectives

    def ended(self, scheduler: Any) -> None:
        """The scheduler's loop ended."""
        self._writes(None, scheduler)

    def _served(self, batch: Any) -> list[Served]:
        drafts = self._scenario.draft + 1
        rows = batch.extend_lens if batch.forward_mode.is_extend() else [drafts] * len(batch.reqs)
        made, first, size = [], 0, self._scenario.block
        with _disable_current_modes():
            table = batch.req_to_token_pool.req_to_token
            for req, place, count in zip(batch.reqs, batch.req_pool_indices.tolist(), rows,
                                         strict=True):
                slots = table[place][::size]
                made.append(Served(int(str(req.rid).partition("-")[0]), int(count), first,
                                   tuple(int(slot) // size for slot in slots)))
                first += int(count)
        return made

    def _model(self, before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def forward(runner: Any, batch: Any, *rest: Any, **named: Any) -> Any:
            if self.on and self.given is None and not runner.is_draft_worker:
                self.given = batch.input_ids, batch.positions
            return before(runner, batch, *rest, **named)

        return forward

    def _logits(self, before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def forward(processor: Any, tokens: Any, *rest: Any, **named: Any) -> Any:
            found = before(processor, tokens, *rest, **named)
            logits = getattr(found, "next_token_logits", None)
            if logits is not None and processor in self._modules:
                self.launch([logits], lambda: self._put(logits))
            return found

        return forward

    def _put(self, logits: torch.Tensor) -> None:
        """Of each row, or of the last one of each request."""
        if not self.on or not self.steps:
            return
        step = self.steps[-1]
        last = torch.tensor([one.first + one.rows - 1 for one in step.served])
        rows = torch.arange(step.rows) if len(logits) >= step.rows else last
        put(step, logits=copied(logits)[:len(rows)].float(), logit_rows=rows)

    def _keep(self, layer: int, name: str, tensor: torch.Tensor) -> None:
        if layer >= 0:
            kept = self.keep(layer)
            self.launch([tensor], lambda: kept({name: tensor}))

    def _number(self, layer: Any) -> int:
        """Of a layer of the target; -1 for one of a draft model."""
        return int(layer.layer_id) if layer in self._modules else -1

    def _attended(self, number: int, module: Any, given: tuple[Any, ...]) -> None:
        self._keep(number, "attention", given[0])

    def _query(self, before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def forward(layer: Any, q: torch.Tensor, *rest: Any, **named: Any) -> Any:
            # Of a prefill; the query of a decode is absorbed, and no tensor of the reference is.
            if layer.qk_head_dim == PLAIN + ROPE:
                self._keep(self._number(layer), "query", q)
            self.attending = self._number(layer)
            if named.get("topk_indices") is not None:
                self._selection(self.attending, named["topk_indices"])
            try:
                return before(layer, q, *rest, **named)
            finally:
                self.attending = -1

        return forward

    def _indexed(self, before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def q_and_k(indexer: Any, *rest: Any, **named: Any) -> Any:
            made = before(indexer, *rest, **named)
            self._rotated(indexer, {"index query": made[0], "index key": made[1]})
            return made

        return q_and_k

    def _index_key(self, before: Callable[..., Any]) -> Callable[..., Any]:
        """Of steps in which no row has more keys than it selects."""
        @functools.wraps(before)
        def k_alone(indexer: Any, *rest: Any, **named: Any) -> Any:
            made = before(indexer, *rest, **named)
            self._rotated(indexer, {"index key": made})
            return made

        return k_alone

    def _rotated(self, indexer: Any, found: dict[str, torch.Tensor]) -> None:
        """SGLang hands them to their caller rotated."""
        if indexer in self._modules:
            kept = self.keep(int(indexer.layer_id))

            def keep() -> None:
                if self.on:
                    kept({name: hadamard(copied(value).float()) for name, value in found.items()})

            self.launch(list(found.values()), keep)

    def _selection(self, number: int, slots: torch.Tensor) -> None:
        """As the indexer leaves it: slots of the cache, of which positions are made here."""
        if number >= 0:
            kept = self.keep(number)

            def keep() -> None:
                if self.on and self.steps:
                    kept({"selection": self._positions(copied(slots))})

            self.launch([slots], keep)

    def _positions(self, slots: torch.Tensor) -> torch.Tensor:
        """(rows, k): positions in the row's request; NOWHERE for a slot that is not the request's.
        """
        size, made = self._scenario.block, torch.full_like(slots, NOWHERE)
        made[slots == -1] = -1
        for one in self.steps[-1].served:
            rows = slots[one.first:one.first + one.rows]
            for place in reversed(range(len(one.blocks))):  # the first of several is the request's
                within = (rows >= 0) & (rows // size == one.blocks[place])
                made[one.first:one.first + one.rows][within] = (
                    place * size + rows[within] % size)
        return made

    def _selected_lists(self, before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def mla_decode_fwd(q: Any, kv: Any, out: Any, *lists: Any, **named: Any) -> Any:
            # As long as the batch: AITER takes longer ones, what stands for its stage 1 does not.
            rows = int(lists[0].numel()) - 1
            given = (lists[0], lists[1][:rows + 1], lists[2], lists[3][:rows])
            number = self.attending
            if self.lists_of(number):
                self.launch([out], lambda: self._of_rows(number, given, named))
            return before(q, kv, out, *given[:3], torch.ones_like(given[3]), *lists[4:], **named)

        return mla_decode_fwd

    def _of_rows(self, number: int, given: tuple[torch.Tensor, ...], named: dict[str, Any],
                 ) -> None:
        """What the kernel of selected keys read: a list for each row."""
        if not self.on or not self.steps:
            return
        step = self.steps[-1]
        if (step.built if number == 0 else step.later.get(number)) is not None:
            return
        with _disable_current_modes():
            lists = dict(zip(metadata.LISTS.values(), map(copied, (
                given[0], given[1], given[3], given[2])), strict=True))
            # What follows is left from other steps, and nobody reads it.
            lists["kv_indices"] = lists["kv_indices"][:int(lists["seqlens_kv_indptr"][-1])]
            call, name = self.planned(named.get("work_indptr")), f"step {step.number}"
            if call is None:
                bundle = self._observed.unplanned(name, unplanned(self._scenario, 1), lists)
            else:  # planner v1.0 does not read topk, which SGLang passes; its lists are that short
                bundle = self._observed.planned(name, {**call, "topk": -1}, lists)
        owners = [i for i, one in enumerate(step.served) for _ in range(one.rows)]
        rows = len(lists["kv_last_page_lens"])
        self.keep_lists(step, number, Built(
            bundle, (*owners, *[PADDING] * (rows - len(owners))), None, padding_keys=1,
            last_pages_are_sums=self._scenario.cache == "bf16"))

    def _latent(self, before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def set_kv_buffer(pool: Any, layer: Any, loc: Any, k: torch.Tensor, v: Any,
                          *rest: Any, **named: Any) -> Any:
            self._keep(self._number(layer), "key", k)
            return before(pool, layer, loc, k, v, *rest, **named)

        return set_kv_buffer

    def _two_parts(self, before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def set_mla_kv_buffer(pool: Any, layer: Any, loc: Any, latent: torch.Tensor,
                              rope: torch.Tensor, *rest: Any, **named: Any) -> Any:
            self._keep(self._number(layer), "key",
                       torch.cat([latent.flatten(1), rope.flatten(1)], -1))
            return before(pool, layer, loc, latent, rope, *rest, **named)

        return set_mla_kv_buffer

    def _decode(self, before: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def forward(backend: Any, q: Any, k: Any, v: Any, layer: Any, batch: Any,
                    *rest: Any, **named: Any) -> Any:
            mode = batch.forward_mode
            if self._number(layer) == 0 and (
                    mode.is_decode_or_idle() or mode.is_target_verify()):
                made = backend.forward_metadata
                self.launch([], lambda: self._lists(made, int(batch.batch_size)))
            return before(backend, q, k, v, layer, batch, *rest, **named)

        return forward

    def _lists(self, made: Any, requests: int) -> None:
        """What the decode kernels of this step are about to read."""
        if not self.on or not self.steps or self.steps[-1].built is not None:
            return
        step = self.steps[-1]
        with _disable_current_modes():
            lists = {key: copied(getattr(made, field)) for field, key in metadata.LISTS.items()}
            call = self.planned(getattr(made, "work_indptr", None))
            scalars = unplanned(self._scenario, int(made.max_q_len or 1))
            name = f"step {step.number}"
            bundle = (self._observed.unplanned(name, scalars, lists) if call is None
                      else self._observed.planned(name, call, lists))
        live = len(step.served)
        step.built = Built(bundle, tuple(i if i < live else PADDING for i in range(requests)),
                           None, elsewhere=tuple(range(requests, live)))
