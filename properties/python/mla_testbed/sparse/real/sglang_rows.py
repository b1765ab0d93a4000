"""SGLang's kernels of packed rows, from a source tree: 656 bytes of V3.2, 584 of DeepSeek-V4."""

from __future__ import annotations

import functools
import pathlib
import types
from typing import Any

import numpy as np
import torch

from .. import rows
from ..case import Case
from ..findings import Finding
from ..inputs import Inputs
from ..numbers import of_bf16
from . import calls
from .device import FP8, back, put
from .kernel import Kernel
from .sources import functions

_QUANT = "sglang/kernels/ops/quantization/dsa_quant_k_cache.py"
_SET = "sglang/kernels/ops/kvcache/mla_buffer.py"
_DEQUANT = "sglang/kernels/ops/attention/dsa/dequant_k_cache.py"
_V4_SET = "sglang/kernels/ops/kvcache/dsv4_main_kv_store.py"
_V4_DEQUANT = "sglang/kernels/ops/attention/dsv4/dequant_k_cache.py"


class _Layout:
    """Stands for KVLayout: the one of V4 alone."""

    V4 = "v4"

    @staticmethod
    def parse(name: str) -> str:
        """There is but one."""
        return name


#: Slot of padding, in block 0, which belongs to no request.
_RESERVED = 0


def kernels(root: pathlib.Path) -> tuple[Kernel, ...]:
    """All of them."""
    ds = {"cache": "ds", "gap": 0, "fp8": "ocp", "scale": "f32"}
    v4 = {"cache": "v4", "gap": 0, "width": (448, 64), "block": 64}
    unpack = functools.cache(lambda: functions(root, _DEQUANT, (
        "_infer_dsa_dims", "dequantize_k_cache_paged_dsa", "_dequantize_k_cache_paged_kernel")))
    of_v4 = functools.cache(functools.partial(_v4, root))
    store = functools.cache(functools.partial(pack, root))
    return (
        Kernel("quantize_k_cache_separate, set_mla_kv_buffer_triton", "store",
               lambda inputs, arch: _store(store(), inputs), ds),
        Kernel("dequantize_k_cache_paged_dsa", "fetch",
               lambda inputs, arch: _fetch(unpack(), inputs), ds),
        Kernel("V4: _set_k_and_s_triton", "store",
               lambda inputs, arch: _set_v4(of_v4(arch), inputs), v4),
        Kernel("dequantize_k_cache_paged_dsv4", "fetch",
               lambda inputs, arch: _fetch_v4(of_v4(arch), inputs), v4),
    )


def pack(root: pathlib.Path) -> types.SimpleNamespace:
    """What quantises rows of 656 bytes, and what stores them."""
    quant = functions(root, _QUANT, None)
    wide = functions(root, _SET, ("set_mla_kv_buffer_kernel", "set_mla_kv_buffer_kernel_norope"))
    return types.SimpleNamespace(
        quantize=quant.quantize_k_cache_separate, rows=wide.set_mla_kv_buffer_kernel,
        no_rope=wide.set_mla_kv_buffer_kernel_norope)


def _store(module: Any, inputs: Inputs) -> list[Finding]:
    """Padding is skipped, but where there is no rope part."""
    rope = inputs.case.width[1]

    def call(tokens: torch.Tensor, cache: torch.Tensor, slots: torch.Tensor) -> None:
        set_rows(module, inputs.case, tokens, cache, slots, (0, 1))

    return calls.of_store(inputs, call, padding=rope > 0, floor=0)


def set_rows(module: Any, case: Case, tokens: torch.Tensor, cache: torch.Tensor,
             slots: torch.Tensor, rank: tuple[int, int]) -> None:
    """As the memory pool calls it; its dispatcher is not called, which asks for a platform. Padding
    goes to the reserved slot.

    Args:
        rank: which of how many that share a context.
    """
    if not slots.numel():
        return
    latent, rope = case.width
    slots = torch.where(slots < 0, _RESERVED, slots)
    nope, tail = module.quantize(tokens[:, :latent], tokens[:, latent:])
    buffer = cache.view(-1, 1, nope.shape[-1] + tail.shape[-1])
    size = buffer.shape[-1]
    block = 1 << (size - 1).bit_length()
    if rope:
        module.rows[(slots.numel(), 1)](
            buffer, nope, tail, slots, _RESERVED, buffer.stride(0), nope.stride(0),
            tail.stride(0), nope.shape[-1], tail.shape[-1], BLOCK=block, DCP_RANK=rank[0],
            DCP_WORLD_SIZE=rank[1])
    else:
        module.no_rope[(slots.numel(), 1)](
            buffer, nope, slots, buffer.stride(0), nope.stride(0), nope.shape[-1], BLOCK=block)


def _fetch(module: Any, inputs: Inputs) -> list[Finding]:
    cache = put(inputs.packed).view(FP8["ocp"]).view(-1, 1, rows.Layout(inputs.case).row)
    slots = put(calls.all_slots(inputs).astype(np.int32))
    out = module.dequantize_k_cache_paged_dsa(cache, slots)
    return calls.of_fetch(inputs, _bits(out), np.zeros(0, bool))


def _bits(out: torch.Tensor) -> np.ndarray:
    made: np.ndarray = back(out.squeeze(1).view(torch.int16)).view(np.uint16)
    return made


def _v4(root: pathlib.Path, arch: str) -> types.SimpleNamespace:
    fp8 = FP8["fnuz" if arch == "gfx942" else "ocp"]
    store = functions(root, _V4_SET, ("_set_k_and_s_triton", "_set_k_and_s_triton_kernel"),
                      {"fp8_dtype": fp8, "NopeFp8RopeBf16Pack": types.SimpleNamespace})
    load = functions(root, _V4_DEQUANT, (
        "DIM_NOPE", "DIM_ROPE", "TILE_SIZE", "NUM_SCALE_TILES", "NOPE_ROPE_BYTES",
        "PADDED_SCALE_PER_TOKEN", "dequantize_k_cache_paged_dsv4",
        "_dequantize_k_cache_paged_kernel"), {"fp8_dtype": fp8, "KVLayout": _Layout})
    return types.SimpleNamespace(store=store._set_k_and_s_triton,
                                 load=load.dequantize_k_cache_paged_dsv4)


def _set_v4(module: Any, inputs: Inputs) -> list[Finding]:
    """Its caller quantises; padding goes to a reserved slot, so it gets no -1."""
    case = inputs.case

    def call(tokens: torch.Tensor, cache: torch.Tensor, slots: torch.Tensor) -> None:
        if not slots.numel():
            return
        bits = back(tokens.view(torch.int16)).view(np.uint16)
        codes, scales = rows.quantise(case, of_bf16(bits))
        module.store(_pages(inputs, cache), slots, types.SimpleNamespace(
            k_nope_fp8=put(codes).view(FP8[case.fp8]),
            k_rope_bf16=tokens[:, case.width[0]:].contiguous(),
            scale_k_nope_ue8m0=put(rows.scale_bytes(case, scales))), case.block)

    return calls.of_store(inputs, call, padding=False)


def _pages(inputs: Inputs, cache: torch.Tensor) -> torch.Tensor:
    """(pages, bytes of a page), with what fills a page up."""
    return cache.view(inputs.blocks, rows.Layout(inputs.case).block_bytes)


def _fetch_v4(module: Any, inputs: Inputs) -> list[Finding]:
    out = module.load(_pages(inputs, put(inputs.packed)),
                      put(calls.all_slots(inputs).astype(np.int32)), inputs.case.block)
    return calls.of_fetch(inputs, _bits(out), np.zeros(0, bool))
