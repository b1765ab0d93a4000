"""Operations that SGLang takes from AITER's and its own compiled modules, in plain torch, counted.

All others of a whole run are SGLang's, AITER's Python, or our modules below it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch

from .. import plain
from ..moved import found
from . import releases
from .releases import SUPPORTED


def install(version: str) -> None:
    """Once in a process, inside a stage, after SGLang's backend is imported.

    Raises:
        MovedError: this SGLang has one of them elsewhere.
    """
    aiter: Any = importlib.import_module("aiter")
    engine = f"SGLang {version}"

    def put(place: str, body: Any) -> None:
        owner, name, _ = found(engine, SUPPORTED, place)
        setattr(owner, name, body)

    layers = "sglang.srt.layers."
    put(layers + "layernorm:rms_norm", plain.counted("rms_norm", _rms_norm))
    put(layers + "layernorm:fused_add_rms_norm",
        plain.counted("fused_add_rms_norm", _fused_add_rms_norm))
    put(layers + "activation:silu_and_mul", plain.counted(
        "silu_and_mul", lambda x, out: plain.silu_and_mul(out, x)))
    put(layers + "activation:_aiter_silu_and_mul", plain.counted(
        "silu_and_mul", lambda out, x, *_: plain.silu_and_mul(out, x)))
    put("aiter.tuned_gemm:tgemm.mm", plain.counted("gemm", _mm))
    put("aiter:rope_cached_positions_2c_fwd_inplace",
        plain.counted("rope_cached_positions_2c_fwd", _rope))
    backend = importlib.import_module(layers + "attention.aiter_backend")
    backend.flash_attn_varlen_func = aiter.flash_attn_varlen_func  # type: ignore[attr-defined]
    # The rest is SGLang's own, for devices on which it has no compiled kernel.
    put("sglang.srt.model_executor.forward_batch_info:clamp_position",
        plain.counted("clamp_position", releases.clamp_position(engine)))
    _drafts(engine, put)


def own_rope(version: str) -> None:
    """SGLang's rotary embedding in torch in place of AITER's, in a run without AITER.

    Raises:
        MovedError: this SGLang has one of them elsewhere.
    """
    factory = "sglang.srt.layers.rotary_embedding.factory:"
    owner, name, _ = found(f"SGLang {version}", SUPPORTED, factory + "aiter_get_rope")
    _, _, get_rope = found(f"SGLang {version}", SUPPORTED, factory + "get_rope")

    def made(*given: Any) -> Any:
        rope = get_rope(*given)
        rope.forward = plain.counted("rope", rope.forward_native)
        return rope

    setattr(owner, name, made)


def _drafts(engine: str, put: Callable[[str, Any], None]) -> None:
    """What speculation asks of sgl_kernel: SGLang's Triton kernels and torch."""
    trees, common = releases.trees() + ":", "sglang.srt.utils.common:fast_topk"
    _, _, topk = found(engine, SUPPORTED, common)
    _, _, build = found(engine, SUPPORTED, trees + "sgl_build_tree_kernel_triton")
    _, _, verify = found(engine, SUPPORTED, trees + "verify_tree_greedy_triton")

    def verified(**given: Any) -> None:
        plain.used["verify_tree_greedy"] += 1
        verify(**{name.replace("retrive", "retrieve"): value for name, value in given.items()})

    def built(*given: Any) -> None:
        plain.used["build_tree"] += 1
        build(*given)

    put("sglang.srt.speculative.spec_utils:fast_topk", plain.counted("fast_topk", topk))
    put(trees + "sgl_build_tree_kernel_efficient", built)
    put(f"{releases.verifier()}:verify_tree_greedy", verified)
    for user in ("eagle_worker_v2", "standalone_worker_v2", "draft_utils", "eagle_worker_common"):
        module = importlib.import_module(f"sglang.srt.speculative.{user}")
        if hasattr(module, "fast_topk"):
            put(f"sglang.srt.speculative.{user}:fast_topk", plain.counted("fast_topk", topk))


def _rms_norm(x: torch.Tensor, weight: torch.Tensor, epsilon: float, *_: Any) -> torch.Tensor:
    out = torch.empty_like(x)
    plain.rms_norm(out, x, weight, epsilon)
    return out


def _fused_add_rms_norm(
    out: torch.Tensor, x: torch.Tensor, residual: torch.Tensor, residual_out: torch.Tensor,
    weight: torch.Tensor, epsilon: float, *_: Any
) -> None:
    residual_out.copy_((x.float() + residual.float()).to(residual_out.dtype))
    plain.rms_norm(out, residual_out, weight, epsilon)


def _mm(x: torch.Tensor, weights: torch.Tensor, bias: torch.Tensor | None = None,
        otype: torch.dtype | None = None, *_: Any) -> torch.Tensor:
    made = plain.linear(weights, x, bias)
    return made if otype is None else made.to(otype)


def _rope(
    x: torch.Tensor, y: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor,
    positions: torch.Tensor, rotate_style: int, reuse_freqs_front_part: bool, nope_first: bool,
) -> None:
    """Two tensors of (1, rows, heads, elements), of which all elements are rotary."""
    if not reuse_freqs_front_part or nope_first and x.shape[-1] != 2 * cos.shape[-1]:
        raise NotImplementedError("rope of another layout is not served here")
    of = [table.reshape(len(table), -1)[positions.reshape(-1)].float()[:, None]
          for table in (cos, sin)]
    for tensor in (x, y):
        plain.turn(tensor[0], *of, is_neox=rotate_style == 0)
