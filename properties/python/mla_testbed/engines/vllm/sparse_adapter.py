"""vLLM's ROCMAiterMLASparseMetadataBuilder and ROCMAiterMLASparseImpl on our steps."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import torch

from ...planning import POISON
from ..decode.built import PADDING, Built
from ..engine import Machine
from ..line import CaseLine
from ..sparse.indexer import Indexed
from ..sparse.step import SparseStep, model_of, with_one_layer
from . import indexer, topk
from .adapter import OPTIONS, VllmEngine
from .batch import RunnerBuffers
from .config import LAYER, Limits
from .sparse_config import implementation, most_rows, one_rank, sparse
from .sparse_taking import Taking


class VllmSparse(VllmEngine):
    """One vLLM, one architecture.

    A step's metadata is built, the indexer selects keys, then the impl's own forward_mqa turns them
    into lists of cache rows; where nothing is attended, it ends there. Without an indexer, as for
    steps that it would take long for, the selection is drawn.
    """

    OPTIONS: ClassVar = {"speculation": OPTIONS["speculation"]}
    MODULE = "vllm.v1.attention.backends.mla.rocm_aiter_mla_sparse"

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        one_rank()
        self._indexes = indexer.there(self.version, attends=self.attends)
        if self._indexes:
            topk.install()

    def adapt(self, line: CaseLine) -> CaseLine:
        """As for decode. Older versions know no cache with layers in between."""
        made = super().adapt(line)
        if model_of(made)[1] > 1 and not hasattr(
                self._module.ROCMAiterMLASparseBackend, "supported_kv_cache_layouts"):
            made = with_one_layer(made)
        return made

    def start(self, steps: Sequence[SparseStep]) -> None:  # type: ignore[override]
        """A builder with room for these steps, the runner's buffers and an indexer's."""
        first, limits, rows = steps[0], Limits.of(steps), most_rows(steps)
        self._current = sparse(self.base, first, limits, self._method, rows)
        self._buffers = RunnerBuffers(limits, first.block_size, whole_columns=True, rows=rows)
        self._selected = torch.full((rows, first.topk), -1, dtype=torch.int32, device=self._device)
        self._call: dict[str, Any] | None = None
        with self._entered():
            self._builder = self._module.ROCMAiterMLASparseMetadataBuilder(
                self.spec(first), [LAYER], self._current, self._device)
            self._impl = implementation(self._module, first, self._selected)
            # Older versions have no layers without an indexer.
            self._taking = (
                Taking(self._module, self._current, first, self.spec(first), self._buffers,
                       self._selected) if hasattr(self._module, "_index_epoch") else None)
            self._indexer = None
            if self._indexes and all(map(indexer.affordable, steps)):
                self._indexer = indexer.Indexer(
                    self._current, first, self._buffers.block_table.shape[1], self._selected)
        self._of_indexer: dict[int, Any] = {}
        self._of_taking: dict[int, Any] = {}
        self._poison()

    def capture(self, step: SparseStep) -> Built | None:  # type: ignore[override]
        """As for decode; the batch that a graph is captured with selects nothing."""
        self._step, self._capturing = step, True
        try:
            return super().capture(step)
        finally:
            self._capturing = False

    def build(self, step: SparseStep) -> Built:  # type: ignore[override]
        """As for decode."""
        self._step, self._capturing = step, False
        return super().build(step)

    def replay(self, step: SparseStep, captured: Built) -> Built:  # type: ignore[override]
        """As for decode."""
        self._step = step
        return super().replay(step, captured)

    def _build(self, common: Any, *, capture: bool) -> Any:
        metadata = super()._build(common, capture=capture)
        if self._indexer is not None:
            with self._entered():
                self._of_indexer[id(metadata)] = (
                    metadata, self._indexer.build(self._step, common, capture=capture), capture)
        if self._taking is not None:
            with self._entered():
                self._of_taking[id(metadata)] = metadata, self._taking.build(
                    self._step, common, self._observed, capture=capture)
        return metadata

    def _built(self, step: SparseStep, metadata: Any) -> Built:  # type: ignore[override]
        """What a kernel would find at the addresses in `metadata` now, once the rows' keys were
        converted. The builder plans anew only if the lengths of a step are others than before."""
        if self._observed.decode:
            self._call = self._observed.decode[-1]
        indexed = self._index(step, metadata)
        rows, here = self._part(metadata)
        here = min(here, step.requests)
        live = sum(step.query_lens[:here])
        elsewhere = tuple(range(here, step.requests))
        if not rows:
            return Built(None, (), metadata, elsewhere=elsewhere, indexed=indexed)
        self._builder.paged_kv_indices.fill_(int(POISON))
        self._forward(step, indexed, rows, metadata, None, None)
        owners = metadata.req_id_per_token[:rows].cpu().numpy()
        requests = (*(int(owner) for owner in owners[:live]), *[PADDING] * (rows - live))
        lists = {"seqlens_qo_indptr": metadata.qo_indptr,
                 "seqlens_kv_indptr": metadata.paged_kv_indptr,
                 "kv_last_page_lens": metadata.paged_kv_last_page_len,
                 "kv_indices": self._builder.paged_kv_indices}
        name = f"{step.case} step {step.number}"
        if metadata.work_meta_data is None:
            bundle = self._observed.unplanned(name, _scalars(step), lists)
        else:
            assert self._call is not None, "metadata with a plan, and no planner was called"
            bundle = self._observed.planned(name, self._call, lists)
        return Built(bundle, requests, metadata, elsewhere=elsewhere, indexed=indexed,
                     taken=self._taken(step, indexed, rows, metadata))

    def _taken(self, step: SparseStep, indexed: Indexed | None, rows: int, metadata: Any) -> Any:
        """The lists of a layer without an indexer, which comes next, and its block tables."""
        if self._taking is None:
            return None
        made = self._of_taking[id(metadata)][1]
        lists = self._taking.lists(made)
        self._forward(step, indexed, rows, made.metadata, None, None, self._taking.impl)
        name = f"{step.case} step {step.number}, a layer without an indexer"
        return (self._observed.unplanned(name, _scalars(step), lists), self._taking.tables(step))

    def _index(self, step: SparseStep, metadata: Any) -> Indexed | None:
        """The indexer's operation; a graph's reads the metadata of its capture."""
        if self._indexer is None or self._capturing:
            return None
        _, of_indexer, captured = self._of_indexer[id(metadata)]
        with self._entered():
            return self._indexer.run(step, of_indexer, int(metadata.num_actual_tokens),
                                     graph=captured)

    def _part(self, metadata: Any) -> tuple[int, int]:
        """Rows and requests that MLAAttention hands to forward_mqa: all, unless prefills are dense,
        which they never are in older versions of this backend."""
        from vllm.model_executor.layers.attention.mla_attention import MLAAttention

        layer = SimpleNamespace(hisparse_cache=None, prefill_backend=None, impl=self._impl,
                                _vllm_config=self._current)
        rows, decodes = metadata.num_actual_tokens, getattr(metadata, "num_decode_tokens", 0)
        dense = getattr(MLAAttention, "_use_sparse_mha", None)
        if dense is not None and rows > decodes and dense(layer, metadata):
            return int(decodes), int(metadata.num_decodes)
        return int(rows), int(metadata.num_reqs)

    def attend(
        self, step: SparseStep, built: Built, q: np.ndarray, cache: np.ndarray  # type: ignore[override]
    ) -> np.ndarray:
        """ROCMAiterMLASparseImpl.forward_mqa."""
        padded = np.zeros((len(built.requests), *q.shape[1:]), q.dtype)
        padded[:q.shape[0]] = q
        out = self._forward(step, built.indexed, len(built.requests), built.metadata,
                            self._tensor(padded, step.dtype_q), cache)
        result: np.ndarray = out[:q.shape[0]].float().cpu().numpy()
        return result

    def _forward(
        self, step: SparseStep, indexed: Indexed | None, rows: int, metadata: Any,
        query: torch.Tensor | None, cache: np.ndarray | None, impl: Any = None,
    ) -> Any:
        """forward_mqa; without a query it ends before the kernel is called, and reads no cache.

        impl: of a layer without an indexer, which finds the selection where it is.
        """
        if impl is None:
            impl = self._impl
            self._selected.copy_(torch.from_numpy(
                step.selection(0, self._selected.shape[0]) if indexed is None
                else indexed.selection))
        scale = torch.full((1,), step.q_scale, device=self._device)
        layer = SimpleNamespace(
            _q_scale=scale, _k_scale=torch.full((1,), step.kv_scale, device=self._device))
        if query is None:
            query = self._blank(step.dtype_q, (1, 1, 1)).expand(rows, step.heads, 576)
            kv = self._blank(step.dtype_kv, (1, step.layers, step.block_size, 576))
            impl._forward_mla = lambda *_, **__: (None, None)  # noqa: SLF001
        else:
            kv = self._tensor(self._layered(step, cache), step.dtype_kv)
        try:
            with self._entered():
                out, _ = impl.forward_mqa(query, kv[:, 0], metadata, layer)
        finally:
            vars(impl).pop("_forward_mla", None)
        return out

    def _blank(self, dtype: str, shape: tuple[int, ...]) -> torch.Tensor:
        bits = np.zeros(shape, np.uint16 if dtype == "bf16" else np.uint8)
        return self._tensor(bits, dtype)

    def _layered(self, step: SparseStep, cache: Any) -> np.ndarray:
        """(blocks, layers, block, 576): this layer's blocks, and NaN in those of other layers."""
        own = cache.reshape(step.pool_blocks, 1, step.block_size, -1)
        others = np.broadcast_to(cache[0], (step.pool_blocks, step.layers - 1, *own.shape[2:]))
        return np.concatenate([own, others], axis=1)


def _scalars(step: SparseStep) -> dict[str, Any]:
    """What a planner is told of the rows of a step."""
    return {"num_heads_per_head_k": step.heads, "num_heads_k": 1, "page_size": 1,
            "is_causal": True, "dtype_q": step.dtype_q, "dtype_kv": step.dtype_kv,
            "max_seqlen_qo": 1}
