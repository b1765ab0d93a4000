"""A whole SGLang whose model has an indexer: what that asks of compiled modules, in plain torch.

Its own are the indexer's Python, its metadata, its pool and cache, page tables, the conversion to
lists, and AITER's Triton kernels of the logits.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import types
from collections.abc import Callable
from typing import Any

import torch

from ... import world
from .. import plain
from ..e2e.indexed import hadamard
from ..moved import found
from . import machine, releases
from .releases import QUANTISERS, SUPPORTED

#: SGLang makes pages of 64 tokens where AITER has its Gluon kernel, and else, or asked for, of 1.
BLOCKS = (1, 64)
_ELEMENTS, _LEAST, _TILE = 128, 1e-4, 16


def prepare(block: int) -> None:
    """SGLang's own switches, and packages that are not installed, before it is imported."""
    os.environ["SGLANG_DSA_HIP_DISABLE_PRESHUFFLE"] = str(int(block == 1))
    legacy_writer()
    _module("fast_hadamard_transform", hadamard_transform=plain.counted(
        "hadamard_transform", _hadamard))
    if importlib.util.find_spec("tilelang") is None:
        for module in QUANTISERS:
            _put(module, act_quant=plain.counted("act_quant", act_quant))


def legacy_writer() -> None:
    """SGLang's own switch: on gfx950 releases from 0.5.21 on write the indexer's cache by a fused
    kernel, with a parameter that AITER up to August 2026 lacks."""
    os.environ["SGLANG_DISABLE_AITER_FUSED_FP8_DSA_INDEXER"] = "1"


def install(version: str) -> None:
    """Once in a process, after `stand_ins.install`.

    Raises:
        MovedError: this SGLang has one of them elsewhere.
    """
    layers = "sglang.srt.layers."
    _replace(version, layers + "layernorm:layer_norm", "layer_norm", _layer_norm)
    _replace(version, "sglang.srt.models.deepseek_common.attention_forward_methods."
             "forward_mla_rocm:fused_qk_rmsnorm_bf16", "fused_qk_rmsnorm", _two_norms)
    kernels(version)


def kernels(version: str) -> None:
    """The writer, the gather and top-k alone; raises as `install`."""
    _replace(version, "sglang.srt.layers.attention.dsa.dsa_indexer:indexer_k_quant_and_cache",
             "indexer_k_quant_and_cache", write)
    accessor = releases.gather() + ":"
    if found(f"SGLang {version}", SUPPORTED, accessor + "_use_aiter_preshuffle")[2]:
        _replace(version, accessor + "cp_gather_indexer_k_quant_cache",
                 "cp_gather_indexer_k_quant_cache", gather)
    _replace(version, f"{machine.COMPILED}:fast_topk_transform_fused", "fast_topk_transform_fused",
             select_slots)


def _replace(version: str, place: str, name: str, body: Callable[..., Any]) -> None:
    owner, attribute, _ = found(f"SGLang {version}", SUPPORTED, place)
    setattr(owner, attribute, plain.counted(name, body))


def _module(name: str, **attributes: Any) -> None:
    """A package that is not installed."""
    if importlib.util.find_spec(name) is None:
        _put(name, **attributes)


def _put(name: str, **attributes: Any) -> None:
    made = types.ModuleType(name)
    vars(made).update(attributes)
    sys.modules[name] = made


def _hadamard(x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    return (hadamard(x.float()) * (scale * x.shape[-1]**0.5)).to(x.dtype)


def _coded(x: torch.Tensor, kind: torch.dtype, power: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """(rows, 128) to fp8, and a scale of each row: 224 on gfx942, 448 on gfx950 are the largest."""
    most = 224.0 if kind == torch.float8_e4m3fnuz else 448.0
    values = x.float()
    scale = values.abs().amax(-1).clamp(min=_LEAST) / most
    if power:
        scale = torch.exp2(torch.ceil(torch.log2(scale)))
    return (values / scale[:, None]).clamp(-most, most).to(kind), scale


def act_quant(x: torch.Tensor, block_size: int = 128, scale_fmt: str | None = None
              ) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes like x, and (..., blocks) float32 scales."""
    codes, scales = _coded(x.reshape(-1, block_size), _fp8(), scale_fmt is not None)
    return codes.view(x.shape), scales.view(*x.shape[:-1], -1)


def write(k: torch.Tensor, cache: torch.Tensor, slots: torch.Tensor, block_size: int,
          scale_fmt: str | None, preshuffle: bool = False) -> None:
    """Codes and scales of new keys. cache: (pages, page, 132) fp8; negative slots are not written.
    """
    _launch([k, slots, cache], lambda: _write(k, cache, slots, power=scale_fmt == "ue8m0",
                                              shuffled=preshuffle))


def _write(k: torch.Tensor, cache: torch.Tensor, slots: torch.Tensor, *, power: bool,
           shuffled: bool) -> None:
    live = slots >= 0
    codes, scales = _coded(k[:len(slots)][live], cache.dtype, power)
    flat = cache.view(torch.uint8).view(cache.shape[0], -1)
    values, at = _places(slots[live], cache.shape[1], shuffled=shuffled)
    pages = (slots[live] // cache.shape[1])[:, None]
    flat[pages, values] = codes.view(torch.uint8)
    flat[pages, at] = scales[:, None].contiguous().view(torch.uint8)


def gather(cache: torch.Tensor, codes: torch.Tensor, scales: torch.Tensor, table: torch.Tensor,
           sums: torch.Tensor, preshuffle: bool = False) -> None:
    """The keys of all requests, one after the other. sums: (requests + 1)."""
    _launch([cache, codes, scales, table, sums],
            lambda: _gather(cache, codes, scales, table, sums, shuffled=preshuffle))


def _gather(cache: torch.Tensor, codes: torch.Tensor, scales: torch.Tensor, table: torch.Tensor,
            sums: torch.Tensor, *, shuffled: bool) -> None:
    flat, page = cache.view(torch.uint8).view(cache.shape[0], -1), cache.shape[1]
    for row, (begin, end) in enumerate(zip(sums[:-1].tolist(), sums[1:].tolist(), strict=True)):
        keys = torch.arange(end - begin)
        pages = table[row].long()[keys // page][:, None]
        values, at = _places(keys, page, shuffled=shuffled)
        codes.view(torch.uint8)[begin:end] = flat[pages, values]
        scales.view(torch.uint8)[begin:end] = flat[pages, at]


def _places(slots: torch.Tensor, page: int, *, shuffled: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """(slots, 128) and (slots, 4): bytes of a page. Shuffled, they are tiles of 16 by 16."""
    place, element = slots[:, None].long() % page, torch.arange(_ELEMENTS)
    values = place * _ELEMENTS + element
    if shuffled:
        values = (place // _TILE * _TILE * _ELEMENTS + element // _TILE * _TILE * _TILE
                  + place % _TILE * _TILE + element % _TILE)
    return values, page * _ELEMENTS + place * 4 + torch.arange(4)


def select_slots(score: torch.Tensor, lengths: torch.Tensor, page_table_size_1: torch.Tensor,
                 cu_seqlens_q: torch.Tensor, topk: int, row_starts: torch.Tensor | None = None
                 ) -> torch.Tensor:
    """The slots of the largest scores of each row, and -1 after them.

    Args:
        score: (rows, columns); those of a row begin at row_starts, or at 0. lengths: (rows,).
        page_table_size_1: (requests, keys) slots. cu_seqlens_q: (requests + 1) rows.
    """
    out = torch.full((len(score), topk), -1, dtype=torch.int32, device=score.device)
    starts = torch.zeros_like(lengths) if row_starts is None else row_starts
    _launch([score, lengths, starts, page_table_size_1, cu_seqlens_q, out], lambda: _select(
        score, starts, lengths, page_table_size_1, cu_seqlens_q, out))
    return out


def _select(score: torch.Tensor, starts: torch.Tensor, lengths: torch.Tensor, table: torch.Tensor,
            sums: torch.Tensor, out: torch.Tensor) -> None:
    rows, most = torch.arange(len(score)), out.shape[1]
    owners = torch.bucketize(rows, sums[1:].long(), right=True).tolist()
    out.fill_(-1)
    for row, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True)):
        keys = (torch.arange(length) if length <= most else
                torch.topk(score[row, start:start + length], most).indices)
        out[row, :len(keys)] = table[owners[row]].long()[keys].to(out.dtype)


def _launch(tensors: list[torch.Tensor], body: Callable[[], None]) -> None:
    """Runs it as one kernel, which a captured graph runs again."""
    entered = world.active()
    if entered is None:
        body()
        return

    def kernel() -> None:
        recording, entered.state.capture = entered.state.capture, None  # its operations are not
        try:
            body()
        finally:
            entered.state.capture = recording

    entered.launch(kernel, tensors)


def _layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, epsilon: float
                ) -> torch.Tensor:
    return torch.nn.functional.layer_norm(x.float(), x.shape[-1:], weight.float(), bias.float(),
                                          epsilon).to(x.dtype)


def _two_norms(q: torch.Tensor, q_weight: torch.Tensor, q_epsilon: float, k: torch.Tensor,
               k_weight: torch.Tensor, k_epsilon: float) -> tuple[torch.Tensor, torch.Tensor]:
    made = torch.empty_like(q), torch.empty_like(k)
    plain.rms_norm(made[0], q, q_weight, q_epsilon)
    plain.rms_norm(made[1], k, k_weight, k_epsilon)
    return made


def _fp8() -> torch.dtype:
    kind: torch.dtype = importlib.import_module("aiter").dtypes.fp8
    return kind
