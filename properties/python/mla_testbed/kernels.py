"""What AITER's compiled MLA operations do, executed on the CPU on the caller's own arrays.

Outputs are written in place; what no work writes keeps what it holds. bf16 is an array of uint16 or
bfloat16, fp8 one of uint8 or of the encoding of the architecture. An index that leaves its buffer
is never followed: the wrong work is left out, and the call raises FaultError with the report.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from . import _library, _options, _structs
from ._tensors import describe_all
from .cache_kernels import quantise_fp8, rope_and_cache

if TYPE_CHECKING:
    from .array_types import Array

__all__ = ["concat_and_cache", "decode_stage1", "expand_pages", "prefill", "quantise_fp8",
           "reduce", "rope_and_cache"]


#: Parameters that a call writes into.
_OUTPUTS = frozenset(("split_data", "split_lse", "output", "lse", "final_output", "final_lse"))
#: With a single split stage 1 gets the output as its partial outputs too.
_SAME = frozenset(("split_data", "output"))


def _pointers(struct: Any, arch: str, fp8: tuple[str, ...], **tensors: Any) -> tuple[Any, Any]:
    """A struct of pointers to descriptors, and what has to stay alive for it."""
    given = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    alive = describe_all(given, _OUTPUTS, fp8=_options.fp8_encoding(arch), encoded=fp8, same=_SAME)
    return struct(**{name: ctypes.pointer(d) for name, d in alive.items()}), alive


def decode_stage1(
    q: Array,
    kv: Array,
    qo_indptr: Array,
    kv_indptr: Array,
    kv_page_indices: Array,
    kv_last_page_lens: Array,
    num_kv_splits_indptr: Array | None,
    work_meta_data: Array | None,
    work_indptr: Array | None,
    work_info_set: Array | None,
    max_seqlen_q: int,
    page_size: int,
    nhead_kv: int,
    softmax_scale: float,
    split_data: Array,
    split_lse: Array,
    output: Array,
    lse: Array | None = None,
    q_scale: Array | None = None,
    kv_scale: Array | None = None,
    causal: bool = True,
    *,
    arch: str = "gfx942",
) -> None:
    """Stage 1 of a decode, as `aiter.mla_decode_stage1_asm_fwd`.

    Args:
        q: (rows, heads, key) bf16 or fp8, heads and rows folded as the kernel takes them. Rows
            have 576 elements; on backend "cpu" fewer as well.
        kv: (pages, page_size, 1, key) bf16 or fp8.
        qo_indptr, kv_indptr: (batch + 1) int32, running sums of query rows and of pages.
        kv_page_indices: int32, the page of each logical page.
        kv_last_page_lens: (batch) int32, tokens in the last page of each request.
        num_kv_splits_indptr: (batch + 1) int32 without a plan, else None.
        work_meta_data, work_indptr, work_info_set: of a plan, else None; the first may be None.
        max_seqlen_q: query rows of the longest request.
        softmax_scale: what scores are multiplied by, beside q_scale and kv_scale.
        split_data: float32, partial outputs: (partial rows, 1, heads, value) with a plan,
            (rows, splits, heads, value) without; bf16 with a single split, the output. No other
            output shares memory with anything.
        split_lse: float32, natural logarithms, one for each row and head of split_data.
        output: (rows, heads, value) bf16: 512 elements, or the first of a row on backend "cpu".
        lse: (rows, heads) float32 or None; only kernels that return a final LSE take it.
        q_scale, kv_scale: one float32 for an operand of fp8; that of a bf16 operand is ignored.
            Both are needed if q is fp8. With q in bf16, a missing kv_scale means 1.

    Raises:
        UnsupportedError: no kernel of AITER takes this shape.
        FaultError: a list or a plan leads out of a buffer, or writes a row twice.
        TensorError: an array of another dtype, shape or layout.
    """
    options = _structs.Stage1Options(
        _options.arch_number(arch), _options.number(max_seqlen_q, "max_seqlen_q"),
        _options.number(page_size, "page_size"), _options.number(nhead_kv, "nhead_kv"),
        _options.flag(causal, "causal"))
    tensors, _alive = _pointers(
        _structs.Stage1Tensors, arch, ("q", "kv"), q=q, kv=kv, qo_indptr=qo_indptr,
        kv_indptr=kv_indptr, kv_page_indices=kv_page_indices, kv_last_page_lens=kv_last_page_lens,
        num_kv_splits_indptr=num_kv_splits_indptr, work_meta_data=work_meta_data,
        work_indptr=work_indptr, work_info_set=work_info_set, split_data=split_data,
        split_lse=split_lse, output=output, lse=lse, q_scale=q_scale, kv_scale=kv_scale)
    _library.check(_library.load().mla_decode_stage1(
        ctypes.byref(options), ctypes.byref(tensors),
        _options.real(softmax_scale, "softmax_scale")))


def reduce(
    partial_output: Array,
    partial_lse: Array,
    reduce_indptr: Array,
    reduce_final_map: Array | None,
    reduce_partial_map: Array,
    final_output: Array,
    final_lse: Array | None = None,
    *,
    arch: str = "gfx942",
) -> None:
    """Merges the pieces of every tile that has two or more, as `aiter.mla_reduce_v1`.

    Args:
        partial_output: (partial rows, .., heads, dim) float32.
        partial_lse: (partial rows, .., heads, ..) float32.
        reduce_indptr: (tiles + 1) int32.
        reduce_final_map: (tiles, 2) int32, or None: tiles of equal rows, one after the other.
        reduce_partial_map: int32, the first partial row of each piece.
        final_output: (rows, heads, dim) bf16 or float16, with any row and head stride that keeps
            elements apart; negative ones are refused.
        final_lse: (rows, heads) float32 or None.

    Raises: as `decode_stage1`.
    """
    tensors, _alive = _pointers(
        _structs.ReduceTensors, arch, (), partial_output=partial_output, partial_lse=partial_lse,
        reduce_indptr=reduce_indptr, reduce_final_map=reduce_final_map,
        reduce_partial_map=reduce_partial_map, final_output=final_output, final_lse=final_lse)
    _library.check(_library.load().mla_reduce(_options.arch_number(arch), ctypes.byref(tensors)))


def prefill(
    q: Array,
    k: Array,
    v: Array,
    qo_indptr: Array,
    kv_indptr: Array,
    kv_page_indices: Array,
    work_indptr: Array,
    work_info_set: Array,
    softmax_scale: float,
    is_causal: bool,
    split_data: Array,
    split_lse: Array,
    output: Array,
    q_scale: Array | None = None,
    k_scale: Array | None = None,
    v_scale: Array | None = None,
    *,
    arch: str = "gfx950",
) -> None:
    """The works of a prefill plan, as `aiter.mla_prefill_ps_asm_fwd`; gfx950 only.

    Args:
        q: (rows, heads, 192) fp8.
        k: (keys, heads, 192) fp8.
        v: (keys, heads, 128) fp8.
        qo_indptr, kv_indptr: (batch + 1) int32.
        kv_page_indices: int32, rows of k and v.
        work_indptr, work_info_set: of a plan by `plan_prefill`.
        split_data: (partial rows, heads, 128) float32.
        split_lse: (partial rows, heads) float32.
        output: (rows, heads, 128) bf16.
        q_scale, k_scale, v_scale: one float32, or None for 1.

    Raises: as `decode_stage1`.
    """
    tensors, _alive = _pointers(
        _structs.PrefillTensors, arch, ("q", "k", "v"), q=q, k=k, v=v, qo_indptr=qo_indptr,
        kv_indptr=kv_indptr, kv_page_indices=kv_page_indices, work_indptr=work_indptr,
        work_info_set=work_info_set, split_data=split_data, split_lse=split_lse, output=output,
        q_scale=q_scale, k_scale=k_scale, v_scale=v_scale)
    _library.check(_library.load().mla_prefill(
        _options.arch_number(arch), _options.flag(is_causal, "is_causal"), ctypes.byref(tensors),
        _options.real(softmax_scale, "softmax_scale")))


def concat_and_cache(
    kv_c: Array,
    k_pe: Array,
    kv_cache: Array,
    slot_mapping: Array,
    kv_cache_dtype: str,
    scale: Array | None,
    *,
    arch: str = "gfx942",
) -> None:
    """Writes tokens into a paged cache, as `aiter.concat_and_cache_mla`.

    Args:
        kv_c: (tokens or more, 512) bf16, float16 or float32; rows beyond the tokens are padding.
        k_pe: (tokens or more, 64) of the same dtype.
        kv_cache: (blocks, block size, 576) of the same dtype, or fp8.
        slot_mapping: (tokens) int64; negative: padding, nothing is written.
        kv_cache_dtype: "auto" or "fp8".
        scale: one float32; an fp8 element is the value divided by it.

    Raises: as `decode_stage1`.
    """
    encoding = _options.fp8_encoding(arch)
    kind = _options.text(kv_cache_dtype, "kv_cache_dtype")
    given = {"kv_c": kv_c, "k_pe": k_pe, "kv_cache": kv_cache, "slot_mapping": slot_mapping}
    if scale is not None:
        given["scale"] = scale
    output = ("kv_cache",)
    alive = describe_all(given, output, fp8=encoding,
                         encoded=output if kind.startswith(b"fp8") else ())
    described = {name: ctypes.byref(d) for name, d in alive.items()}
    last = described.pop("scale", None)
    _library.check(_library.load().mla_concat_and_cache(
        _options.arch_number(arch), *described.values(), kind, last))


def expand_pages(
    block_table: Array,
    kv_indptr: Array,
    kv_indices: Array,
    pages_per_block: int,
    table_rows: Array | None = None,
) -> None:
    """From a block table to the flat list of pages, as the kernel of an engine makes it.

    Page t of request r is `block_table[row, t // pages_per_block] * pages_per_block + t %
    pages_per_block`, at `kv_indices[kv_indptr[r] + t]`; nothing else is written. With pages of one
    token these are the tokens' slots.

    Args:
        block_table: (rows, columns) int32, any strides; negative ones are refused.
        kv_indptr: (batch + 1) int32, running sum of pages.
        kv_indices: int32, at least kv_indptr[-1] entries.
        pages_per_block: tokens of a block divided by tokens of a page.
        table_rows: (batch) int64, the row of each request; None: row r of request r.

    Raises:
        OverrunError: kv_indices or a row of the table is too short; nothing has been written.
        UnsupportedError: a page number leaves int32.
        TensorError: an array of another dtype or shape.
    """
    given = {"block_table": block_table, "kv_indptr": kv_indptr, "kv_indices": kv_indices}
    if table_rows is not None:
        given["table_rows"] = table_rows
    alive = describe_all(given, ("kv_indices",))
    described = {name: ctypes.byref(d) for name, d in alive.items()}
    _library.check(_library.load().mla_expand_pages(
        described["block_table"], described["kv_indptr"], described.get("table_rows"),
        _options.number(pages_per_block, "pages_per_block"), described["kv_indices"]))
