"""vLLM's lists of DeepSeek-V4, and its attention over both of them, from a source tree."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
from typing import Any

import numpy as np
import torch

from .. import attention, windows
from ..case import Case
from ..findings import Finding
from ..inputs import Inputs
from ..lists import Lists
from ..selection import NONE
from . import calls, vllm_launch
from .device import back, packed_blocks, put
from .kernel import Kernel, need
from .sources import functions
from .two_caches import both_of, selected, with_one

_SWA = "vllm/v1/attention/backends/mla/sparse_swa.py"
_ROCM = "vllm/models/deepseek_v4/amd/rocm.py"
_ALIGNED = 128


def kernels(tree: pathlib.Path, ops: Any) -> tuple[Kernel, ...]:
    """ops: vLLM's operations for an architecture."""
    given = {**vllm_launch.GIVEN, "dataclass": dataclasses.dataclass}
    windowed = functools.cache(lambda: functions(tree, _SWA, (
        "_compute_swa_indices_and_lens_kernel", "ComputeSWAIndicesAndLensKernel"), given))
    combined = functools.cache(lambda: functions(tree, _ROCM, (
        "_combine_topk_swa_indices_kernel", "combine_topk_swa_indices"),
        {"_SPARSE_PREFILL_TOPK_ALIGNMENT": _ALIGNED}))
    v4 = {"cache": "v4", "width": (448, 64), "block": 64, "shared": 0, "ratio": 4, "window": 128}
    return (
        Kernel("ComputeSWAIndicesAndLensKernel", "window",
               lambda inputs, arch: _window(windowed(), inputs), {"window": 128}),
        Kernel("combine_topk_swa_indices", "window",
               lambda inputs, arch: _combine(combined(), inputs), v4, _rows),
        Kernel("_rocm_sparse_attn_decode_ragged_triton (window and compressed)", "attend, merge",
               lambda inputs, arch: _attend(ops(arch), inputs), v4),
    )


def _rows(case: Case) -> None:
    need(all(rows for rows, _ in case.requests), "each request has a row")


def _padded(inputs: Inputs, values: np.ndarray, filler: int) -> np.ndarray:
    return np.concatenate([values, np.full(inputs.case.pad, filler, values.dtype)])


def _window(module: Any, inputs: Inputs) -> list[Finding]:
    case, count = inputs.case, inputs.case.rows + inputs.case.pad
    out, lens = put(np.full((count, case.window), 7, np.int32)), put(np.full(count, 7, np.int32))
    nothing = put(np.zeros(1, np.int32))
    module.ComputeSWAIndicesAndLensKernel()(
        out, lens, case.window, case.window, nothing, nothing, put(inputs.starts.astype(np.int32)),
        put(inputs.lengths.astype(np.int32)),
        put(_padded(inputs, inputs.owners.astype(np.int32), 0)),
        put(np.arange(count) < case.rows), put(inputs.tables), case.block,
        put(np.zeros(len(inputs.lengths), np.int32)), num_tokens=count, token_offset=0)
    dense, sizes = back(out), back(lens)
    rows = [dense[row, :sizes[row]] for row in range(count)]
    after = [row for row in range(count) if (dense[row, sizes[row]:] != NONE).any()]
    if after:
        return [Finding("SP-21", windows.STAGE, f"row {after[0]} has a slot after its window")]
    return windows.check_windows(inputs, Lists.of_rows(rows))


def _combine(module: Any, inputs: Inputs) -> list[Finding]:
    """Lists into a gathered workspace: N compressed keys of a request, then the tokens that its
    rows have in their windows."""
    case, picked = inputs.case, selected(inputs)
    counts = np.array([rows for rows, _ in case.requests])
    gathered = np.minimum(inputs.lengths, counts + case.window - 1).astype(np.int32)
    most = int(inputs.lengths.max()) // case.ratio
    width = most + int(gathered.max())
    found, lens = (back(one) for one in module.combine_topk_swa_indices(
        put(picked), put(inputs.starts.astype(np.int32)), put(inputs.lengths.astype(np.int32)),
        put(gathered), case.window, case.ratio, case.k, width, most))
    for row, request in enumerate(inputs.owners):
        first = int(inputs.lengths[request]) - int(gathered[request])
        right = np.concatenate([picked[row][picked[row] != NONE],
                                most + windows.window_of(inputs, row) - first]) + width * request
        mine = found[row, :lens[row]]
        if not np.array_equal(np.sort(mine), np.sort(right)):
            odd = np.setxor1d(mine, right)
            return [Finding("SP-21", windows.STAGE, f"row {row} has {mine.size} rows of the "
                            f"workspace, expected {right.size}; the first that differs is "
                            f"{odd[0] if odd.size else 'there twice'}")]
    return []


def _attend(ops: Any, inputs: Inputs) -> list[Finding]:
    """One softmax over the window, in the encoding of the platform, and selected compressed keys,
    in OCP in a cache of their own."""
    both = both_of(inputs)
    q, found = calls.padded_query(inputs), []
    for sink in (None, calls.sink_of(inputs)):
        out = put(np.full(tuple(q.shape), 0x7FA5, np.int16)).view(torch.bfloat16)
        ops._rocm_sparse_attn_decode_ragged_triton(
            q=q, scale=inputs.softmax_scale, attn_sink=None if sink is None else put(sink),
            nope_head_dim=inputs.case.width[0], rope_head_dim=inputs.case.width[1], out=out,
            main_cache=packed_blocks(inputs, put(inputs.packed)),
            main_indices=put(with_one(both.window.indices)), main_indptr=put(both.window.indptr),
            extra_cache=packed_blocks(both.other, put(both.other.packed)),
            extra_indices=put(with_one(both.compressed.indices)),
            extra_indptr=put(both.compressed.indptr))
        found += attention.check_attention(inputs, both.lists(), back(out), sink=sink,
                                           keys=both.keys)
    return found
