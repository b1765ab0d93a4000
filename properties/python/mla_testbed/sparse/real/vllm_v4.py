"""vLLM's kernels of DeepSeek-V4 that belong to the chain: index lists, and the indexer's cache."""

from __future__ import annotations

import functools
import pathlib
import types
from typing import Any

import numpy as np
import torch

from .. import cache, lists, logits, selection
from ..case import KEY, Case
from ..findings import Finding
from ..inputs import Inputs
from ..lists import Lists
from ..logits import FENCE
from ..numbers import OCP
from . import calls
from .device import FP8, back, put
from .kernel import Kernel, need
from .sources import functions

_ROCM = "vllm/models/deepseek_v4/amd/rocm.py"
_INSERT = "vllm/models/deepseek_v4/common/ops/fused_compress_quant_cache.py"
#: Tokens of a compressed key, and of a block of the compressor's state.
_RATIO, _STATE_BLOCK = 4, 4


def kernels(tree: pathlib.Path, ops: Any) -> tuple[Kernel, ...]:
    """ops: vLLM's operations for an architecture."""
    lists_of = functools.cache(lambda: functions(tree, _ROCM, (
        "_build_indptr_from_lengths", "_compute_topk_lens_kernel",
        "_pack_global_topk_ragged_kernel", "compute_global_topk_ragged_indices_and_indptr")))
    drawn = {"layout": "row", "block": 64, "scale": "ue8m0", "shared": 0, "data": "gauss"}
    insert = functools.cache(lambda: functions(
        tree, _INSERT, ("_fused_kv_compress_norm_rope_insert_indexer_attn",)))
    return (
        Kernel("compute_global_topk_ragged_indices_and_indptr", "convert",
               lambda inputs, arch: _ragged(lists_of(), inputs)),
        Kernel("V4 indexer: insert, paged logits", "write, logits",
               lambda inputs, arch: _indexer(insert(), ops(arch), inputs, small=False), drawn,
               _takes),
        Kernel("V4 indexer: insert, paged logits (small elements)", "write, logits",
               lambda inputs, arch: _indexer(insert(), ops(arch), inputs, small=True), drawn,
               _takes),
    )


def _ragged(module: types.ModuleType, inputs: Inputs) -> list[Finding]:
    case, picked = inputs.case, calls.selected(inputs)
    pad = np.full((case.pad, case.k), selection.NONE, np.int32)
    owners = np.concatenate([inputs.owners, np.zeros(case.pad, int)]).astype(np.int32)
    live = np.arange(case.rows + case.pad) < case.rows
    flat, sums, _ = module.compute_global_topk_ragged_indices_and_indptr(
        put(np.concatenate([picked, pad])), put(owners), put(inputs.tables), case.block, put(live))
    return lists.check_lists(inputs, picked, Lists(back(sums), back(flat)))


def _takes(case: Case) -> None:
    need(len({rows for rows, _ in case.requests}) == 1,
         "all requests of a call have as many rows")


def _indexer(insert: types.ModuleType, ops: Any, inputs: Inputs, *, small: bool,
             ) -> list[Finding]:
    """Compressed keys, stored in OCP on every architecture, and read as the architecture's type.

    On gfx942 each value is read as half of what was stored, in every key, so that the order of
    logits stays: the reference is halved there.

    small: one element of each key is tiny and negative, and is stored as -0; else no element is so
    small.
    """
    case, held = inputs.case, cache.unread(inputs)
    live = np.flatnonzero(inputs.slot_mapping >= 0)
    keys, slots = inputs.keys[live].copy(), inputs.slot_mapping[live]
    keys[np.abs(keys) < 1e-3] = 1e-3  # noqa: PLR2004
    if small:
        keys[:, 7] = -1e-7
    stored = put(held)
    _insert(insert, inputs, keys, slots, stored)
    held = back(stored)
    fp8 = FP8[case.fp8]
    q = put(inputs.q).view(fp8).view(len(case.requests), -1, case.heads, KEY)
    width = logits.columns(inputs)
    blocks = stored.as_strided((inputs.blocks, case.block, 1, KEY + 4),
                               (case.block_bytes, KEY + 4, KEY + 4, 1))
    out = ops.rocm_fp8_paged_mqa_logits_triton(
        q, blocks, put(inputs.weights), put(inputs.lengths.astype(np.int32)), put(inputs.tables),
        width)
    found = np.full((case.rows, width + FENCE), logits.BEFORE)
    found[:, :width] = back(out)
    return logits.check_logits(inputs, _rows(inputs, held), found, "masked or left")


def _rows(inputs: Inputs, held: np.ndarray) -> list[logits.Row]:
    """Logits of the stored bytes as the writer meant them, halved where the reader's type is
    another one."""
    made = []
    for row, request in enumerate(inputs.owners):
        codes, scales = cache.stored(inputs, held, inputs.slots(int(request)))
        values = OCP.decode(codes) / (2 if inputs.case.fp8 == "fnuz" else 1)
        made.append(logits.row_of_values(inputs, values, scales, row))
    return made


def _insert(insert: types.ModuleType, inputs: Inputs, keys: np.ndarray, slots: np.ndarray,
            stored: torch.Tensor) -> None:
    """Each key as the group of tokens 0 to 3 of a request of its own, whose states are equal: the
    softmax over them gives the key back, its norm has weights of 1, and the rotation is none."""
    count = len(keys)
    state = np.zeros((count, _STATE_BLOCK, 4 * KEY), np.float32)
    state[:, :, KEY:2 * KEY] = keys[:, None]
    turns = np.zeros((_RATIO, 64), np.float32)
    turns[:, :32] = 1
    kernel = insert._fused_kv_compress_norm_rope_insert_indexer_attn
    kernel[(count,)](
        put(state), state.shape[1] * state.shape[2], state.shape[2],
        put(np.arange(count, dtype=np.int32)), put(np.full(count, _RATIO - 1, np.int64)),
        put(np.arange(count, dtype=np.int64)), put(np.arange(count, dtype=np.int32)[:, None]), 1,
        _STATE_BLOCK, put(np.ones(KEY, np.float32)), 1e-6, put(turns), 64, stored, put(slots),
        inputs.case.block, HEAD_SIZE=KEY, TRITON_BLOCK_SIZE=KEY, STATE_WIDTH=2 * KEY,
        COMPRESS_RATIO=_RATIO, OVERLAP=1, ROPE_HEAD_DIM=64, FP8_MAX=448.0, QUANT_BLOCK=KEY,
        TOKEN_STRIDE=KEY, SCALE_DIM=4, KV_BLOCK_STRIDE=inputs.case.block_bytes, MX_SCALE=False,
        num_warps=1)
