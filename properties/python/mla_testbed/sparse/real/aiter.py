"""AITER's kernels of the chain: its own Python, Triton and Gluon, and its own C++."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

import numpy as np
import torch

from .. import attention, cache, logits, selection
from ..case import Case
from ..findings import Finding
from ..inputs import Inputs
from ..logits import FENCE
from ..numbers import of_bf16, to_bf16
from . import calls
from .device import FP8, back, bf16, blocks, packed_blocks, put
from .kernel import Kernel, need
from .two_caches import both_of, with_one

#: Columns of a chunk of the paged kernels.
_CHUNK = 256


def kernels(tree: pathlib.Path) -> tuple[Kernel, ...]:  # noqa: ARG001 it is imported
    """All of them; AITER is importable."""
    even = {"qheads": 16}
    return (
        Kernel("indexer_k_quant_and_cache", "write", _write),
        Kernel("cp_gather_indexer_k_quant_cache", "gather", _gather),
        Kernel("fp8_mqa_logits", "logits", _flat),
        Kernel("deepgemm_fp8_paged_mqa_logits", "logits", _paged, taken=_paged_takes),
        Kernel("deepgemm_fp8_paged_mqa_logits_stage1", "logits", _stage1,
               {"layout": "row", "heads": 64}, _uniform),
        Kernel("deepgemm_fp8_paged_mqa_logits_ragged_k", "logits", _ragged,
               {"layout": "row", "block": 1, "gap": 0}, _uniform),
        Kernel("top_k_per_row_prefill", "select", _topk_prefill, {"holes": 0}),
        Kernel("top_k_per_row_decode", "select", _topk_decode, {"holes": 0}, _uniform),
        Kernel("unified_attention_sparse_mla", "attend",
               lambda inputs, arch: _unified(inputs, lead=0), even),
        Kernel("unified_attention_sparse_mla (first tile empty, low scores)", "attend",
               lambda inputs, arch: _unified(_low(inputs), lead=inputs.case.block), even),
        Kernel("mla_decode_fwd", "attend, merge", lambda inputs, arch: _mla(inputs, sums=False),
               {**even, "width": (512, 64), "pad": 0}),
        Kernel("mla_decode_fwd (last pages 0, 1, 2 ...)", "attend, merge",
               lambda inputs, arch: _mla(inputs, sums=True),
               {**even, "width": (512, 64), "pad": 0}),
        Kernel("pa_decode_sparse", "attend, merge", _decode, {"width": (512, 0)}),
        Kernel("pa_decode_sparse (packed rows)", "attend, merge", _decode_packed,
               {"cache": "v4", "width": (448, 64), "block": 64}),
        Kernel("pa_decode_sparse (window and compressed)", "attend, merge", _decode_both,
               {"cache": "v4", "width": (448, 64), "block": 64, "shared": 0, "ratio": 4,
                "window": 128}),
        Kernel("pa_prefill_sparse", "attend", _prefill, {"width": (512, 0)}),
        Kernel("pa_prefill_sparse (no sink)", "attend", _prefill_none, {"width": (512, 0)}),
    )


def _write(inputs: Inputs, _: str) -> list[Finding]:
    """It divides by the largest number of the encoding, also on gfx942."""
    import aiter  # noqa: PLC0415

    def call(keys: torch.Tensor, cached: torch.Tensor, slots: torch.Tensor) -> None:
        aiter.indexer_k_quant_and_cache(
            keys, cached, slots, 128, inputs.case.scale, inputs.case.layout == "shuffle")

    return calls.of_writer(inputs, FP8[inputs.case.fp8], inputs.encoding.most, call)


def _gather(inputs: Inputs, _: str) -> list[Finding]:
    import aiter  # noqa: PLC0415

    def call(cached: torch.Tensor, codes: torch.Tensor, scales: torch.Tensor) -> None:
        aiter.cp_gather_indexer_k_quant_cache(
            cached, codes, scales.view(torch.float32), put(inputs.tables),
            put(inputs.key_starts.astype(np.int32)), inputs.case.layout == "shuffle")

    return calls.of_gather(inputs, FP8[inputs.case.fp8], call)


def _flat(inputs: Inputs, _: str) -> list[Finding]:
    """Rows of all requests against their gathered keys, with a range of columns for each row."""
    from aiter.ops.triton.attention.fp8_mqa_logits import fp8_mqa_logits  # noqa: PLC0415

    held, fp8 = cache.written(inputs), FP8[inputs.case.fp8]
    codes, scales = cache.gathered(inputs, held)
    starts = inputs.key_starts[inputs.owners]
    out = back(fp8_mqa_logits(
        put(inputs.q).view(fp8), put(codes).view(fp8), put(scales), put(inputs.weights),
        put(starts.astype(np.int32)), put((starts + inputs.visible).astype(np.int32))))
    found = np.full((inputs.case.rows, logits.columns(inputs) + FENCE), logits.BEFORE)
    found[:, :-FENCE] = -np.inf
    for row, (start, request) in enumerate(zip(starts, inputs.owners, strict=True)):
        length = int(inputs.lengths[request])
        found[row, :length] = out[row, start:start + length]
        other = np.delete(out[row], np.s_[start:start + length])
        if not (other == -np.inf).all():
            return [Finding("SP-07", "logits", f"row {row} has {other[other != -np.inf][0]:.6g} "
                            "for a key of another request")]
    return calls.of_logits(inputs, held, found, "masked")


def _uniform(case: Case) -> None:
    need(len({rows for rows, _ in case.requests}) == 1,
         "all requests of a call have as many rows")


def _paged_takes(case: Case) -> None:
    _uniform(case)
    need(_CHUNK % case.block == 0, f"blocks divide a chunk of {_CHUNK} columns")
    need((case.layout == "row") == (case.block == 1),
         "blocks of 1 are rows; larger ones are tiles, as its caller stores them")


def _batched(inputs: Inputs) -> torch.Tensor:
    """(requests, rows of each, heads, 128)."""
    shape = len(inputs.case.requests), -1, inputs.case.heads, 128
    return put(inputs.q).view(FP8[inputs.case.fp8]).view(*shape)


def _paged(inputs: Inputs, _: str) -> list[Finding]:
    from aiter.ops.triton.attention import pa_mqa_logits  # noqa: PLC0415

    held, out = cache.written(inputs), calls.before_logits(inputs)
    width = logits.columns(inputs)
    pa_mqa_logits.deepgemm_fp8_paged_mqa_logits(
        _batched(inputs), blocks(inputs, held).unsqueeze(2), put(inputs.weights), out[:, :width],
        put(inputs.lengths.astype(np.int32)), put(inputs.tables), width,
        Preshuffle=inputs.case.layout == "shuffle", KVBlockSize=inputs.case.block)
    return calls.of_logits(inputs, held, back(out), "masked or left")


def _stage1(inputs: Inputs, _: str) -> list[Finding]:
    """Terms of heads, which its caller adds up over memory that it has filled with -inf."""
    from aiter.ops.triton.attention import pa_mqa_logits  # noqa: PLC0415

    held, (heads, rows) = cache.written(inputs), (inputs.case.heads, inputs.case.rows)
    width = logits.columns(inputs)
    terms = put(np.full((heads, rows, width), -np.inf, np.float32))
    pa_mqa_logits.deepgemm_fp8_paged_mqa_logits_stage1(
        _batched(inputs), blocks(inputs, held).unsqueeze(2), put(inputs.weights), terms,
        put(inputs.lengths.astype(np.int32)), put(inputs.tables), width)
    found = np.full((rows, width + FENCE), logits.BEFORE)
    found[:, :width] = back(terms.sum(dim=0))
    return calls.of_logits(inputs, held, found, "masked")


def _ragged(inputs: Inputs, _: str) -> list[Finding]:
    from aiter.ops.triton.attention import pa_mqa_logits  # noqa: PLC0415

    held, out = cache.written(inputs), calls.before_logits(inputs)
    slots = [inputs.slots(request) for request in range(len(inputs.lengths))]
    width = logits.columns(inputs)
    pa_mqa_logits.deepgemm_fp8_paged_mqa_logits_ragged_k(
        _batched(inputs), blocks(inputs, held)[:, 0], put(inputs.weights), out[:, :width],
        put(inputs.key_starts.astype(np.int32)), put(np.concatenate(slots).astype(np.int32)), width)
    return calls.of_logits(inputs, held, back(out), "masked or left")


def _noisy_logits(inputs: Inputs) -> tuple[np.ndarray, np.ndarray]:
    """Exact logits with what a selection must not read after each row's keys; ends of the rows."""
    made = logits.exact_logits(inputs, logits.rows_of(inputs, cache.written(inputs)))[:, :-FENCE]
    for row, visible in enumerate(inputs.visible):
        made[row, visible::2], made[row, visible + 1::2] = np.inf, 1e30
    return made, inputs.visible.astype(np.int32)


def _topk_prefill(inputs: Inputs, _: str) -> list[Finding]:
    import aiter  # noqa: PLC0415

    made, ends = _noisy_logits(inputs)
    out = put(np.full((len(made), inputs.case.k), -7, np.int32))
    aiter.top_k_per_row_prefill(put(made), put(np.zeros_like(ends)), put(ends), out, None,
                                len(made), made.shape[1], 1, inputs.case.k)
    return selection.check_selection(inputs, made, back(out))


def _topk_decode(inputs: Inputs, _: str) -> list[Finding]:
    import aiter  # noqa: PLC0415

    made, _ends = _noisy_logits(inputs)
    out = put(np.full((len(made), inputs.case.k), -7, np.int32))
    aiter.top_k_per_row_decode(put(made), inputs.case.requests[0][0],
                               put(inputs.lengths.astype(np.int32)), out, len(made),
                               made.shape[1], 1, inputs.case.k)
    return selection.check_selection(inputs, made, back(out))


def _low(inputs: Inputs) -> Inputs:
    """The same batch with scores from about -160 to -140: all keys lie on one side, and all queries
    on the other."""
    made, side = dataclasses.replace(inputs), inputs.case.row_width ** -0.5
    keys = of_bf16(inputs.latent) / 10 + 5 * side
    query = np.full(inputs.query.shape, -30 * side / inputs.softmax_scale)
    latent = np.where(np.isnan(keys), inputs.latent, to_bf16(np.nan_to_num(keys)))
    made.__dict__.update(latent=latent, query=to_bf16(query))
    return made


def _unified(inputs: Inputs, lead: int) -> list[Finding]:
    """Slots instead of positions; -1 is skipped. lead: so many -1 before a row's first slot."""
    from aiter.ops.triton.attention.unified_attention_sparse_mla import (  # noqa: PLC0415
        unified_attention_sparse_mla,
    )

    case, made = inputs.case, calls.listed(inputs)
    rows, latent = case.rows + case.pad, case.width[0]
    dense = np.full((rows, lead + case.k), -1, np.int32)
    picked = calls.selected(inputs)
    for row in range(case.rows):
        slots = inputs.slots(int(inputs.owners[row]))
        dense[row, lead:] = np.where(picked[row] == selection.NONE, -1, slots[picked[row]])
    out = put(np.full((rows, case.qheads, latent), 0x7FA5, np.int16)).view(torch.bfloat16)
    kv = bf16(inputs.latent).view(inputs.blocks, case.block, 1, case.row_width)
    sums = np.arange(rows + 1).astype(np.int32)
    unified_attention_sparse_mla(
        calls.padded_query(inputs), kv, out, put(sums), 1, put(np.ones(rows, np.int32)), 1,
        inputs.softmax_scale, put(dense), put(np.zeros((rows, 1), np.int32)), latent)
    return calls.of_attention(inputs, made, out)


def _mla(inputs: Inputs, *, sums: bool) -> list[Finding]:
    """bf16 without a plan: each row is a request, pages of 1 token. Block 0 is zeros, like an
    engine's null block: the kernels read it after a row's last key (AITER-11).

    sums: for the lengths of the last pages the running sum of rows, as SGLang calls it.
    """
    from aiter.mla import mla_decode_fwd  # noqa: PLC0415

    case, made = inputs.case, calls.listed(inputs)
    out = put(np.full((case.rows, case.qheads, case.width[0]), 0x7FA5, np.int16))
    out = out.view(torch.bfloat16)
    rows = put(np.arange(case.rows + 1).astype(np.int32))
    last = rows if sums else put(np.ones(case.rows, np.int32))
    pool = inputs.latent.copy()
    pool[:case.block] = 0
    mla_decode_fwd(bf16(inputs.query), bf16(pool).view(-1, 1, 1, case.row_width), out,
                   rows, put(made.indptr), put(made.indices), last, 1,
                   sm_scale=inputs.softmax_scale)
    return calls.of_attention(inputs, made, out)


def _decode(inputs: Inputs, arch: str) -> list[Finding]:
    """The Triton kernel rounds queries times scale times log2 e to bf16; that of gfx950 scales
    scores."""
    from aiter.ops.triton.attention.pa_decode_sparse import pa_decode_sparse  # noqa: PLC0415

    made, sink = calls.listed(inputs), calls.sink_of(inputs)
    out = pa_decode_sparse(*_pool(inputs, made), put(sink), inputs.softmax_scale)
    return calls.of_attention(inputs, made, out, sink=sink,
                              query="base2" if arch == "gfx942" else "exact")


def _decode_packed(inputs: Inputs, _: str) -> list[Finding]:
    """DeepSeek-V4's rows of 584 bytes, on gfx950 alone."""
    from aiter.ops.triton.attention.pa_decode_sparse import pa_decode_sparse  # noqa: PLC0415

    made, sink = calls.listed(inputs), calls.sink_of(inputs)
    indices = np.concatenate([made.indices, np.full(1, -1, np.int32)])
    out = pa_decode_sparse(
        calls.padded_query(inputs), packed_blocks(inputs, put(inputs.packed)), put(indices),
        put(made.indptr), put(sink), inputs.softmax_scale)
    return calls.of_attention(inputs, made, out, sink=sink)


def _decode_both(inputs: Inputs, _: str) -> list[Finding]:
    """One softmax over the lists into two caches, on gfx950 alone."""
    from aiter.ops.triton.attention.pa_decode_sparse import pa_decode_sparse  # noqa: PLC0415

    both, sink = both_of(inputs), calls.sink_of(inputs)
    out = pa_decode_sparse(
        calls.padded_query(inputs), packed_blocks(inputs, put(inputs.packed)),
        put(with_one(both.window.indices)), put(both.window.indptr), put(sink),
        inputs.softmax_scale, extra_cache=packed_blocks(both.other, put(both.other.packed)),
        extra_indices=put(with_one(both.compressed.indices)),
        extra_indptr=put(both.compressed.indptr))
    return attention.check_attention(inputs, both.lists(), back(out), sink=sink, keys=both.keys)


def _prefill(inputs: Inputs, _: str) -> list[Finding]:
    from aiter.ops.triton.attention.pa_prefill_sparse import pa_prefill_sparse  # noqa: PLC0415

    made, sink = calls.listed(inputs), calls.sink_of(inputs)
    out = pa_prefill_sparse(*_pool(inputs, made), None, None, None, put(sink),
                            inputs.softmax_scale)
    return calls.of_attention(inputs, made, out, sink=sink)


def _prefill_none(inputs: Inputs, _: str) -> list[Finding]:
    from aiter.ops.triton.attention.pa_prefill_sparse import pa_prefill_sparse  # noqa: PLC0415

    made = calls.listed(inputs)
    out = pa_prefill_sparse(*_pool(inputs, made), None, None, None, None, inputs.softmax_scale)
    return calls.of_attention(inputs, made, out)


def _pool(inputs: Inputs, made: Any) -> tuple[torch.Tensor, ...]:
    """Queries, rows of the cache, slots and their sums."""
    indices = np.concatenate([made.indices, np.full(1, -1, np.int32)])
    return calls.padded_query(inputs), bf16(inputs.latent), put(indices), put(made.indptr)
