"""What vLLM's model runner V2 makes for one rank of those that share contexts."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch

from ..ranks.shard import Shard
from ..step import EngineStep
from . import kernels
from .batch import RunnerBuffers
from .config import Limits


class RankBuffers(RunnerBuffers):
    """Whole lengths and tables as for one device, and local lengths by vLLM's own kernel.

    A table has one entry for as many tokens as a block has on all ranks together.
    """

    def __init__(self, limits: Limits, block_size: int, shard: Shard, rank: int) -> None:
        super().__init__(limits, block_size * shard.world)
        self._block_size, self._shard, self._rank = block_size, shard, rank
        self.local_lens = torch.zeros_like(self.seq_lens)
        self._slots = torch.full((limits.requests * limits.keys,), -1, dtype=torch.int64,
                                 device="cuda")

    def fill(
        self, step: EngineStep, requests: int, rows: int, *, longest: int | None = None
    ) -> Any:
        """As for one device; rows of padding are written nowhere."""
        common = super().fill(self._shard.whole(step), requests, rows, longest=longest)
        self._share(step.requests)
        made = self.slots(step)
        self._slots.fill_(-1)
        self._slots[:made.numel()] = made
        return dataclasses.replace(common, slot_mapping=self._slots[:rows],
                                   dcp_local_seq_lens=self.local_lens[:requests])

    def _share(self, requests: int) -> None:
        """vLLM's kernel; padding has no keys. Versions without it have the same in torch."""
        try:
            from vllm.v1.worker.gpu.cp_utils import prepare_dcp_local_seq_lens as share
        except ImportError:
            from vllm.v1.attention.backends.utils import get_dcp_local_seq_lens

            self.local_lens.zero_()
            self.local_lens[:requests] = get_dcp_local_seq_lens(
                self.seq_lens[:requests], self._shard.world, self._rank, self._shard.interleave)
        else:
            share(self.local_lens, self.seq_lens, requests, self._shard.world, self._rank,
                  self._shard.interleave)

    def warm(self, rows: int) -> None:
        """As many keys as each rank needs to have as many as rows."""
        super().warm(rows * self._shard.world * self._shard.interleave)
        starts = torch.arange(self.query_start_loc.numel(), dtype=torch.int32) * rows
        self.query_start_loc.copy_(starts)
        self._share(self.seq_lens.numel())

    def slots(self, step: EngineStep) -> torch.Tensor:
        """(rows,) where vLLM's BlockTables put the new tokens of a step: -1 for another rank's."""
        from vllm.v1.worker.gpu.block_table import BlockTables

        torch.ops._C.get_cuda_view_from_cpu_tensor = kernels.device_view
        whole, rows = self._shard.whole(step), sum(step.query_lens)
        tables = BlockTables(
            [self._block_size], step.requests, rows, [self.block_table.shape[1]],
            torch.device("cuda"), self._shard.world, self._rank, self._shard.interleave)
        for request, blocks in enumerate(whole.block_tables):
            tables.append_block_ids(request, (list(blocks),), overwrite=True)
        tables.apply_staged_writes()
        positions = np.concatenate([np.arange(step.context(i), keys)
                                    for i, keys in enumerate(step.seq_lens)])
        made: torch.Tensor = tables.compute_slot_mappings(
            torch.arange(step.requests, dtype=torch.int32, device="cuda"),
            self.query_start_loc[:step.requests + 1],
            torch.from_numpy(positions).to("cuda"), rows)[0]
        return made
