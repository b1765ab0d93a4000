"""vLLM's kernels of packed rows, from a source tree: DeepSeek-V4's rows of 584 bytes."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import types
from typing import Any

import numpy as np
import torch

from ..findings import Finding
from ..inputs import Inputs
from . import calls
from .device import back, packed_blocks, put
from .kernel import Kernel
from .sources import functions
from .vllm_launch import GIVEN

_CACHE = "vllm/models/deepseek_v4/common/ops/cache_utils.py"


def kernels(tree: pathlib.Path, ops: Any) -> tuple[Kernel, ...]:
    """ops: vLLM's operations for an architecture."""
    cached = functools.cache(functools.partial(_cached, tree))
    drawn = {"cache": "v4", "width": (448, 64), "block": 64}
    return (
        Kernel("quantize_and_insert_k_cache", "store",
               lambda inputs, arch: _insert(cached(arch), inputs), drawn),
        Kernel("quantize_and_insert_k_cache (OCP)", "store",
               lambda inputs, arch: _insert(cached(arch), inputs), {**drawn, "fp8": "ocp"}),
        Kernel("dequantize_and_gather_k_cache", "fetch",
               lambda inputs, arch: _gather(cached(arch), inputs), drawn),
        Kernel("_rocm_sparse_attn_decode_ragged_triton", "attend, merge",
               lambda inputs, arch: _attend(ops(arch), inputs), drawn),
    )


def _cached(tree: pathlib.Path, arch: str) -> types.ModuleType:
    platform = types.SimpleNamespace(is_fp8_fnuz=lambda: arch == "gfx942")
    return functions(tree, _CACHE, (
        "quantize_and_insert_k_kernel", "quantize_and_insert_k_cache",
        "DequantizeAndGatherKCacheKernel", "dequantize_and_gather_k_cache",
        "_DEQUANTIZE_AND_GATHER_K_CACHE_KERNEL"), {
        **GIVEN, "dataclass": dataclasses.dataclass, "current_platform": platform,
        "get_fp8_min_max": lambda: (-224.0, 224.0) if arch == "gfx942" else (-448.0, 448.0),
        "has_cutedsl": lambda: False})


def _insert(module: Any, inputs: Inputs) -> list[Finding]:
    def call(tokens: torch.Tensor, cache: torch.Tensor, slots: torch.Tensor) -> None:
        blocks = packed_blocks(inputs, cache)
        module.quantize_and_insert_k_cache(tokens, blocks.flatten(1), slots, inputs.case.block,
                                           use_fnuz=inputs.case.fp8 == "fnuz")

    return calls.of_store(inputs, call)


def _gather(module: Any, inputs: Inputs) -> list[Finding]:
    """All keys of all requests, at row 3 of an output that is one row longer than needed."""
    lengths, offset = inputs.lengths.astype(np.int32), 3
    longest = int(lengths.max())
    shape = len(lengths), longest + offset + 1, inputs.case.row_width
    out = put(np.full(shape, 0x5A5A, np.uint16).view(np.int16), torch.bfloat16)
    blocks = packed_blocks(inputs, put(inputs.packed))
    module.dequantize_and_gather_k_cache(
        out, blocks, put(lengths), None, put(inputs.tables), inputs.case.block, offset,
        use_fnuz=inputs.case.fp8 == "fnuz")
    whole = back(out.view(torch.int16)).view(np.uint16)
    at = np.arange(shape[1]) - offset
    live = (at >= 0) & (at < lengths[:, None])
    return calls.of_fetch(inputs, whole[live], whole[~live] != 0x5A5A)  # noqa: PLR2004


def _attend(ops: Any, inputs: Inputs) -> list[Finding]:
    """Without a sink, then with one."""
    made, (latent, rope) = calls.listed(inputs), inputs.case.width
    q, found = calls.padded_query(inputs), []
    for sink in (None, calls.sink_of(inputs)):
        out = put(np.full(tuple(q.shape), 0x7FA5, np.int16)).view(torch.bfloat16)
        ops._rocm_sparse_attn_decode_ragged_triton(
            q=q, main_cache=packed_blocks(inputs, put(inputs.packed)),
            main_indices=put(np.concatenate([made.indices, np.zeros(1, np.int32)])),
            main_indptr=put(made.indptr), scale=inputs.softmax_scale,
            attn_sink=None if sink is None else put(sink), nope_head_dim=latent,
            rope_head_dim=rope, out=out)
        found += calls.of_attention(inputs, made, out, sink=sink)
    return found
