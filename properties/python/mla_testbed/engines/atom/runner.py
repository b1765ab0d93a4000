"""What ATOM's builder reads of its model runner and of the scheduler's batch, without a model."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from ..step import EngineStep

#: ATOM's sequential drafters have up to four tokens: `Config` asserts it.
MOST_ROWS = 5


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a server has room for: requests, keys of a request, rows of each in a decode."""

    requests: int
    keys: int
    rows: int

    @classmethod
    def of(cls, steps: Sequence[EngineStep], *, exact: bool = False) -> Limits:
        """The smallest that hold these steps, and drafts that are rejected.

        Args:
            exact: the longest request of the steps is the longest of the server, which need not be
                a number of blocks.
        """
        rows = max(max(step.query_lens) for step in steps)
        longest = max(max(step.seq_lens) for step in steps)
        block = steps[0].block_size
        return cls(requests=max(step.requests + step.pad for step in steps), rows=rows,
                   keys=max(longest, block) if exact else -(-(longest + rows - 1) // block) * block)


class Runner:
    """The attributes that AiterMLAMetadataBuilder asks a ModelRunner for, and its buffers.

    Args:
        config: of this server. buffer: ATOM's CpuGpuBuffer.
    """

    is_deepseek_v32 = False
    use_mla = True
    attn_metadata_builder: Any = None

    def __init__(self, config: Any, limits: Limits, block_size: int, buffer: Any) -> None:
        self.config = config
        self.block_size = block_size
        self.kv_cache_dtype = config.kv_cache_dtype
        self.device = torch.device("cuda")
        self.max_bs = limits.requests
        self.max_num_batched_tokens = limits.requests * limits.rows
        self.num_spec_tokens = limits.rows - 1
        self.tokenID_processor = SimpleNamespace(num_rejected=None)
        self.async_execute_stream = torch.cuda.Stream()
        self._staged = torch.cuda.Event()
        self.forward_vars: dict[str, Any] = {
            "positions": buffer(self.max_num_batched_tokens, dtype=torch.int64, device=self.device)}
        if limits.rows > 1:
            self.drafter = SimpleNamespace(mtp_k=limits.rows - 1)
            self.forward_vars["mtp_k"] = limits.rows - 1

    @contextlib.contextmanager
    def forward(self) -> Iterator[None]:
        """One forward: its staging buffers wait for the copies of the one before, as ATOM's do."""
        self._staged.synchronize()
        with torch.inference_mode():
            yield
            self._staged.record()

    def rows(self, lengths: Sequence[int], requests: int) -> None:
        """cu_seqlens_q of a step; those of padding stay where the last request ends."""
        sums = self.forward_vars["cu_seqlens_q"].np
        sums[1:len(lengths) + 1] = np.cumsum(lengths)
        sums[len(lengths) + 1:requests + 1] = sums[len(lengths)]

    def warm(self, requests: int, rows: int) -> None:
        """As `capture_cudagraph` leaves the buffers before it asks for metadata."""
        self.forward_vars["kv_indptr"].gpu.zero_()
        sums = self.forward_vars["cu_seqlens_q"]
        sums.np[:requests + 1] = np.arange(requests + 1) * rows
        sums.copy_to_gpu(requests + 1)


def scheduled(step: EngineStep, rejected: np.ndarray) -> SimpleNamespace:
    """What the builder reads of a ScheduledBatch.

    Args:
        rejected: (requests,) drafts of the step before that were not accepted: the scheduler does
            not know of them yet, so its lengths and its blocks are those with all accepted.
    """
    lengths = np.array(step.seq_lens, np.int32) + rejected.astype(np.int32)
    tables = [[*blocks, *_more(step, blocks, int(length))]
              for blocks, length in zip(step.block_tables, lengths, strict=True)]
    size = step.block_size
    return SimpleNamespace(
        total_tokens_num_prefill=0, total_seqs_num_decode=step.requests,
        total_tokens_num_decode=sum(step.query_lens), is_dummy_run=False,
        context_lens=lengths, block_tables=tables,
        last_block_num_tokens=[int(length - 1) % size + 1 for length in lengths],
        is_first_decode_without_local_prefill=[False] * step.requests,
        state_maintenance_ops=SimpleNamespace(relocations=(), checkpoint_stores=(),
                                              checkpoint_restores=()))


def _more(step: EngineStep, blocks: Sequence[int], keys: int) -> list[int]:
    """Further blocks for keys that were not accepted: no other request has them."""
    missing = -(-keys // step.block_size) - len(blocks)
    return [step.pool_blocks + 1 + i for i in range(missing)]
