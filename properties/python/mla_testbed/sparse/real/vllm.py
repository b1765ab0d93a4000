"""vLLM's Triton kernels of the chain, from a source tree (0.33.0)."""

from __future__ import annotations

import functools
import pathlib
import types
from typing import Any

import numpy as np
import torch

from .. import cache, lists, logits, selection
from ..case import Case
from ..findings import Finding
from ..inputs import Inputs
from ..lists import Lists
from ..logits import FENCE
from . import calls, vllm_compress, vllm_ranks, vllm_rows, vllm_v4, vllm_windows
from .device import FP8, back, bf16, blocks, put
from .kernel import Kernel, need
from .sources import functions

_OPS = "vllm/v1/attention/ops/rocm_aiter_mla_sparse.py"
_BACKEND = "vllm/v1/attention/backends/mla/rocm_aiter_mla_sparse.py"
_SWA = "vllm/models/deepseek_v4/common/ops/cache_utils.py"
_OF_OPS = (
    "_indexer_k_quant_and_cache_kernel", "indexer_k_quant_and_cache_triton",
    "_cp_gather_indexer_quant_cache_kernel", "_cp_gather_indexer_quant_cache_gfx950_kernel",
    "cp_gather_indexer_k_quant_cache_triton", "_fp8_paged_mqa_logits_decode_kernel",
    "rocm_fp8_paged_mqa_logits_triton", "_decode_cu_count", "_localize_aiter_prefill_topk_kernel",
    "_localize_aiter_prefill_topk", "_validate_sparse_dims", "_count_valid_row_entries_kernel",
    "_compact_dense_row_to_ragged_kernel", "build_ragged_indices_from_dense",
    "_as_int32_contiguous_1d", "_sparse_kv_row_offset", "_sparse_attn_prefill_ragged_kernel",
    "_rocm_sparse_attn_prefill_ragged_triton", "_sparse_attn_decode_ragged_bf16_partial_kernel",
    "_sparse_attn_decode_reduce_kernel", "_rocm_sparse_attn_decode_ragged_bf16_triton",
    "_SPARSE_DECODE_BF16_BLOCK_K", "_SPARSE_DECODE_BF16_BLOCK_H", "_validate_dsv4_sparse_dims",
    "_DSV4_SPARSE_NOPE_DIM", "_DSV4_SPARSE_ROPE_DIM", "_decode_partial_iters",
    "_decode_num_splits", "_decode_gfx950_num_splits", "_decode_e8m0_scales_triton",
    "_load_fp8_ds_mla_gfx950_nope_exact_chunk", "_load_fp8_ds_mla_gfx950_tail128",
    "_sparse_attn_decode_gfx950_partial_loaded_tile", "_sparse_attn_decode_gfx950_partial_kernel",
    "_sparse_attn_decode_partial_kernel", "_sparse_attn_decode_ragged_kernel",
    "_rocm_sparse_attn_decode_ragged_triton", "_mxfp8_scale_bits", "_mxfp8_quantize_rows",
)
_OF_BACKEND = (
    "_convert_req_index_to_global_index_kernel", "triton_convert_req_index_to_global_index",
    "generate_sparse_seqlen_kernel", "generate_sparse_seqlen_triton", "_fit_kpool_indices_kernel",
    "fit_kpool_indices_to_aiter",
)


@functools.cache
def _ops(tree: pathlib.Path, arch: str) -> types.ModuleType:
    fp8 = FP8["fnuz" if arch == "gfx942" else "ocp"]
    platform = types.SimpleNamespace(fp8_dtype=lambda: fp8, is_fp8_fnuz=lambda: arch == "gfx942")
    return functions(tree, _OPS, _OF_OPS, {
        "FP8_DTYPE": fp8, "_ON_GFX950": arch == "gfx950", "_ON_GFX942": arch == "gfx942",
        "current_platform": platform, "current_workspace_manager": _Workspace})


class _Workspace:
    """Memory that vLLM takes from its workspace; here it shows whether it was written."""

    def get_simultaneous(self, *wanted: tuple[tuple[int, ...], torch.dtype]) -> list[torch.Tensor]:
        """One tensor for each; the last columns of their memory are a fence."""
        made = []
        for shape, _ in wanted:
            self.whole = put(np.full((shape[0], shape[1] + FENCE), logits.BEFORE))
            _Workspace.last = self.whole
            made.append(self.whole[:, :shape[1]])
        return made

    last: torch.Tensor


def kernels(tree: pathlib.Path) -> tuple[Kernel, ...]:
    """All of them."""
    backend = functools.cache(lambda: functions(tree, _BACKEND, _OF_BACKEND))
    ops = functools.partial(_ops, tree)
    return (
        *vllm_v4.kernels(tree, ops),
        *vllm_rows.kernels(tree, ops),
        *vllm_compress.kernels(tree),
        *vllm_windows.kernels(tree, ops),
        *vllm_ranks.kernels(tree),
        Kernel("indexer_k_quant_and_cache_triton", "write",
               lambda inputs, arch: _write(ops(arch), inputs), taken=_layout),
        Kernel("cp_gather_indexer_k_quant_cache_triton", "gather",
               lambda inputs, arch: _gather(ops(arch), inputs), taken=_layout),
        Kernel("rocm_fp8_paged_mqa_logits_triton", "logits",
               lambda inputs, arch: _paged(ops(arch), inputs),
               {"layout": "row", "block": 64}, _paged_takes),
        Kernel("_localize_aiter_prefill_topk", "select",
               lambda inputs, arch: _localize(ops(arch), inputs)),
        Kernel("generate_sparse_seqlen_triton", "convert",
               lambda inputs, arch: _counts(backend(), inputs), {"holes": 0}),
        Kernel("triton_convert_req_index_to_global_index", "convert",
               lambda inputs, arch: _convert(backend(), inputs), {"k": 128}, _convert_takes),
        Kernel("fit_kpool_indices_to_aiter", "select",
               lambda inputs, arch: _fit(backend(), inputs), {"holes": 0}),
        Kernel("build_ragged_indices_from_dense", "convert",
               lambda inputs, arch: _ragged(ops(arch), inputs)),
        Kernel("_rocm_sparse_attn_prefill_ragged_triton", "attend",
               lambda inputs, arch: _attend(ops(arch), inputs, splits=0)),
        Kernel("_rocm_sparse_attn_decode_ragged_bf16_triton", "attend, merge",
               lambda inputs, arch: _attend(ops(arch), inputs, splits=4), {"width": (512, 0)}),
    )


def _layout(case: Case) -> None:
    need((case.layout == "row") == (case.block == 1),
         "blocks of 1 are rows, others tiles of 16: the layout follows from the block size")


def _write(ops: Any, inputs: Inputs) -> list[Finding]:
    def call(keys: torch.Tensor, cached: torch.Tensor, slots: torch.Tensor) -> None:
        ops.indexer_k_quant_and_cache_triton(keys, cached, slots, 128, inputs.case.scale)

    return calls.of_writer(inputs, None, cache.divisor_of(inputs), call)


def _gather(ops: Any, inputs: Inputs) -> list[Finding]:
    owners = np.repeat(np.arange(len(inputs.lengths)), inputs.lengths).astype(np.int32)

    def call(cached: torch.Tensor, codes: torch.Tensor, scales: torch.Tensor) -> None:
        ops.cp_gather_indexer_k_quant_cache_triton(
            cached, codes, scales, put(inputs.tables), put(inputs.key_starts.astype(np.int32)),
            put(owners))

    return calls.of_gather(inputs, FP8[inputs.case.fp8], call)


def _paged_takes(case: Case) -> None:
    need(len({rows for rows, _ in case.requests}) == 1,
         "all requests of a call have as many rows")
    need(case.heads in (16, 32, 64, 128), "heads are a power of two from 16 on")


def _paged(ops: Any, inputs: Inputs) -> list[Finding]:
    held, case = cache.written(inputs), inputs.case
    q = put(inputs.q).view(FP8[case.fp8]).view(len(case.requests), -1, case.heads, 128)
    ops.rocm_fp8_paged_mqa_logits_triton(
        q, blocks(inputs, held).unsqueeze(2), put(inputs.weights),
        put(inputs.lengths.astype(np.int32)), put(inputs.tables), logits.columns(inputs))
    return calls.of_logits(inputs, held, back(_Workspace.last), "masked or left")


def _localize(ops: Any, inputs: Inputs) -> list[Finding]:
    """Absolute columns of a batch's gathered keys, made local."""
    right = calls.selected(inputs)
    starts = inputs.key_starts[inputs.owners].astype(np.int32)
    columns = put(np.where(right == selection.NONE, right, right + starts[:, None]))
    ops._localize_aiter_prefill_topk(columns, put(starts))
    return _same("SP-10", "select", right, back(columns))


def _counts(backend: Any, inputs: Inputs) -> list[Finding]:
    """min(position + 1, k) of each row, 0 of padding."""
    case, rows = inputs.case, inputs.case.rows + inputs.case.pad
    right = np.concatenate([np.minimum(inputs.visible, case.k), np.zeros(case.pad, int)])
    longest = max(count for count, _ in case.requests)
    found = back(backend.generate_sparse_seqlen_triton(
        put(inputs.lengths.astype(np.int32)), put(inputs.starts.astype(np.int32)), case.k, rows,
        longest))
    return _same("SP-15", "convert", right, found)


def _convert_takes(case: Case) -> None:
    need(case.k % 128 == 0, "k is a multiple of 128")


def _convert(backend: Any, inputs: Inputs) -> list[Finding]:
    """As the builder calls it: each row has as many entries as it sees keys, up to k."""
    case, picked = inputs.case, calls.selected(inputs)
    counts = np.concatenate([np.minimum(inputs.visible, case.k), np.zeros(case.pad, int)])
    sums = np.cumsum([0, *counts]).astype(np.int32)
    out = put(np.full(int(sums[-1]) + 1, -7, np.int32))
    pad = np.full((case.pad, case.k), selection.NONE, np.int32)
    owners = np.concatenate([inputs.owners, np.zeros(case.pad, int)]).astype(np.int32)
    backend.triton_convert_req_index_to_global_index(
        put(owners), put(inputs.tables), put(np.concatenate([picked, pad])), put(sums), out,
        case.block, BLOCK_SIZE=case.block, NUM_TOPK_TOKENS=case.k)
    made = back(out)
    if made[-1] != -7:  # noqa: PLR2004
        return [Finding("SP-15", "convert", f"the entry after the last row is {made[-1]}")]
    # Entries after a row's last valid one that are not read: the row's count is that of its keys.
    short = (counts[:case.rows] > (picked != selection.NONE).sum(axis=1)).any()
    return lists.check_lists(inputs, picked, Lists(sums, made[:-1]), none=bool(short))


def _fit(backend: Any, inputs: Inputs) -> list[Finding]:
    """A pooled history of k places and a tail of 3: the tail stays, history gives way."""
    right, tail = calls.selected(inputs), 3
    wide = np.full((inputs.case.rows, inputs.case.k + tail), selection.NONE, np.int32)
    wide[:, :inputs.case.k] = right
    expected = right.copy()
    for row in range(inputs.case.rows):
        new = np.arange(row % (tail + 1), dtype=np.int32) + 10 ** 6
        wide[row, inputs.case.k:inputs.case.k + new.size] = new
        history = right[row][right[row] != selection.NONE][:inputs.case.k - new.size]
        both = np.concatenate([history, new])
        expected[row] = selection.NONE
        expected[row, :both.size] = both
    return _same("SP-10", "select", expected,
                 back(backend.fit_kpool_indices_to_aiter(put(wide), inputs.case.k)))


def _ragged(ops: Any, inputs: Inputs) -> list[Finding]:
    """Slots with -1 anywhere, made ragged."""
    case, picked = inputs.case, calls.selected(inputs)
    dense = np.full((case.rows + case.pad, case.k), selection.NONE, np.int32)
    for row in range(case.rows):
        slots = inputs.slots(int(inputs.owners[row]))
        dense[row] = np.where(picked[row] == selection.NONE, -1, slots[picked[row]])
    lengths = np.full(case.rows + case.pad, case.k, np.int32)
    flat, sums = ops.build_ragged_indices_from_dense(put(dense), put(lengths))
    return lists.check_lists(inputs, picked, Lists(back(sums), back(flat)))


def _attend(ops: Any, inputs: Inputs, splits: int) -> list[Finding]:
    """Without a sink, then with one."""
    made, (latent, rope) = calls.listed(inputs), inputs.case.width
    q, kv = calls.padded_query(inputs), bf16(inputs.latent)
    indices = put(np.concatenate([made.indices, np.zeros(1, np.int32)]))
    found = []
    for sink in (None, calls.sink_of(inputs)):
        out = put(np.full(tuple(q.shape), 0x7FA5, np.int16)).view(torch.bfloat16)
        how = {"q": q, "kv": kv, "indices": indices, "indptr": put(made.indptr),
               "scale": inputs.softmax_scale, "nope_head_dim": latent, "rope_head_dim": rope,
               "attn_sink": None if sink is None else put(sink), "out": out}
        if splits:
            ops._rocm_sparse_attn_decode_ragged_bf16_triton(num_splits=splits, **how)
        else:
            ops._rocm_sparse_attn_prefill_ragged_triton(**how)
        found += calls.of_attention(inputs, made, out, sink=sink)
    return found


def _same(property_id: str, stage: str, right: np.ndarray, found: np.ndarray) -> list[Finding]:
    wrong = np.argwhere(right != found)
    if not len(wrong):
        return []
    at = tuple(int(n) for n in wrong[0])
    return [Finding(property_id, stage, f"entry {list(at)} is {found[at]}; expected {right[at]}; "
                    f"wrong are {len(wrong)} of {right.size}")]
