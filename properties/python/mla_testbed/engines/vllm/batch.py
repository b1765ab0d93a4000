"""The buffers of vLLM's model runner for a batch, which a builder reads and a graph keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..step import EngineStep
from .config import Limits

#: The block that vLLM gives to no request; the tables of padding requests name it.
NULL_BLOCK = 0
#: The slot of a row of padding, which is not written.
NO_SLOT = -1


class RunnerBuffers:
    """query_start_loc, seq_lens, block table and slot mapping, allocated once.

    The parts of a step are written in place, as the runner does: a captured graph reads the same
    memory at its replay.

    Args:
        whole_columns: the table is as wide as the next power of two. Kernels are compiled anew for
            each width that is a constant of theirs.
        rows: of a step at most, padding included, whose slots are told; 0: all are told slot 0.
    """

    def __init__(
        self, limits: Limits, block_size: int, *, whole_columns: bool = False, rows: int = 0
    ) -> None:
        device = torch.device("cuda")
        columns = -(-limits.keys // block_size)
        if whole_columns:
            columns = 1 << (columns - 1).bit_length()
        self.query_start_loc = torch.zeros(limits.requests + 1, dtype=torch.int32, device=device)
        self.seq_lens = torch.zeros(limits.requests, dtype=torch.int32, device=device)
        self.block_table = torch.zeros(limits.requests, columns, dtype=torch.int32, device=device)
        self.new_slots = torch.full((rows,), NO_SLOT, dtype=torch.int64, device=device)

    def fill(
        self, step: EngineStep, requests: int, rows: int, *, longest: int | None = None
    ) -> Any:
        """The common metadata of a step.

        Args:
            requests: with padding; those after the step's have no rows and no keys.
            rows: with padding.
            longest: what the runner says of the longest request, if not its true length.
        """
        from vllm.v1.attention.backend import CommonAttentionMetadata

        starts = np.zeros(self.query_start_loc.numel(), np.int32)
        starts[1:step.requests + 1] = np.cumsum(step.query_lens)
        starts[step.requests + 1:] = starts[step.requests]
        lengths = np.zeros(self.seq_lens.numel(), np.int32)
        lengths[:step.requests] = step.seq_lens
        table = np.full(tuple(self.block_table.shape), NULL_BLOCK, np.int32)
        for request, blocks in enumerate(step.block_tables):
            table[request, :len(blocks)] = blocks
        for buffer, values in ((self.query_start_loc, starts), (self.seq_lens, lengths),
                               (self.block_table, table)):
            buffer.copy_(torch.from_numpy(values))
        return CommonAttentionMetadata(
            query_start_loc=self.query_start_loc[:requests + 1],
            query_start_loc_cpu=torch.from_numpy(starts[:requests + 1]),
            seq_lens=self.seq_lens[:requests], num_reqs=requests, num_actual_tokens=rows,
            max_query_len=max(step.query_lens),
            max_seq_len=longest if longest is not None else max(step.seq_lens),
            block_table_tensor=self.block_table[:requests],
            slot_mapping=self._slot_mapping(step, rows), causal=True,
            seq_lens_cpu_upper_bound=torch.from_numpy(lengths[:requests]))

    def _slot_mapping(self, step: EngineStep, rows: int) -> torch.Tensor:
        if not self.new_slots.numel():
            return torch.zeros(rows, dtype=torch.int64, device="cuda")
        slots = np.full(self.new_slots.numel(), NO_SLOT, np.int64)
        new = np.concatenate([step.new_slots(request) for request in range(step.requests)])
        slots[:new.size] = new
        self.new_slots.copy_(torch.from_numpy(slots))
        return self.new_slots[:rows]

    def warm(self, rows: int) -> None:
        """Every request has so many rows and keys, as in the batch that a graph is captured with.
        """
        starts = torch.arange(self.query_start_loc.numel(), dtype=torch.int32) * rows
        self.query_start_loc.copy_(starts)
        self.seq_lens.fill_(rows)
        self.new_slots.fill_(NO_SLOT)

