"""Rotary embedding with the cache write, and casts to fp8, on the caller's own arrays.

Part of `mla_testbed.kernels`.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from . import _library, _options, _structs
from ._tensors import describe_all
from .errors import UsageError

if TYPE_CHECKING:
    from .array_types import Array

#: Where the scale of a cast comes from.
SCALES = {"given": 0, "tensor": 1, "row": 2}


def rope_and_cache(
    q_nope: Array,
    q_pe: Array,
    kv_c: Array,
    k_pe: Array,
    kv_cache: Array,
    q_out: Array,
    slot_mapping: Array,
    k_scale: Array,
    q_scale: Array,
    positions: Array,
    cos_cache: Array,
    sin_cache: Array,
    is_neox: bool,
    is_nope_first: bool = True,
    compute_all_q_rope: bool = False,
    *,
    segmented: bool = False,
    arch: str = "gfx942",
) -> None:
    """Rotates new tokens, writes keys into a paged cache and queries into q_out.

    As `aiter.fused_qk_rope_concat_and_cache_mla` and, with `segmented`, its form `_seg`.

    Args:
        q_nope: (tokens, heads, 512) bf16, float16 or float32; all sources have one dtype.
        q_pe: (tokens, heads, 64).
        kv_c: (tokens, 512) or (tokens, key heads, 512).
        k_pe: (tokens, 64) or (tokens, key heads, 64).
        kv_cache: (blocks, block size, 576), (blocks, block size, key heads, 576), or segmented
            (blocks, 64 * 576); of the same dtype, or fp8.
        q_out: (tokens, heads, 576) of the same dtype, or fp8 if the cache is.
        slot_mapping: (tokens) int64; negative: padding, nothing is written.
        k_scale, q_scale: one float32; an fp8 element is the value divided by it.
        positions: (tokens) int64. AITER's two decode kernels (rope of 64; latent parts of 512 with
            4 heads or more, or blocks of 1 token and fewer than 256 tokens) take the nearest
            position of the tables, and so does this; its other kernels read outside of them.
        cos_cache, sin_cache: (positions, 32).
        is_neox: pairs (i, i + 32); otherwise (2 i, 2 i + 1).
        is_nope_first: the latent part lies before the rope part.
        compute_all_q_rope: queries of padding are written too.

    Raises:
        FaultError: a slot outside of the cache, or a position outside of the tables where AITER's
            kernel for these shapes does not take the nearest one; the other tokens are written.
        TensorError, UnsupportedError: arrays that the operation does not take.
    """
    encoding = _options.fp8_encoding(arch)
    options = _library.filled(
        _structs.RopeCacheOptions, "mla_rope_cache_defaults", arch=_options.arch_number(arch),
        is_neox=is_neox, is_nope_first=is_nope_first, compute_all_q_rope=compute_all_q_rope,
        segmented=segmented)
    given = {"q_nope": q_nope, "q_pe": q_pe, "kv_c": kv_c, "k_pe": k_pe, "kv_cache": kv_cache,
             "q_out": q_out, "slot_mapping": slot_mapping, "k_scale": k_scale,
             "q_scale": q_scale, "positions": positions, "cos_cache": cos_cache,
             "sin_cache": sin_cache}
    outputs = ("kv_cache", "q_out")
    alive = describe_all({name: tensor for name, tensor in given.items() if tensor is not None},
                         outputs, fp8=encoding, encoded=outputs)
    tensors = _structs.RopeCacheTensors(
        **{name: ctypes.pointer(tensor) for name, tensor in alive.items()})
    _library.check(_library.load().mla_rope_and_cache(
        ctypes.byref(options), ctypes.byref(tensors)))


def quantise_fp8(
    input: Any, output: Any, scales: Any, scale: str = "given", *, arch: str = "gfx942"
) -> None:
    """Casts to fp8: element / scale, rounded to nearest even, saturating.

    Args:
        input: bf16, float16 or float32, contiguous.
        output: fp8, as many elements.
        scales: one float32, or with "row" one for each row of the last dimension.
        scale: "given": read, as `aiter.static_per_tensor_quant`; "tensor": the largest magnitude
            divided by the largest fp8 number, written, as `dynamic_per_tensor_quant`; "row": the
            same for each row, as `dynamic_per_token_scaled_quant`. Nothing but zeros has scale 0,
            and its elements become NaN, as in the original.

    Raises:
        TensorError: arrays that the operation does not take.
    """
    if not isinstance(scale, str) or scale not in SCALES:
        raise UsageError(f"scale is '{scale}'; expected {', '.join(SCALES)}")
    outputs = ("output",) if scale == "given" else ("output", "scales")
    alive = describe_all({"input": input, "output": output, "scales": scales}, outputs,
                         fp8=_options.fp8_encoding(arch), encoded=("output",))
    _library.check(_library.load().mla_quantise_fp8(
        _options.arch_number(arch), SCALES[scale], *(ctypes.byref(d) for d in alive.values())))
