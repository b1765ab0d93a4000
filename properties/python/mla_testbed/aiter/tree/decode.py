"""A decode step as a tree of AITER runs it: its dispatch, code objects and reduce."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ...world import notes
from ..own.runtime import runtime
from . import stages
from .lists import LISTS
from .machine import dtype_of, on_device, run_as, set_compute_units
from .planner import known
from .wire import Array, Message

_KEY, _VALUE = 576, 512
_POISON = 0x7FA5  # kPoisonBf16 (core/engine/backend.hpp)


def decode(arch: str, asked: dict[str, Any], arrays: dict[str, Array]) -> Message:
    """mla_decode_fwd over the lists and tensors of a launch: out as the bits of bf16, and lse.

    With the kernels of AITER's C++ that it launched.
    """
    from aiter.mla import mla_decode_fwd  # noqa: PLC0415 the tree is on sys.path by now

    set_compute_units(asked["compute_units"])
    rows, heads = asked["rows"], asked["heads"]
    q = _typed(arrays["q"], dtype_of(arch, asked["q_dtype"])).view(rows, heads, _KEY)
    cache = _cache(arch, asked, arrays["cache"])
    poison = np.full((rows, heads, _VALUE), _POISON, np.int16)
    out = on_device(poison).view(torch.bfloat16)
    plan = {name: arrays[name] for name in LISTS if name in arrays}
    on = {name: on_device(words) for name, words in plan.items()}
    if plan:
        on["work_meta_data"] = stages.addresses_of(on["work_indptr"], on["work_info_set"])
    arguments = {
        "page_size": asked["page_size"], "sm_scale": asked["softmax_scale"],
        "q_scale": _scale(asked["q_scale"], q), "kv_scale": _scale(asked["kv_scale"], cache),
        "return_lse": asked["return_lse"], "causal": asked["causal"], **on}
    splits = asked["num_kv_splits"]
    if splits > 0:  # without the list AITER takes fewer where there are few keys
        arguments["num_kv_splits"] = splits
        arguments["num_kv_splits_indptr"] = stages.splits_of(len(arrays["kv_indptr"]), splits)
    arguments = known(mla_decode_fwd, arguments, {"return_lse": False, "causal": True,
                                                  "page_size": 1})
    with run_as(asked["run"]), stages.Stage1() as stage:
        _, returned = mla_decode_fwd(
            q, cache, out, *(on_device(arrays[name]) for name in (
                "qo_indptr", "kv_indptr", "kv_indices", "last_page_len")),
            asked["max_seqlen_qo"], **arguments)
        torch.cuda.synchronize()
        if stage.found is None:
            raise RuntimeError("mla_decode_fwd called no stage 1 that is known here")
        launched = stage.kernels + runtime().take_launches()
        planned = stage.arguments.get("work_info_set") is not None
        if planned:
            stages.read_whole_rows(stage, plan)
        elif stage.splits == 1:
            stages.read_single_split(stage)
    bits = out.view(torch.int16).cpu().numpy().view(np.uint16)
    found = {"out": bits, "lse": _lse(asked, stage, plan if planned else None, returned)}
    if asked["record_stages"]:
        found.update(partial_out=stage.found.partial_out, partial_lse=stage.found.partial_lse,
                     stage1_out=stage.found.out, stage1_lse=stage.found.lse)
    row_heads = int(stage.argument("q").shape[1])
    return Message({"launched": launched, "row_heads": row_heads}, found)


def _lse(asked: dict[str, Any], stage: stages.Stage1, plan: dict[str, Array] | None,
         returned: Any) -> Array:
    """What AITER returns where it was asked, else what stage 1 computed."""
    rows, heads = asked["rows"], asked["heads"]
    if asked["return_lse"]:
        if returned is None:
            return np.full((rows, heads), np.nan, np.float32)
        answer: Array = returned.float().cpu().numpy().reshape(rows, heads)
        return answer
    found = stage.found
    assert found is not None
    if plan is not None:
        return stages.unfolded(stages.merged_lse(found, plan), rows, heads, asked["max_seqlen_qo"])
    return stages.lse_of_splits(found, rows) if stage.splits > 1 else found.lse


def _typed(array: Array, dtype: torch.dtype) -> torch.Tensor:
    """Bytes as a tensor of the device."""
    return on_device(array).view(dtype)


def key_bytes(arch: str, dtype: str) -> int:
    """Of a row of Q or of the cache."""
    return _KEY * dtype_of(arch, dtype).itemsize


def _cache(arch: str, asked: dict[str, Any], backed: Array) -> torch.Tensor:
    """The whole cache up to the window's end; what is before the window is zero."""
    page, first = asked["page_size"], asked["first_slot"]
    dtype = dtype_of(arch, asked["kv_dtype"])
    slots = -(-(first + asked["slots"]) // page) * page
    row = key_bytes(arch, asked["kv_dtype"])
    memory = np.zeros((slots, row), np.uint8)  # pages that nobody touches cost nothing
    memory[first:first + asked["slots"]] = backed.reshape(-1, row)
    made = notes.note(torch.from_numpy(memory), notes.DEVICE)
    return made.view(dtype).view(slots // page, page, 1, _KEY)


def _scale(value: float, tensor: torch.Tensor) -> torch.Tensor | None:
    """Per tensor, for fp8 only."""
    return None if tensor.dtype == torch.bfloat16 else on_device(np.array([value], np.float32))
