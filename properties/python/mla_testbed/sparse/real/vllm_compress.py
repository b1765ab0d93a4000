"""vLLM's compressor of DeepSeek-V4, from a source tree: states, groups, packed rows."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ..case import Case
from ..compressor import EPS, Source, Step, check_compress, source_of
from ..findings import Finding
from ..inputs import Inputs
from . import vllm_launch
from .device import back, packed_blocks, put
from .kernel import Kernel, need
from .sources import functions

_STATES = "vllm/models/deepseek_v4/common/ops/save_partial_states.py"
_COMPRESS = "vllm/models/deepseek_v4/common/ops/fused_compress_quant_cache.py"
_NAMES = (
    "compress_norm_rope_store_triton", "_fused_kv_compress_norm_rope_insert_sparse_attn", "_n_cu",
    "_pick_compress_num_splits", "_compress_gather_split_sparse_attn",
    "_finalize_norm_rope_quant_store_sparse_attn", "_launch_two_stage_sparse_attn_compressor",
    "compress_norm_rope_store_two_stage_triton")


def kernels(tree: pathlib.Path) -> tuple[Kernel, ...]:
    """All of them."""
    module = functools.cache(functools.partial(_module, tree))
    # Their states take 4 KiB a token, so that cases are short.
    drawn = {"cache": "v4", "width": (448, 64), "block": 64, "shared": 0, "fp8": "ocp"}
    return (
        Kernel("compress_norm_rope_store_triton (4)", "compress",
               lambda inputs, arch: _judge(module(arch), inputs, two=False),
               {**drawn, "ratio": 4}, _short),
        Kernel("compress_norm_rope_store_triton (128)", "compress",
               lambda inputs, arch: _judge(module(arch), inputs, two=False),
               {**drawn, "ratio": 128}, _short),
        Kernel("compress_norm_rope_store_two_stage_triton (128)", "compress",
               lambda inputs, arch: _judge(module(arch), inputs, two=True),
               {**drawn, "ratio": 128}, _short),
    )


def _short(case: Case) -> None:
    need(sum(keys for _, keys in case.requests) <= 1200,  # noqa: PLR2004
         "states of at most 1200 tokens are computed here")


def _module(tree: pathlib.Path, arch: str) -> types.SimpleNamespace:
    given = {**vllm_launch.GIVEN, "dataclass": dataclasses.dataclass,
             "next_power_of_2": lambda n: 1 << (n - 1).bit_length(),
             "lru_cache": functools.lru_cache, "_ON_GFX950": arch == "gfx950"}
    states = functions(tree, _STATES, ("SavePartialStatesKernel", "_SAVE_PARTIAL_STATES_KERNEL"),
                       given)
    groups = functions(tree, _COMPRESS, _NAMES, given)
    return types.SimpleNamespace(
        save=states._SAVE_PARTIAL_STATES_KERNEL, one=groups.compress_norm_rope_store_triton,
        two=groups.compress_norm_rope_store_two_stage_triton)


def _judge(module: Any, inputs: Inputs, *, two: bool) -> list[Finding]:
    return check_compress(source_of(inputs), _compressor(module, two=two))


def _compressor(module: Any, *, two: bool) -> Callable[..., None]:
    """As the layer calls them: states of a step's tokens, then its groups. A token of padding,
    whose slots are -1, is the last of a step."""

    def compress(source: Source, steps: Sequence[Step], held: np.ndarray) -> None:
        states, tables, size = _states(source)
        cache = put(held)
        for step in steps:
            at = _Tokens.of(source, step, tables, size)
            if not at.positions.size:
                continue
            wide = source.halves * source.width
            module.save(
                kv=put(at.kv), score=put(at.score), ape=put(source.ape),
                positions=put(at.positions), state_cache=states, slot_mapping=put(at.state_slots),
                block_size=size, state_width=wide, compress_ratio=source.ratio)
            how = {"num_decode_tokens": 1, "compress_scratch": put(
                np.full((at.positions.size, source.width), np.nan, np.float32))} if two else {}
            (module.two if two else module.one)(
                state_cache=states, num_actual=at.positions.size,
                token_to_req_indices=put(at.owners), positions=put(at.positions),
                slot_mapping=put(at.state_slots), block_table=put(tables), block_size=size,
                state_width=wide, cos_sin_cache=put(source.turns),
                kv_cache=packed_blocks(source.inputs, cache),
                k_cache_metadata=types.SimpleNamespace(slot_mapping=put(at.slots)), pdl_kwargs={},
                head_dim=source.width, rope_head_dim=source.inputs.case.width[1],
                compress_ratio=source.ratio, overlap=source.halves > 1, use_fp4_cache=False,
                rms_norm_weight=put(source.weight), rms_norm_eps=EPS, quant_block=64,
                token_stride=576, scale_dim=8, **how)
            _forget(source, step, states, tables, size)
        held[:] = back(cache)

    return compress


def _states(source: Source) -> tuple[torch.Tensor, np.ndarray, int]:
    """The cache of states, which is NaN, a table of its blocks, and tokens of a block."""
    size = 4 if source.ratio == 4 else 8  # noqa: PLR2004
    counts = [-(-len(kv) // size) for kv in source.kv]
    draw = np.random.default_rng([source.inputs.case.seed, 12])
    ids = 1 + draw.permutation(sum(counts)).astype(np.int32)
    tables = np.zeros((len(counts), max(counts)), np.int32)
    at = 0
    for number, count in enumerate(counts):
        tables[number, :count] = ids[at:at + count]
        at += count
    shape = sum(counts) + 1, size, 2 * source.halves * source.width
    return put(np.full(shape, np.nan, np.float32)), tables, size


def _forget(source: Source, step: Step, states: torch.Tensor, tables: np.ndarray, size: int,
            ) -> None:
    """States that no later group has are another's: NaN. A block is given back as a whole."""
    for request, _, end in step:
        needed = end // source.ratio * source.ratio - (source.halves - 1) * source.ratio
        for block in range(max(0, needed) // size):
            states[int(tables[request, block])] = float("nan")


@dataclasses.dataclass(frozen=True)
class _Tokens:
    """Of a step, with one of padding at its end."""

    kv: np.ndarray
    score: np.ndarray
    positions: np.ndarray
    owners: np.ndarray
    state_slots: np.ndarray
    slots: np.ndarray

    @classmethod
    def of(cls, source: Source, step: Step, tables: np.ndarray, size: int) -> _Tokens:
        spans = [(request, np.arange(begin, end)) for request, begin, end in step if end > begin]
        if not spans:
            nothing = np.zeros(0, np.int64)
            return cls(*[nothing] * 6)
        slots = []
        for request, at in spans:
            whole = (at + 1) % source.ratio == 0
            own = np.append(source.slots(request), -1)
            slots.append(np.where(whole, own[np.where(whole, at // source.ratio, -1)], -1))
        return cls(
            np.concatenate([*(source.kv[r][at] for r, at in spans), source.kv[spans[0][0]][:1]]),
            np.concatenate([*(source.score[r][at] for r, at in spans),
                            source.score[spans[0][0]][:1]]),
            np.concatenate([*(at for _, at in spans), [source.ratio - 1]]).astype(np.int64),
            np.concatenate([*(np.full(at.size, r) for r, at in spans), [0]]).astype(np.int32),
            np.concatenate([*(tables[r, at // size].astype(np.int64) * size + at % size
                              for r, at in spans), [-1]]),
            np.concatenate([*slots, [-1]]).astype(np.int64))
