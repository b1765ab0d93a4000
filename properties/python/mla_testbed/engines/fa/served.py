"""AITER's flash attention entry points, served by dense attention in float64.

AITER's signatures stay: a call that AITER would refuse raises as it does there. What a kernel takes
on trust is checked: sizes of grids, tables and workspaces.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import pathlib
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ... import world
from ...errors import FaultError, UnsupportedError
from .. import plain
from ..dense import attention

#: unified_attention by the name that engines import, and AITER's files that may have it.
_UNIFIED = "aiter.ops.triton.unified_attention"
_REFUSED = "aiter.ops.triton._triton_kernels.flash_attn_triton_amd"
_FILES = ("ops/triton/attention/unified_attention.py", "ops/triton/unified_attention.py")


def install(*, unified: bool = True) -> None:
    """Replaces AITER's entry points in this process, for its whole life.

    paged_attention_v1 stays AITER's operation of torch; what it calls is replaced.

    Args:
        unified: unified_attention too, which is AITER's Triton kernel otherwise.

    Raises:
        ImportError: AITER has one of them elsewhere.
    """
    for module_name, name, body in (("aiter", "flash_attn_varlen_func", _varlen),
                                    ("aiter.ops.attention", "paged_attention_v1_core", _paged)):
        module = importlib.import_module(module_name)
        real = getattr(module, name, None)
        if real is None:
            raise ImportError(f"{module_name} has no {name}: this AITER is not known here")
        setattr(module, name, _served(name, inspect.signature(real), body))
    if not unified:
        _import_unified()
        return
    made: Any = types.ModuleType(_UNIFIED, __doc__)
    made.unified_attention = _served("unified_attention", _in_source("unified_attention"), _unified)
    sys.modules[_UNIFIED] = made


def of_signature(name: str, signature: inspect.Signature) -> Callable[..., Any]:
    """flash_attn_varlen_func of a signature, for a package that has none."""
    return _served(name, signature, lambda given: _varlen({
        "bias": None, "alibi_slopes": None, "block_table": None, "sink_ptr": None, **given}))


def _import_unified() -> None:
    """AITER's own. It takes one function of a package whose other modules have kernels that Triton
    3.9 refuses, so what the package imports for others is left out.

    Raises:
        ImportError: AITER has it elsewhere, or Triton refuses it.
    """
    root = pathlib.Path(str(importlib.import_module("aiter").__file__)).parent
    bare = types.ModuleType(_REFUSED)
    bare.__path__ = [str(root / "ops/triton/_triton_kernels/flash_attn_triton_amd")]
    before = sys.modules.get(_REFUSED)
    sys.modules[_REFUSED] = before or bare
    try:
        module = importlib.import_module("aiter.ops.triton.attention.unified_attention")
    except (AttributeError, ValueError) as e:
        raise ImportError(f"Triton refuses AITER's unified_attention: {e}") from e
    finally:
        if before is None:
            del sys.modules[_REFUSED]
    sys.modules[_UNIFIED] = module


def _in_source(name: str) -> inspect.Signature:
    """The signature of a function of one of AITER's files, which is not executed."""
    root = pathlib.Path(str(importlib.import_module("aiter").__file__)).parent
    for file in filter(pathlib.Path.is_file, (root / file for file in _FILES)):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return _signature(node.args)
    raise ImportError(f"none of {', '.join(_FILES)} has {name}: this AITER is not known here")


def _signature(found: ast.arguments) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    without = len(found.args) - len(found.defaults)
    return inspect.Signature([
        inspect.Parameter(argument.arg, kind, default=inspect.Parameter.empty if i < without
                          else ast.literal_eval(found.defaults[i - without]))
        for i, argument in enumerate(found.args)])


def _served(
    name: str, signature: inspect.Signature, body: Callable[[dict[str, Any]], Any]
) -> Callable[..., Any]:
    def called(*arguments: Any, **named: Any) -> Any:
        try:
            bound = signature.bind(*arguments, **named)
        except TypeError as e:
            raise TypeError(f"{name}() of this AITER: {e}") from e
        bound.apply_defaults()
        plain.used[name] += 1
        entered = world.active()
        with contextlib.nullcontext() if entered is None else entered.kernel():
            return body(bound.arguments)

    return called


def _varlen(a: dict[str, Any]) -> Any:
    _refuse(a, bias=None, alibi_slopes=None, block_table=None, sink_ptr=None, dropout_p=0.0,
            logits_soft_cap=0.0)
    rows, keys = _sums("cu_seqlens_q", a["cu_seqlens_q"]), _sums("cu_seqlens_k", a["cu_seqlens_k"])
    if rows.size != keys.size:
        raise FaultError(f"flash_attn_varlen_func: cu_seqlens_q has {rows.size} entries, "
                         f"cu_seqlens_k {keys.size}")
    for name, sums, tensor, most in (("q", rows, a["q"], a["max_seqlen_q"]),
                                     ("k", keys, a["k"], a["max_seqlen_k"])):
        _within("flash_attn_varlen_func", name, sums, tensor.shape[0], most)
    q, k, v = (_floats(a[name]) for name in ("q", "k", "v"))
    out = a["out"]
    if out is None:  # values may have fewer elements than keys
        out = torch.empty((*a["q"].shape[:-1], a["v"].shape[-1]), dtype=a["q"].dtype,
                          device=a["q"].device)
    lse = torch.empty(a["q"].shape[1], a["q"].shape[0], dtype=torch.float32,
                      device=a["q"].device)
    left = int(a["window_size"][0])
    for i in range(rows.size - 1):
        own, keys_of = slice(rows[i], rows[i + 1]), slice(keys[i], keys[i + 1])
        one = attention(q[own], k[keys_of], v[keys_of], a["softmax_scale"],
                        causal=bool(a["causal"]), left=left)
        _put(out, own, one.out)
        lse[:, own] = torch.from_numpy(one.lse.T.astype(np.float32)).to(lse.device)
    return (out, lse) if a["return_lse"] else out


def _unified(a: dict[str, Any]) -> None:
    _refuse(a, softcap=0.0, q_descale=None, alibi_slopes=None, sinks=None, qq_bias=None)
    if not a["causal"]:
        raise AssertionError("Only causal attention is supported")
    rows = _sums("cu_seqlens_q", a["cu_seqlens_q"])
    lengths = a["seqused_k"].cpu().numpy()
    if rows.size != lengths.size + 1:
        raise FaultError(f"unified_attention: cu_seqlens_q has {rows.size} entries for "
                         f"{lengths.size} requests")
    _within("unified_attention", "q", rows, a["q"].shape[0], a["max_seqlen_q"])
    _paged_rows(a, "unified_attention", rows, lengths, int(a["max_seqlen_k"]),
                a["window_size"][0], a["softmax_scale"], (a["k"], a["v"]), a["block_table"])


def _paged(a: dict[str, Any]) -> None:
    _refuse(a, alibi_slopes=None, logits_soft_cap=0.0, fp8_out_scale=None, mtp=1)
    heads, dim = a["query"].shape[1:]
    lengths = a["context_lens"].cpu().numpy()
    if dim % 64 or heads // a["key_cache"].shape[2] > 16:  # noqa: PLR2004
        raise UnsupportedError(f"paged_attention_v1 takes heads of 64 elements each and 16 query "
                               f"heads for a KV head; got {dim} and {heads} over "
                               f"{a['key_cache'].shape[2]}")
    parts = -(-int(a["max_context_len"]) // int(a["partition_size"]))
    needed = lengths.size * heads * parts * (dim * a["query"].element_size() + 8)
    if a["workspace_buffer"].numel() < needed:
        raise FaultError(f"paged_attention_v1: the workspace has {a['workspace_buffer'].numel()} "
                         f"bytes; {lengths.size} requests of {parts} parts need {needed}")
    window = int(a["sliding_window"])
    _paged_rows({**a, "q": a["query"]}, "paged_attention_v1", np.arange(lengths.size + 1), lengths,
                int(a["max_context_len"]), window - 1 if window > 0 else -1, a["scale"],
                (a["key_cache"], a["value_cache"]), a["block_tables"])


def _paged_rows(
    a: dict[str, Any], name: str, rows: np.ndarray, lengths: np.ndarray, longest: int, left: int,
    scale: float, caches: tuple[torch.Tensor, torch.Tensor], table: torch.Tensor,
) -> None:
    """Rows over keys in blocks; caches: (blocks, block, kv_heads, dim)."""
    q, blocks = _floats(a["q"]), table.cpu().numpy()
    size = caches[0].shape[1]
    for i, length in enumerate(lengths.tolist()):
        if length > longest:
            raise FaultError(f"{name}: request {i} has {length} keys; its longest is said to have "
                             f"{longest}")
        count = -(-length // size)
        if count > blocks.shape[1]:
            raise FaultError(f"{name}: request {i} has {count} blocks; the table has "
                             f"{blocks.shape[1]} columns")
        if ((blocks[i, :count] < 0) | (blocks[i, :count] >= caches[0].shape[0])).any():
            raise FaultError(f"{name}: request {i} names block {blocks[i, :count].max()}; the "
                             f"cache has {caches[0].shape[0]}")
        named = torch.from_numpy(blocks[i, :count].astype(np.int64)).to(caches[0].device)
        k, v = (_floats(cache[named]).reshape(-1, *cache.shape[2:])[:length] for cache in caches)
        own = slice(int(rows[i]), int(rows[i + 1]))
        _put(a["out"], own, attention(q[own], k, v, scale, causal=True, left=int(left)).out)


def _sums(name: str, tensor: torch.Tensor) -> np.ndarray:
    if tensor.dtype != torch.int32:
        raise FaultError(f"{name} has elements of {tensor.dtype}; the kernel reads int32")
    return tensor.cpu().numpy().astype(np.int64)


def _within(function: str, name: str, sums: np.ndarray, room: int, most: int) -> None:
    lengths = np.diff(sums)
    if sums[0] != 0 or (lengths < 0).any() or sums[-1] > room:
        raise FaultError(f"{function}: the sums of {name} go from {sums[0]} to {sums[-1]}; the "
                         f"tensor has {room} rows")
    if lengths.size and lengths.max() > most:
        raise FaultError(f"{function}: max_seqlen_{name} is {most}; request "
                         f"{int(lengths.argmax())} has {lengths.max()}")


def _refuse(a: dict[str, Any], **plain: Any) -> None:
    """What is not served: an argument that is neither as here nor absent."""
    for name, value in plain.items():
        if a.get(name, value) != value:
            raise NotImplementedError(f"{name}={a[name]} is not served here; expected {value}")


def _floats(tensor: torch.Tensor) -> np.ndarray:
    array: np.ndarray = tensor.cpu().float().numpy()
    return array


def _put(out: torch.Tensor, rows: slice, values: np.ndarray) -> None:
    out[rows] = torch.from_numpy(values.astype(np.float32)).to(out.device).to(out.dtype)
