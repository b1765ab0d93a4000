"""A prefill step with a plan as a tree of AITER runs it: its planner, code object and reduce."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np
import torch

from ...errors import LibraryError
from ...world import notes
from ..own.runtime import runtime
from . import stages
from .lists import LISTS
from .machine import POISON, dtype_of, on_device, run_as, set_compute_units
from .planner import known, list_shape, words_in
from .wire import Array, Message

_KEY, _VALUE = 192, 128
_TILE = 256  # rows of a tile, and of a partial result (aiter/mla.py)
_POISON_BF16 = 0x7FA5  # kPoisonBf16 (core/engine/backend.hpp)
_POISON_F32 = 0x7FA5A5A5  # kPoisonF32
_STAGE, _REDUCE = "mla_prefill_ps_asm_fwd", "mla_reduce_v1"


def sizes(asked: dict[str, Any]) -> Message:
    """What get_ps_metadata_info_v1 says: words of each list."""
    query = _of_attention("get_ps_metadata_info_v1")
    set_compute_units(asked["compute_units"])
    answers = query(**known(query, {
        "batch_size": asked["batch"], "num_head_k": asked["kv_heads"],
        "max_qlen": asked["max_qo_len"], "qlen_granularity": asked["qlen_granularity"]},
        {"qlen_granularity": _TILE}))
    return Message({"words": [words_in(shape) for shape, _ in answers]})


def plan(asked: dict[str, Any], arrays: dict[str, Array]) -> Message:
    """What get_ps_metadata_v1 writes into lists of the given words, poison elsewhere.

    The lists are in pinned memory of the host, as an engine's are.
    """
    planner = _of_attention("get_ps_metadata_v1")
    set_compute_units(asked["compute_units"])
    lists = {name: _pinned(np.full(list_shape(name, words), POISON, np.int32))
             for name, words in zip(LISTS, asked["words"], strict=True)}
    arguments = known(planner, {
        "qhead_granularity": asked["qhead_granularity"],
        "qlen_granularity": asked["qlen_granularity"],
        "kvlen_granularity": asked["kvlen_granularity"], "block_size": asked["block_size"],
        "is_causal": asked["causal"]}, {})
    with run_as(asked["run"]):
        planner(*(_pinned(arrays[name]) for name in ("qo_indptr", "kv_indptr", "context_lens")),
                1, asked["kv_heads"], torch.zeros(2, dtype=torch.uint64), *lists.values(),
                **arguments)
        torch.cuda.synchronize()
    return Message({}, {name: made.numpy() for name, made in lists.items()})


def prefill(arch: str, asked: dict[str, Any], arrays: dict[str, Array]) -> Message:
    """mla_prefill_ps_fwd over the lists and tensors of a launch: out as the bits of bf16, and lse.

    With the kernels of AITER's C++ that it launched.
    """
    import aiter.mla  # noqa: PLC0415 the tree is on sys.path by now

    run = getattr(aiter.mla, "mla_prefill_ps_fwd", None)
    if run is None:
        raise LibraryError("this AITER has no 'mla_prefill_ps_fwd' in aiter.mla: it runs no "
                           "prefill step with a plan")
    set_compute_units(asked["compute_units"])
    rows, heads = asked["rows"], asked["heads"]
    dtype = dtype_of(arch, asked["dtype"])
    q, k, v = (on_device(arrays[name]).view(dtype).view(-1, heads, width)
               for name, width in (("q", _KEY), ("k", _KEY), ("v", _VALUE)))
    out = on_device(np.full((rows, heads, _VALUE), _POISON_BF16, np.int16)).view(torch.bfloat16)
    on = {name: on_device(arrays[name]) for name in ("qo_indptr", "kv_indptr", *LISTS)}
    one = on_device(np.ones(1, np.float32))
    arguments = known(run, {
        **on, "kv_page_indices": on_device(arrays["kv_indices"]),
        "max_seqlen_q": int(np.diff(arrays["qo_indptr"]).max()), "is_causal": asked["causal"],
        "softmax_scale": asked["softmax_scale"], "q_scale": one, "k_scale": one,
        "v_scale": on_device(np.array([asked["v_scale"]], np.float32))}, {})
    with run_as(asked["run"]), Watched() as watched:
        run(q, k, v, out, **arguments)
        torch.cuda.synchronize()
        launched = watched.kernels + runtime().take_launches()
        lse = watched.lse(arrays, rows, heads)
    bits = out.view(torch.int16).cpu().numpy().view(np.uint16)
    return Message({"launched": launched}, {"out": bits, "lse": lse})


class Watched:
    """Watches the kernel and the reduce that a prefill calls; a context manager around one call."""

    def __init__(self) -> None:
        self.kernels: list[str] = []  # that they launched
        self._real: dict[str, Any] = {}
        self._stage: dict[str, Any] = {}  # the kernel's arguments
        self._final: Any = None  # LSE that the reduce was told to write

    def __enter__(self) -> Watched:
        import aiter  # noqa: PLC0415 the tree is on sys.path by now

        for name, begin in ((_STAGE, self._stage_begins), (_REDUCE, self._reduce_begins)):
            if not hasattr(aiter, name):
                raise LibraryError(f"this AITER has no '{name}': it runs no prefill step with a "
                                   "plan")
            self._real[name] = getattr(aiter, name)
            setattr(aiter, name, self._around(name, begin))
        runtime().take_launches()
        return self

    def __exit__(self, *_: object) -> None:
        import aiter  # noqa: PLC0415

        for name, real in self._real.items():
            setattr(aiter, name, real)

    def _around(self, name: str, begin: Any) -> Any:
        real = self._real[name]

        @functools.wraps(real)
        def call(*args: Any, **kwargs: Any) -> Any:
            begin(dict(inspect.signature(real).bind(*args, **kwargs).arguments))
            result = real(*args, **kwargs)
            self.kernels += runtime().take_launches()
            return result

        return call

    def _stage_begins(self, arguments: dict[str, Any]) -> None:
        for name in ("splitData", "splitLse", "work_info_set", "output"):
            if name not in arguments:
                raise LibraryError(f"{_STAGE} of this AITER has no parameter '{name}'")
        self._stage = arguments
        for name in ("splitData", "splitLse"):
            _poison(arguments[name])

    def _reduce_begins(self, arguments: dict[str, Any]) -> None:
        self._final = arguments.get("final_lse")
        if self._final is not None:
            _poison(self._final)

    def lse(self, lists: dict[str, Array], rows: int, heads: int) -> Array:
        """[rows, heads]: of merged rows the reduce's, of the others what the kernel computes; of
        rows that nobody wrote poison."""
        if not self._stage:
            raise RuntimeError(f"mla_prefill_ps_fwd called no {_STAGE}")
        if self._final is not None:
            found: Array = self._final.float().cpu().numpy().reshape(rows, heads).copy()
        else:
            partial = self._stage["splitLse"].cpu().numpy().reshape(-1, heads)
            found = stages.merged_rows(partial, lists, rows)
        whole = self._whole_rows(lists, rows, heads)
        direct = ~np.isnan(whole)
        found[direct] = whole[direct]
        return found

    def _whole_rows(self, lists: dict[str, Array], rows: int, heads: int) -> Array:
        """The LSE of rows that one work writes whole: the kernel once more, over these works as
        partial ones. Every tile gets a slab that its heads share, after the plan's partial rows."""
        info = lists["work_info_set"].copy()
        seen = np.full((rows, heads), _POISON_F32, np.uint32).view(np.float32)
        slabs: dict[int, int] = {}
        place = int(self._stage["splitLse"].numel()) // heads
        works = [w for w in range(int(lists["work_indptr"][-1])) if info[w, stages.PARTIAL] < 0]
        for work in works:
            first = int(info[work, stages.ROW_BEGIN])
            slab = slabs.setdefault(first, place + len(slabs) * _TILE)
            info[work, stages.PARTIAL] = slab
        if not works:
            return seen
        place += len(slabs) * _TILE
        data = torch.empty((place, heads, _VALUE), dtype=torch.float32, device="cuda")
        lse = torch.empty((place, heads), dtype=torch.float32, device="cuda")
        _poison(lse)
        self._real[_STAGE](**{
            **self._stage, "work_info_set": on_device(info), "splitData": data, "splitLse": lse,
            "output": self._stage["output"].clone()})
        torch.cuda.synchronize()
        written = lse.cpu().numpy()
        for work in works:
            first, last = int(info[work, stages.ROW_BEGIN]), int(info[work, stages.ROW_END])
            head = int(info[work, stages.HEADS]) & 0xFFFF
            slab = int(info[work, stages.PARTIAL])
            seen[first:last, head] = written[slab:slab + last - first, head]
        return seen


def _of_attention(name: str) -> Any:
    """A function of aiter.ops.attention. LibraryError: there is none."""
    from aiter.ops import attention  # noqa: PLC0415 the tree is on sys.path by now

    if not hasattr(attention, name):
        raise LibraryError(f"this AITER has no '{name}' in aiter.ops.attention: it plans no "
                           "prefill step")
    return getattr(attention, name)


def _pinned(array: Array) -> torch.Tensor:
    return notes.note(torch.from_numpy(array.copy()), notes.PINNED)


def _poison(tensor: torch.Tensor) -> None:
    tensor.view(torch.int32).fill_(_POISON_F32)
