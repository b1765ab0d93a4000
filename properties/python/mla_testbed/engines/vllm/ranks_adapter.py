"""vLLM's AiterMLAMetadataBuilder, AiterMLAImpl and MLADCPManager on several ranks that share each
context (decode context parallelism), all of them in one process, one after the other."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import torch

from ... import mla_bundle
from ...bundle import Bundle
from ..decode.built import PADDING, Built
from ..engine import Machine
from ..line import CaseLine
from ..ranks.built import Attended, Part, RankBuilt, Rows
from ..ranks.shard import Shard
from ..step import EngineStep
from . import config
from .adapter import VllmEngine
from .batch import NULL_BLOCK
from .ranks_group import Exchange, Group, install
from .ranks_runner import RankBuffers

#: Query heads of a model.
_MOST_HEADS = 128
#: An LSE that no row has: what is merged of an empty share has to be masked.
_MEANINGLESS = 7.0
OPTIONS = {"dcp": ("2", "4", "8"), "interleave": ("1", "2", "4", "16"),
           "merge": ("ag_rs", "a2a"), "speculation": ("mtp", "eagle3"),
           "backend": ("cpu", "aiter")}


class VllmRanks(VllmEngine):
    """Decode of all ranks."""

    OPTIONS: ClassVar = OPTIONS

    def __init__(self, machine: Machine) -> None:
        super().__init__(dataclasses.replace(
            machine, backend=machine.option(self.OPTIONS)["backend"]))
        self._shard = Shard(int(self._options["dcp"]), int(self._options["interleave"]))
        self._exchange = Exchange(self._shard.world)
        self._ranks: list[_Rank] = []
        self.attends = self.attends and _manager() is not None
        install()

    def adapt(self, line: CaseLine) -> CaseLine:
        """As for one; together the ranks have at most 128 heads, as models do."""
        most = _MOST_HEADS // self._shard.world
        return super().adapt(line.with_fields(heads=str(min(int(line["heads"]), most))))

    def refuses(self, step: EngineStep) -> str | None:
        """vLLM's own rules for head counts, blocks and speculation."""
        run, drafts = self._shard.interleave, config.Limits.of([step]).rows > 1
        if step.block_size % run:
            return f"blocks of {step.block_size} tokens hold no whole runs of {run}"
        if run > 1 and drafts:
            return f"vLLM has no speculation with an interleave of {run}"
        return self._refuses_heads(step.heads) or self._refuses_heads(
            step.heads * self._shard.world)

    def start(self, steps: Sequence[EngineStep]) -> None:
        """A builder, a layer and the runner's buffers for each rank."""
        self._ranks = [_Rank(self, Group(self._exchange, rank), self._shard, self._options["merge"])
                       for rank in range(self._shard.world)]
        for rank in self._ranks:
            rank.start(steps)

    def build(self, step: EngineStep) -> RankBuilt:  # type: ignore[override]
        """Outside of graphs."""
        return self._all(lambda _, rank: rank.part(step, rank.build(step)))

    def capture(self, step: EngineStep) -> RankBuilt | None:  # type: ignore[override]
        """On every rank."""
        captured = [rank.capture(step) for rank in self._ranks]
        if any(one is None for one in captured):
            return None
        return self._all(lambda at, rank: rank.part(step, captured[at]))  # type: ignore[arg-type]

    def replay(self, step: EngineStep, captured: RankBuilt) -> RankBuilt:  # type: ignore[override]
        """On every rank."""
        return self._all(lambda at, rank: rank.part(
            step, rank.replay(step, captured.parts[at].built)))

    def _all(self, made: Callable[[int, _Rank], Part]) -> RankBuilt:
        return RankBuilt(self._shard, tuple(made(at, rank)
                                            for at, rank in enumerate(self._ranks)))

    def attend(  # type: ignore[override]
        self, step: EngineStep, built: RankBuilt, q: list[np.ndarray], caches: list[np.ndarray]
    ) -> Attended:
        """MLADCPManager.query_gather, AiterMLAImpl.forward_mqa, MLADCPManager.combine, as
        MLAAttention.forward_impl calls them."""
        live, ranks = q[0].shape[0], self._ranks
        own = [rank.query(step, part, rows)
               for rank, part, rows in zip(ranks, built.parts, q, strict=True)]
        gathered = self._exchange.together(
            [_bound(rank.manager.query_gather, rows)
             for rank, rows in zip(ranks, own, strict=True)])
        made = [rank.forward(step, part, rows, cache) for rank, part, rows, cache in
                zip(ranks, built.parts, gathered, caches, strict=True)]
        merged = self._exchange.together(
            [_bound(rank.combine, step, part, *pair)
             for rank, part, pair in zip(ranks, built.parts, made, strict=True)])
        return Attended([_floats(out, live) for out, _ in made],
                        [_floats(lse, live) for _, lse in made],
                        [_floats(out, live) for out in merged])


def _bound(function: Callable[..., Any], *values: Any) -> Callable[[], Any]:
    return lambda: function(*values)


def _floats(tensor: torch.Tensor, rows: int) -> np.ndarray:
    made: np.ndarray = tensor[:rows].float().cpu().numpy()
    return made


def _manager() -> Any:
    """The class of the manager that a layer has, or None in versions that have none."""
    try:
        from vllm.v1.attention.ops.dcp import MLADCPManager
    except ImportError:
        return None
    return MLADCPManager


class _Rank(VllmEngine):
    """One of them: what VllmEngine has, on its share."""

    def __init__(self, engine: VllmRanks, group: Group, shard: Shard, merge: str) -> None:
        vars(self).update(vars(engine))  # one world, one import; the rest is made by `start`
        self._group, self._shard, self._merge = group, shard, merge
        self.manager: Any = None

    @contextlib.contextmanager
    def _entered(self) -> Iterator[None]:
        """This process is this rank."""
        from vllm.distributed import parallel_state

        parallel_state._DCP = self._group  # noqa: SLF001 there is no other way in
        with super()._entered():
            yield

    def _prepare(self, first: EngineStep, limits: config.Limits) -> None:
        made = config.varied(self.base, first, limits, self._method)
        made.parallel_config = parallel = copy.copy(self.base.parallel_config)
        parallel.decode_context_parallel_size = self._shard.world
        parallel.cp_kv_cache_interleave_size = self._shard.interleave
        parallel.dcp_comm_backend = self._merge
        self._current = made
        self._buffers = RankBuffers(limits, first.block_size, self._shard,
                                    self._group.rank_in_group)
        if _manager() is None:
            return
        made.kernel_config = copy.copy(made.kernel_config)
        made.kernel_config.enable_jit_warmup = False
        with self._entered():
            impl = self._implementation(first)
            self.manager = _manager()(
                made, self._device, first.heads, 576, 512,
                self._module.current_platform.fp8_dtype() if first.dtype_kv == "fp8"
                else torch.bfloat16, torch.bfloat16, None, impl.lse_base_on_e, False)
        layer = made.compilation_config.static_forward_context[config.LAYER]
        layer.dcp_manager = self.manager

    def _built(self, step: EngineStep, metadata: Any) -> Built:
        """Of a route by rows there are no lists of requests."""
        decode = metadata.decode
        if getattr(decode, "dcp_verify", None) is None:
            made = super()._built(step, metadata)
            return made if getattr(decode, "g_kv_indptr", None) is None else _launched(made, decode)
        decodes = metadata.num_decodes
        return Built(None, tuple(i if i < step.requests else PADDING for i in range(decodes)),
                     metadata, others=tuple(self._observed.prefill),
                     elsewhere=tuple(range(decodes, step.requests)))

    def part(self, step: EngineStep, built: Built) -> Part:
        """With what only a rank has, copied."""
        metadata, decode = built.metadata, built.metadata.decode
        slots = _array(metadata.slot_mapping)[:sum(step.query_lens)]
        if decode is None:
            return Part(built, slots=slots)
        verify = getattr(decode, "dcp_verify", None)
        rows = None if verify is None else Rows(
            _array(verify.row_lens), _array(verify.block_table), int(verify.page_size),
            int(verify.max_kv_seq_len))
        sums = getattr(decode, "g_kv_indptr", None)
        route = getattr(decode, "dcp_route", None)
        return Part(built, "" if route is None else route.value, rows,
                    None if sums is None else _array(sums), slots)

    def query(self, step: EngineStep, part: Part, q: np.ndarray) -> torch.Tensor:
        """The rank's heads, with rows of zeros for padding."""
        bundle = part.built.bundle
        rows = (part.rows.lens.size if part.rows is not None
                else int(bundle.arrays["seqlens_qo_indptr"][-1]))  # type: ignore[union-attr]
        padded = np.zeros((max(rows, q.shape[0]), *q.shape[1:]), q.dtype)
        padded[:q.shape[0]] = q
        return self._tensor(padded, step.dtype_q)

    def forward(
        self, step: EngineStep, part: Part, query: torch.Tensor, cache: np.ndarray
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """AiterMLAImpl.forward_mqa over the rank's cache, in which vLLM's null block is zeros."""
        blocks = cache.reshape(step.pool_blocks, step.block_size, -1).copy()
        blocks[NULL_BLOCK] = 0
        kv = self._tensor(blocks, step.dtype_kv)
        layer = SimpleNamespace(
            _q_scale=torch.full((1,), step.q_scale, device=self._device),
            _k_scale=torch.full((1,), step.kv_scale, device=self._device))
        with self._entered():
            out, lse = self._implementation(step).forward_mqa(query, kv, part.built.metadata, layer)
        assert lse is not None, "forward_mqa returned no LSE, and MLAAttention needs one to merge"
        return out, lse

    def combine(
        self, step: EngineStep, part: Part, out: torch.Tensor, lse: torch.Tensor
    ) -> torch.Tensor:
        """The manager's, on copies. A request without keys here has a result that means nothing:
        it must have no weight."""
        metadata, decode = part.built.metadata, part.built.metadata.decode
        out, lse, row = out.clone(), lse.clone(), 0
        for request in part.built.live:
            rows = step.query_lens[request]
            if self._shard.length(step.seq_lens[request], self._group.rank_in_group) == 0:
                out[row:row + rows] = float("nan")
                lse[row:row + rows] = _MEANINGLESS
            row += rows
        with self._entered():
            merged: torch.Tensor = self.manager.combine(
                out, lse, seq_lens=decode.seq_lens,
                query_start_loc=metadata.query_start_loc[:metadata.num_decodes + 1])
        return merged


def _launched(built: Built, decode: Any) -> Built:
    """With what the launch of a kernel that masks by positions is told of the ranks."""
    bundle = built.bundle
    if bundle is None:
        return built
    scalars = {**bundle.scalars, "launch_max_seqlen_q": int(decode.max_qo_len),
               "launch_cp_world_size": int(decode.cp_world_size),
               "launch_cp_rank": int(decode.cp_rank),
               "launch_num_kv_splits": int(decode.mla_num_kv_splits)}
    arrays = {**bundle.arrays, "launch_g_kv_indptr": _array(decode.g_kv_indptr)}
    return dataclasses.replace(built, bundle=Bundle(scalars, arrays))


def _array(tensor: Any) -> np.ndarray:
    return np.array(mla_bundle.as_array(tensor))
