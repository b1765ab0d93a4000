"""A layer without an indexer beside the one that has it: its own builder, lists and block table."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np
import torch

from ...planning import POISON
from ..observed import Observed
from ..sparse.step import SparseStep
from .config import LAYER
from .sparse_config import implementation


@dataclasses.dataclass
class Made:
    """What its builder made of a step. flags: what says that a list is made, as the builder left
    it: a graph decides by it as it is captured, and converts or not in each replay."""

    metadata: Any
    flags: tuple[Any, int]


class Taking:
    """The layer, for steps that share a configuration; its blocks lie elsewhere in the pool.

    Args:
        config: the current one. spec: of its cache. buffers: the runner's. selected: (rows, k), as
            a layer before leaves it.
    """

    def __init__(self, module: Any, config: Any, first: SparseStep, spec: Any, buffers: Any,
                 selected: torch.Tensor) -> None:
        self.builder = module.ROCMAiterMLASparseMetadataBuilder(
            spec, [LAYER], config, torch.device("cuda"))
        self.impl = implementation(module, first, selected, indexer=False)
        self._table = torch.zeros_like(buffers.block_table)
        self._blocks: dict[int, np.ndarray] = {}

    def moved(self, step: SparseStep) -> np.ndarray:
        """(blocks of the pool,) int32: where this layer has each block; block 0 stays free."""
        count = step.pool_blocks
        if count not in self._blocks:
            draw = np.random.default_rng([step.data_seed, count])
            self._blocks[count] = np.concatenate(
                [[0], 1 + draw.permutation(count - 1)]).astype(np.int32)
        return self._blocks[count]

    def tables(self, step: SparseStep) -> tuple[tuple[int, ...], ...]:
        """The block tables of a step for this layer."""
        moved = self.moved(step)
        return tuple(tuple(int(moved[block]) for block in table) for table in step.block_tables)

    def build(self, step: SparseStep, common: Any, observed: Observed, *, capture: bool) -> Made:
        """Its metadata; calls of the planner are not kept, since those of the other layer are."""
        calls = len(observed.decode)
        table = common.block_table_tensor
        moved = torch.from_numpy(self.moved(step))[table.cpu().long()]
        own = copy.copy(common)
        own.block_table_tensor = self._table[:len(table)]
        own.block_table_tensor.copy_(moved)
        made = (self.builder.build_for_cudagraph_capture(own) if capture
                else self.builder.build(0, own))
        del observed.decode[calls:]
        return Made(made, (made.remapped_buf, made.remapped_epoch))

    def lists(self, made: Made) -> dict[str, torch.Tensor]:
        """Its lists are poison, and `made` is as its builder left it: forward_mqa comes next."""
        self.builder.paged_kv_indices.fill_(int(POISON))
        made.metadata.remapped_buf, made.metadata.remapped_epoch = made.flags
        return {"seqlens_qo_indptr": made.metadata.qo_indptr,
                "seqlens_kv_indptr": made.metadata.paged_kv_indptr,
                "kv_last_page_lens": made.metadata.paged_kv_last_page_len,
                "kv_indices": self.builder.paged_kv_indices}
