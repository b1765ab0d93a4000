"""Reads the metadata of vLLM's AITER FA backend into a FaBuilt."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

_TOP = ("num_actual_tokens", "max_seq_len", "num_decodes", "num_decode_tokens", "num_extends",
        "num_extend_tokens", "num_prefills", "causal")
_TOP_LISTS = ("query_start_loc", "seq_lens", "slot_mapping", "block_table")
_CHUNK_LISTS = ("cu_seq_lens_chunk", "chunk_starts", "token_to_batch", "max_seq_lens",
                "total_token_per_batch")
_WINDOW_LISTS = ("swa_cu_seqlens", "swa_seq_starts", "swa_token_to_batch")


def read(metadata: Any) -> tuple[dict[str, int], dict[str, np.ndarray]]:
    """Numbers and lists, copied."""
    numbers = {name: int(getattr(metadata, name)) for name in _TOP}
    lists = {name: array(getattr(metadata, name)) for name in _TOP_LISTS}
    if metadata.decode_metadata is not None:
        _decode(metadata.decode_metadata, numbers, lists)
    for name, part in (("prefill", metadata.prefill_metadata),
                       ("extend", metadata.extend_metadata)):
        if part is not None:
            numbers[f"{name}_max_query_len"] = int(part.max_query_len)
            numbers[f"{name}_max_seq_len"] = int(part.max_seq_len)
            lists[f"{name}_query_start_loc"] = array(part.query_start_loc)
    if metadata.extend_metadata is not None:
        _chunks(metadata.extend_metadata.chunk_context_metadata, numbers, lists)
    return numbers, lists


def _decode(part: Any, numbers: dict[str, int], lists: dict[str, np.ndarray]) -> None:
    numbers["decode_max_query_len"] = int(part.max_query_len)
    if getattr(part, "swa_block_table", None) is not None:  # since vLLM 0.30
        numbers["decode_swa_max_seq_len"] = int(part.swa_max_seq_len)
        lists["decode_swa_block_table"] = array(part.swa_block_table)
        lists["decode_swa_seq_lens"] = array(part.swa_seq_lens)


def _chunks(part: Any, numbers: dict[str, int], lists: dict[str, np.ndarray]) -> None:
    numbers["num_chunks"] = int(part.num_chunks)
    numbers["workspace_tokens"] = int(part.workspace.shape[1])
    lists.update({name: array(getattr(part, name)) for name in _CHUNK_LISTS})
    window = part.swa_metadata
    if window is not None:
        numbers["swa_max_seqlens"] = int(window.swa_max_seqlens)
        numbers["swa_total_tokens"] = int(window.swa_total_tokens)
        numbers["swa_workspace_tokens"] = int(window.swa_workspace.shape[1])
        lists.update({name: array(getattr(window, name)) for name in _WINDOW_LISTS})


def array(values: Any) -> np.ndarray:
    """A tensor, or a list of numbers, as a copy that later steps do not change."""
    if isinstance(values, torch.Tensor):
        found: np.ndarray = values.cpu().numpy().copy()
        return found
    return np.array(values, np.int64)
