"""SglangEngine: SGLang's AiterAttnBackend as an engine that the judge can ask."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...planning import POISON
from .. import adapt, surroundings
from ..decode.built import PADDING, Built
from ..engine import Machine
from ..line import CaseLine
from ..observed import Observed
from ..step import EngineStep
from . import attention, batch, machine, metadata, server, versions
from .batch import Mode

#: Keys from which planner v1.0 of gfx950 gives a request with 16 rows a split.
_LONG = 196 + batch.MOST_DRAFT_ROWS
#: One of so many servers has DP attention: those of cases whose data has a multiple of it as seed.
_DP_ATTENTION = 5
_GLOBALS = ("_use_mla_ps_kernel", "fast_mode", "intra_batch_mode")


class SglangEngine:
    """An adapter (engine.py). One process imitates one machine."""

    name = "sglang"

    def __init__(self, of: Machine) -> None:
        self.machine = of
        stage = surroundings.enter(of, all_names=True)  # it imports a hundred: all or none of them
        self.ported = stage.ported
        machine.prepare()
        self.module: Any = machine.import_backend()
        self.sources: tuple[str, ...] = (str(self.module.__file__),)
        self.version = machine.version()
        self.aiter = surroundings.aiter_version()
        self.attends = not of.without_aiter
        self.observed = Observed(of.arch, of.compute_units)
        self._globals = {name: getattr(self.module, name) for name in _GLOBALS}
        self._graph = False
        self._captures: dict[tuple[Mode, int], Built] = {}
        self._refused: dict[tuple[int, str, int], str | None] = {}

    def adapt(self, line: CaseLine) -> CaseLine:
        """Equal rows where no request has more than 16, one scale for query and cache.

        Heads above 16 become a multiple of 16, blocks a power of two, because AITER's planner gets
        the block as its granularity. On gfx950 two of three cases have long requests only, so that
        SGLANG-04 of the ledger does not end most of them.
        """
        made = adapt.common(line)
        scale = made["scale"].partition("/")[2]
        dtype_q, _, dtype_kv = made["dtype"].partition("/")
        heads, block = int(made["heads"]), int(made["block"])
        fewest = _LONG if made["arch"] == "gfx950" and _seed(made) % 3 else 0
        steps = [_equal_rows(made.requests(number), fewest) for number in range(len(made.steps))]
        return CaseLine.parse(str(made.with_requests(steps).with_fields(
            scale=f"{scale}/{scale}", heads=str(heads if heads < 16 else -(-heads // 16) * 16),
            block=str(1 << (block - 1).bit_length()),
            dtype=f"{dtype_q if dtype_kv == 'fp8' else 'bf16'}/{dtype_kv}")))

    def refuses(self, step: EngineStep) -> str | None:
        """By the assertions of AiterAttnBackend's constructor, and by what its callers pass."""
        if step.dtype_q == "fp8" and step.dtype_kv != "fp8":
            return "SGLang makes an fp8 query only for an fp8 cache"
        if step.dtype_q == step.dtype_kv == "fp8" and step.q_scale != step.kv_scale:
            return "SGLang scales the query by the scale of the cache"
        if not step.causal:
            return "SGLang's attention over the MLA cache is causal"
        asked = (step.heads, step.dtype_kv, max(step.query_lens))
        if asked not in self._refused:
            self._refused[asked] = self._assertion(step)
        return self._refused[asked]

    def _assertion(self, step: EngineStep) -> str | None:
        try:
            self.backend_of([step])
        except AssertionError as e:
            return "SGLang: " + " ".join(str(e).split())
        return None

    def backend_of(self, steps: Sequence[EngineStep]) -> Any:
        """A new backend, by SGLang's own constructor, in a server that is large enough.

        The globals of the module are those of a process that has made no backend yet.
        """
        self._forget()
        return self.another_backend(server_of(steps))

    def _forget(self) -> None:
        """The module's globals are those after its import."""
        for name, value in self._globals.items():
            setattr(self.module, name, value)

    def another_backend(self, configuration: server.Server, **arguments: Any) -> Any:
        """A further backend in this process; `arguments` go to its constructor."""
        made = server.runner(configuration, server.publish(configuration))
        with server.poisoned(int(POISON)):
            backend = self.module.AiterAttnBackend(made, **arguments)
        backend.mla_testbed_runner = made
        return backend

    def start(self, steps: Sequence[EngineStep]) -> None:
        """One backend for all steps; graph buffers if one of them has graph padding."""
        self.backend = self.backend_of(steps)
        self._captures.clear()
        self._graph = any(step.pad for step in steps)
        if self._graph:
            most = max(step.requests + step.pad for step in steps)
            rows = max(max(step.query_lens) for step in steps)
            with server.poisoned(int(POISON)):
                self.backend.init_cuda_graph_state(most, most * rows)

    def build(self, step: EngineStep) -> Built:
        """init_forward_metadata."""
        made = batch.of_step(step, batch.mode_of(step))
        forward_batch = self._forward_batch(made)
        with self._recorded(step):
            self.backend.init_forward_metadata(forward_batch)
        return self._built(step, attention.Kept(made, self.backend.forward_metadata, forward_batch))

    def capture(self, step: EngineStep) -> Built | None:
        """init_forward_metadata_out_graph as SGLang captures: all requests are padding."""
        mode = batch.mode_of(step)
        if not self._graph or mode is Mode.EXTEND:
            return None
        made = batch.padding(mode, step.requests + step.pad, step.query_lens[0], self._fill())
        forward_batch = self._forward_batch(made)
        with self._recorded(step):
            versions.graph_metadata(self.backend, made, forward_batch, in_capture=True)
        kept = attention.Kept(made, self.backend.forward_metadata, forward_batch)
        reads = metadata.addresses(kept.metadata)
        made_for = mode, step.query_lens[0]
        self._captures[made_for] = dataclasses.replace(
            self._built(step, kept, live=0), addresses=reads)
        return self._captures[made_for]

    def replay(self, step: EngineStep, captured: Built) -> Built:
        """init_forward_metadata_out_graph with the step's requests and padding after them.

        A step of another mode, or of more rows, has a graph of its own; a prefill has none.
        """
        mode = batch.mode_of(step)
        count = len(captured.metadata.batch.rows)
        graph = self._captures.get((mode, step.query_lens[0])) or self.capture(
            dataclasses.replace(step, pad=count - step.requests))
        if graph is None:
            return self.build(step)
        kept: attention.Kept = graph.metadata
        made = batch.refill(kept.batch, step, self._fill())
        forward_batch = self._forward_batch(made)
        with self._recorded(step):
            versions.graph_metadata(self.backend, made, forward_batch, in_capture=False)
        reads = metadata.addresses(self.backend.forward_metadata)
        return dataclasses.replace(self._built(step, kept), addresses=reads)

    def idle(self, step: EngineStep, count: int) -> Built:
        """init_forward_metadata of a rank without requests, as wide as its neighbours' batches.

        Args:
            step: of the server that `start` made.
        """
        made = batch.padding(Mode.IDLE, count, 1, self._fill())
        made = dataclasses.replace(made, seq_lens_sum=int(made.seq_lens_cpu.sum()))
        forward_batch = self._forward_batch(made)
        with self._recorded(step):
            self.backend.init_forward_metadata(forward_batch)
        return self._built(
            step, attention.Kept(made, self.backend.forward_metadata, forward_batch), live=0)

    def attend(
        self, step: EngineStep, built: Built, q: np.ndarray, cache: np.ndarray
    ) -> np.ndarray:
        """forward_decode or forward_extend."""
        return attention.attend(self.backend, step, built, q, cache)

    def _built(self, step: EngineStep, kept: attention.Kept, live: int | None = None) -> Built:
        count = step.requests if live is None else live
        requests = tuple(range(count))
        if kept.batch.mode is Mode.EXTEND:
            return Built(None, (), kept, others=tuple(self.observed.prefill), elsewhere=requests)
        scalars = {"num_heads_per_head_k": int(self.backend.num_head_padded), "num_heads_k": 1,
                   "is_causal": True, "page_size": 1, "max_seqlen_qo": kept.batch.rows[0],
                   "dtype_q": step.dtype_q, "dtype_kv": step.dtype_kv}
        made = metadata.bundle_of(step.case, kept.metadata, self.observed, scalars)
        return Built(made, requests + (PADDING,) * (len(kept.batch.rows) - count), kept)

    def _forward_batch(self, made: batch.Batch) -> Any:
        runner = self.backend.mla_testbed_runner
        return versions.forward_batch(made.fields(), {
            "req_to_token_pool": runner.req_to_token_pool,
            "token_to_kv_pool": runner.token_to_kv_pool, "attn_backend": self.backend})

    def _fill(self) -> int:
        """Keys that SGLang gives to graph padding."""
        return int(self.backend.get_cuda_graph_seq_len_fill_value())

    @contextlib.contextmanager
    def _recorded(self, step: EngineStep) -> Iterator[None]:
        batch.place(step, self.backend.req_to_token)
        self.observed.clear()
        with server.poisoned(int(POISON)):
            yield


def server_of(steps: Sequence[EngineStep]) -> server.Server:
    """A server that is large enough for the steps, and not larger."""
    modes = [batch.mode_of(step) for step in steps]
    drafts = [max(step.query_lens) for step, mode in zip(steps, modes, strict=True) if mode.drafts]
    context = max(max(step.seq_lens) for step in steps)
    first = steps[0]
    return server.Server(
        heads=first.heads, fp8_cache=first.dtype_kv == "fp8", page_size=first.block_size,
        draft_tokens=max(drafts) if drafts else None, draft_steps=1 if drafts else None,
        max_requests=max(step.requests for step in steps), context=context,
        dp_attention=first.data_seed % _DP_ATTENTION == 0)


def _seed(line: CaseLine) -> int:
    return int(line["data"].rpartition(".")[2])


def _equal_rows(requests: list[tuple[int, int]], fewest: int) -> list[tuple[int, int]]:
    most = max(rows for rows, _ in requests)
    if most > batch.MOST_DRAFT_ROWS:
        return [(rows, max(keys, fewest)) for rows, keys in requests]
    return [(most, max(most, keys, fewest)) for _, keys in requests]
