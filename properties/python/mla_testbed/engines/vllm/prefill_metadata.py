"""Reads the prefill part of vLLM's MLA metadata; the layout of its chunks changed with 0.30."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..prefill.built import Chunk
from .fa_metadata import array
from .operations import slots_of


def chunks_of(prefill: Any, block: int) -> tuple[Chunk, ...]:
    """What is gathered, in the order of vLLM's loop."""
    context = prefill.chunked_context
    if context is None:
        return ()
    if hasattr(context, "chunks"):
        return tuple(_packed(prefill, chunk, block) for chunk in context.chunks)
    return tuple(_even(prefill, context, number, block) for number in range(len(context.seq_tot)))


def _packed(prefill: Any, chunk: Any, block: int) -> Chunk:
    """A run of requests, the first of which may be continued."""
    table = prefill.block_table[chunk.request_slice]
    return _chunk(table, chunk.starts, chunk.cu_seq_lens, chunk.token_to_seq, block,
                  first=chunk.request_slice.start,
                  rows=(chunk.token_slice.start, chunk.token_slice.stop),
                  row_sums=array(chunk.query_start_loc), most_rows=int(chunk.max_query_len),
                  most_keys=int(chunk.max_seq_len), tokens=int(chunk.num_context_tokens))


def _even(prefill: Any, context: Any, number: int, block: int) -> Chunk:
    """A piece of every request, which may be empty."""
    sums = array(prefill.query_start_loc)
    return _chunk(prefill.block_table, context.starts[number], context.cu_seq_lens[number],
                  context.token_to_seq[number], block, first=0, rows=(0, int(sums[-1])),
                  row_sums=sums, most_rows=int(prefill.max_query_len),
                  most_keys=int(context.max_seq_lens[number]), tokens=int(context.seq_tot[number]))


def _chunk(
    table: torch.Tensor, starts: torch.Tensor, sums: torch.Tensor, owners: torch.Tensor,
    block: int, **known: Any,
) -> Chunk:
    live = owners[:max(int(sums[-1]), 0)]
    slots: np.ndarray = slots_of(table, sums, starts, live, block).cpu().numpy()
    return Chunk(starts=array(starts), sums=array(sums), owners=array(owners), slots=slots, **known)
