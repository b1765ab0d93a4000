"""The size query and the planner of a tree."""

from __future__ import annotations

import inspect
import math
from typing import Any

import torch

from .lists import LISTS
from .machine import POISON, dtype_of, on_device, run_as, set_compute_units
from .wire import Array, Message


class Unasked(RuntimeError):
    """A tree cannot be asked this: a parameter that it does not have."""


def known(function: Any, arguments: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    """The arguments that the function has. Unasked: one that it lacks is not as usual."""
    named = inspect.signature(function).parameters
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in named.values()):
        return arguments
    for name, value in arguments.items():
        if name not in named and (name not in usual or usual[name] != value):
            raise Unasked(f"{function.__name__} of this AITER has no parameter '{name}', which "
                          f"would be {value}")
    return {name: value for name, value in arguments.items() if name in named}


def sizes(arch: str, asked: dict[str, Any]) -> Message:
    """What get_mla_metadata_info_v1 says: words of each list."""
    from aiter.ops.attention import get_mla_metadata_info_v1  # noqa: PLC0415

    set_compute_units(asked["compute_units"])
    arguments = known(get_mla_metadata_info_v1, {
        "batch_size": asked["batch"], "max_seqlen_qo": asked["max_seqlen_qo"],
        "num_head_qo": asked["heads"], "q_dtype": dtype_of(arch, asked["q_dtype"]),
        "kv_dtype": dtype_of(arch, asked["kv_dtype"]), "is_sparse": asked["is_sparse"],
        "fast_mode": asked["fast_mode"], "num_kv_splits": asked["num_kv_splits"],
        "intra_batch_mode": asked["intra_batch_mode"],
        "max_split_per_batch": asked["max_split_per_batch"]}, {"max_split_per_batch": -1})
    answers = get_mla_metadata_info_v1(**arguments)
    return Message({"words": [words_in(shape) for shape, _ in answers]})


def words_in(shape: Any) -> int:
    """Elements of a list, as a size query says them."""
    return math.prod(shape) if isinstance(shape, (tuple, list, torch.Size)) else int(shape)


def plan(arch: str, asked: dict[str, Any], arrays: dict[str, Array]) -> Message:
    """What get_mla_metadata_v1 writes into lists of the given words, poison elsewhere."""
    from aiter.ops.attention import get_mla_metadata_v1  # noqa: PLC0415

    set_compute_units(asked["compute_units"])
    lists = {name: torch.full(list_shape(name, words), POISON, dtype=torch.int32, device="cuda")
             for name, words in zip(LISTS, asked["words"], strict=True)}
    addresses = torch.zeros(2, dtype=torch.uint64, device="cuda")
    rows = asked["uniform_qo_len"]
    arguments = known(get_mla_metadata_v1, {
        "page_size": asked["page_size"], "kv_granularity": asked["kv_granularity"],
        "max_seqlen_qo": asked["max_seqlen_qo"], "uni_seqlen_qo": rows,
        "fast_mode": asked["fast_mode"], "topk": asked["topk"],
        "max_split_per_batch": asked["max_split_per_batch"],
        "intra_batch_mode": asked["intra_batch_mode"],
        "is_cp_round_robin": asked["cp_round_robin"],
        "dtype_q": dtype_of(arch, asked["q_dtype"]),
        "dtype_kv": dtype_of(arch, asked["kv_dtype"])},
        {"is_cp_round_robin": False, "page_size": 1, "max_split_per_batch": -1,
         "intra_batch_mode": False})
    with run_as(asked["run"]):
        get_mla_metadata_v1(
            on_device(arrays["qo_indptr"]), on_device(arrays["kv_indptr"]),
            on_device(arrays["last_page_len"]), asked["heads"], 1, asked["causal"], addresses,
            lists["work_info_set"], lists["work_indptr"], lists["reduce_indptr"],
            lists["reduce_final_map"], lists["reduce_partial_map"], **arguments)
        torch.cuda.synchronize()
    return Message({}, {name: made.cpu().numpy() for name, made in lists.items()})


def list_shape(name: str, words: int) -> tuple[int, ...]:
    """Of a list of a plan, as AITER takes it."""
    width = {"work_info_set": 8, "reduce_final_map": 2}.get(name, 1)
    return (words // width, width) if width > 1 else (words,)
