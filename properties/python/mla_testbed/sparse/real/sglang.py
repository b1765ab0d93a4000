"""SGLang's Triton kernels of the chain, from a source tree (0.5.23)."""

from __future__ import annotations

import functools
import pathlib
import types
from typing import Any

import numpy as np
import torch

from .. import cache, lists, selection
from ..case import TILE, Case
from ..findings import Finding
from ..inputs import Inputs
from ..lists import Lists
from . import calls, sglang_hip, sglang_ranks, sglang_rows, sglang_windows
from .device import FP8, back, bf16, put
from .kernel import Kernel, need
from .sources import functions

_AT = "sglang/kernels/ops"
_STORE, _STORE_FUSED = f"{_AT}/kvcache/dsa_index_k_cache.py", f"{_AT}/kvcache/triton_store_cache.py"
_DSA = f"{_AT}/attention/dsa"
#: Least magnitude of a key for the scale of the fused writer.
_EPS = 1e-8


def kernels(tree: pathlib.Path) -> tuple[Kernel, ...]:
    """All of them. tree: a checkout, its folder `python`, or where a wheel was unpacked."""
    root = tree / "python" if (tree / "python" / "sglang").is_dir() else tree
    index = functools.cache(functools.partial(_index, root))
    fused = functools.cache(functools.partial(_fused, root))
    transform = functools.cache(lambda: functions(root, f"{_DSA}/transform_index.py", None))
    valid = functools.cache(lambda: functions(root, f"{_DSA}/triton_kernel.py", None))
    attend = functools.cache(functools.partial(_attention, root))
    dense = {"gap": 0}
    return (
        *sglang_rows.kernels(root),
        *sglang_windows.kernels(root),
        *sglang_hip.kernels(root),
        *sglang_ranks.kernels(root),
        Kernel("_set_k_and_s_triton", "write", lambda inputs, arch: _set(index, inputs, arch),
               {**dense}),
        Kernel("triton_fused_store_indexer", "write",
               lambda inputs, arch: _store(fused, inputs, arch), {**dense, "scale": "f32"}),
        Kernel("_get_k_and_s_triton", "gather", lambda inputs, arch: _get(index, inputs, arch),
               {**dense, "layout": "row"}),
        Kernel("transform_index_page_table_decode", "convert",
               lambda inputs, arch: _decode(transform(), inputs)),
        Kernel("transform_index_page_table_prefill", "convert",
               lambda inputs, arch: _prefill(transform(), inputs)),
        Kernel("get_valid_kv_indices", "convert", lambda inputs, arch: _valid(valid(), inputs)),
        Kernel("triton_sparse_mla_fwd (one pass)", "attend",
               lambda inputs, arch: _attend(attend(arch), inputs, splits=0), taken=_takes),
        Kernel("triton_sparse_mla_fwd (split)", "attend, merge",
               lambda inputs, arch: _attend(attend(arch), inputs, splits=4), taken=_takes),
    )


def _index(root: pathlib.Path, arch: str, shuffled: bool) -> types.ModuleType:
    names = ("_set_k_and_s_triton", "_set_k_and_s_triton_kernel", "_get_k_and_s_triton",
             "_get_k_and_s_triton_kernel")
    return functions(root, _STORE, names, {
        "_is_hip": True, "_is_xpu": False, "_is_fp8_fnuz": arch == "gfx942",
        "_use_aiter_preshuffle": shuffled, "INDEXER_K_CACHE_PRESHUFFLE_TILE": TILE})


def _fused(root: pathlib.Path, arch: str, shuffled: bool) -> types.ModuleType:
    fp8 = FP8["fnuz" if arch == "gfx942" else "ocp"]
    return functions(root, _STORE_FUSED, (
        "_triton_fused_store_indexer_kernel", "triton_fused_store_indexer"), {
        "_FP8_DTYPE": fp8, "_FP8_INFO": torch.finfo(fp8), "_INDEXER_HEAD_DIM": 128,
        "INDEXER_K_CACHE_PRESHUFFLE_TILE": TILE,
        "aiter_can_use_preshuffle_paged_mqa": lambda: shuffled})


def _attention(root: pathlib.Path, arch: str) -> types.ModuleType:
    units = 304 if arch == "gfx942" else 256
    return functions(root, f"{_DSA}/triton_sparse_mla.py", None, {
        "is_fp8_fnuz": lambda: arch == "gfx942", "is_gfx95_supported": lambda: arch == "gfx950",
        "get_device_core_count": lambda *_: units, "q8kv8_topk_length_from_indices": None})


def _pages(inputs: Inputs, cached: torch.Tensor) -> torch.Tensor:
    """(pages, bytes of a page) of a cache of blocks."""
    return cached.reshape(inputs.blocks, -1)


def _set(index: Any, inputs: Inputs, arch: str) -> list[Finding]:
    """Its caller quantises; padding goes to slot 0, so it gets no -1."""
    module = index(arch, inputs.case.layout == "shuffle")
    codes, scales = cache.quantise(inputs, cache.divisor_of(inputs))
    live = inputs.slot_mapping >= 0

    def call(_: torch.Tensor, cached: torch.Tensor, slots: torch.Tensor) -> None:
        if slots.numel():
            module._set_k_and_s_triton(
                _pages(inputs, cached), slots, put(codes[live]).view(FP8[inputs.case.fp8]),
                put(scales[live]), inputs.case.block)

    return calls.of_writer(inputs, None, cache.divisor_of(inputs), call, padding=False)


def _store(fused: Any, inputs: Inputs, arch: str) -> list[Finding]:
    module = fused(arch, inputs.case.layout == "shuffle")

    def call(keys: torch.Tensor, cached: torch.Tensor, slots: torch.Tensor) -> None:
        module.triton_fused_store_indexer(keys, _pages(inputs, cached), slots, inputs.case.block)

    return calls.of_writer(inputs, None, inputs.encoding.most, call, floor=_EPS, padding=False)


def _get(index: Any, inputs: Inputs, arch: str) -> list[Finding]:
    module = index(arch, False)

    def call(cached: torch.Tensor, codes: torch.Tensor, scales: torch.Tensor) -> None:
        k, s = module._get_k_and_s_triton(
            _pages(inputs, cached.view(torch.uint8)), put(inputs.tables),
            put(inputs.lengths.astype(np.int64)), int(inputs.key_starts[-1]),
            int(inputs.lengths.max()), inputs.case.block, 128)
        codes.view(torch.uint8).copy_(k)
        scales.copy_(s)

    return calls.of_gather(inputs, FP8[inputs.case.fp8], call)


def _page_table(inputs: Inputs) -> np.ndarray:
    """(requests, positions) int32: the slot of each key; other requests' slots after the last."""
    widest = int(inputs.lengths.max())
    made = np.empty((len(inputs.lengths), widest), np.int32)
    for request, length in enumerate(inputs.lengths):
        made[request] = inputs.slot_mapping.max()
        made[request, :length] = inputs.slots(request)
    return made


def _dense(inputs: Inputs, picked: np.ndarray, out: torch.Tensor) -> list[Finding]:
    """Rows of k slots, of which -1 is none."""
    found = back(out)[:inputs.case.rows]
    sums = np.arange(inputs.case.rows + 1) * found.shape[1]
    sums = np.concatenate([sums, np.full(inputs.case.pad, sums[-1])])
    return lists.check_lists(inputs, picked, Lists(sums, found.reshape(-1)), none=True)


def _decode(transform: Any, inputs: Inputs) -> list[Finding]:
    """Each row has its request's page table."""
    picked = calls.selected(inputs)
    out = transform.transform_index_page_table_decode(
        put(_page_table(inputs)[inputs.owners]), put(picked))
    return _dense(inputs, picked, out)


def _prefill(transform: Any, inputs: Inputs) -> list[Finding]:
    picked = calls.selected(inputs)
    out = transform.transform_index_page_table_prefill(
        put(_page_table(inputs)), put(picked), [rows for rows, _ in inputs.case.requests],
        output_num_tokens=inputs.case.rows + inputs.case.pad)
    padding = back(out)[inputs.case.rows:]
    if (padding != selection.NONE).any():
        return [Finding("SP-22", "convert", f"a row of padding has slot {padding.max()}")]
    return _dense(inputs, picked, out)


def _slots(inputs: Inputs, picked: np.ndarray) -> np.ndarray:
    """(rows + pad, k) int32: slots, -1 where there is none."""
    made = np.full((inputs.case.rows + inputs.case.pad, inputs.case.k), -1, np.int32)
    for row in range(inputs.case.rows):
        slots = inputs.slots(int(inputs.owners[row]))
        made[row] = np.where(picked[row] == selection.NONE, -1, slots[picked[row]])
    return made


def _valid(valid: Any, inputs: Inputs) -> list[Finding]:
    picked = calls.selected(inputs)
    dense = _slots(inputs, picked)
    sums = np.cumsum([0, *(dense != selection.NONE).sum(axis=1)]).astype(np.int32)
    out = put(np.full(dense.size, -7, np.int32))
    valid.get_valid_kv_indices(put(dense), put(sums), out, len(dense))
    return lists.check_lists(inputs, picked, Lists(sums, back(out)))


def _takes(case: Case) -> None:
    need(case.width[1] > 0, "it loads a rope part")


def _attend(module: Any, inputs: Inputs, splits: int) -> list[Finding]:
    case, picked = inputs.case, calls.selected(inputs)
    latent = case.width[0]
    q, kv = calls.padded_query(inputs), bf16(inputs.latent).unsqueeze(1)
    how = (q[..., :latent].contiguous(), q[..., latent:].contiguous(), kv,
           put(_slots(inputs, picked)).unsqueeze(1), inputs.softmax_scale, latent)
    out = (module._triton_sparse_mla_fwd_splitk(*how, splits) if splits
           else module._triton_sparse_mla_fwd_single(*how))
    return calls.of_attention(inputs, lists.exact(inputs, picked), out.squeeze(0))


