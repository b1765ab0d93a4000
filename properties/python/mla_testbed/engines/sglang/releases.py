"""Releases of SGLang that whole runs serve, and what differs between them.

Nothing else asks for one. Other releases are tried: what they lack is named by moved.MovedError.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

from ..moved import found
from . import machine

#: Those that scenarios passed on, oldest first (docs/use/engines.md).
SERVED = ("0.5.19", "0.5.20", "0.5.21", "0.5.22", "0.5.23")
SUPPORTED = f"SGLang {SERVED[0]} to {SERVED[-1]}"
#: Modules of the quantisation in tilelang, of older and newer releases.
QUANTISERS = ("sglang.kernels.ops.attention.dsa.tilelang_kernel",
              "sglang.kernels.ops.quantization.act_quant_tilelang")
_CLAMP = "_clamp_position_native"
_CLAMPS = "sglang.kernels.ops.attention.clamp_position:_CLAMP_POSITION"


def clamp_position(engine: str) -> Callable[..., Any]:
    """SGLang's own positions of a decode, for devices on which it has no compiled kernel."""
    before = "sglang.srt.model_executor.forward_batch_info"
    native: Callable[..., Any] = (
        found(engine, SUPPORTED, f"{before}:{_CLAMP}")[2] if _in(before, _CLAMP)
        else found(engine, SUPPORTED, _CLAMPS)[2].forward_native)
    return native


def trees() -> str:
    """The module of the Triton kernels of drafts' trees."""
    moved = "sglang.kernels.ops.speculative.spec_tree"
    there = _in(moved, "sgl_build_tree_kernel_triton")
    return moved if there else "sglang.srt.speculative.eagle_utils"


def verifier() -> str:
    """The module of which a step that verifies drafts imports its compiled kernel."""
    moved = "sglang.kernels.ops.speculative.tree"
    return moved if _has(moved) else machine.COMPILED


def gather() -> str:
    """The module that gathers keys of the indexer's cache."""
    moved = "sglang.kernels.ops.kvcache.dsa_index_k_cache"
    return moved if _has(moved) else "sglang.kernels.ops.attention.dsa.index_buf_accessor"


def _has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _in(module: str, name: str) -> bool:
    return _has(module) and hasattr(importlib.import_module(module), name)


def scheduler(arguments: Any, ports: Any, rank: int, replica: int | None) -> Any:
    """SGLang's Scheduler for one rank, which its launcher tells where it is.

    Args:
        arguments, ports: SGLang's own; `arguments` are those of `publish`.
        rank: of this process. replica: of data-parallel attention, or None.
    """
    made = importlib.import_module("sglang.srt.managers.scheduler").Scheduler
    return made(arguments, ports) if _placed() else made(
        arguments, ports, 0, rank, 0, 0, 0, 0, replica)


def publish(arguments: Any, rank: int, replica: int | None) -> None:
    """Makes SGLang's ServerArgs those of this process."""
    context = importlib.import_module("sglang.srt.runtime_context")
    where = {"ranks": context.SpawnRanks(world_rank=rank, dp_rank=replica, gpu_id=0)} if (
        _placed()) else {}
    context.publish(arguments, role="scheduler", **where)


def _placed() -> bool:
    """Whether the configuration of a process has its place among the ranks."""
    return hasattr(importlib.import_module("sglang.srt.runtime_context"), "SpawnRanks")
