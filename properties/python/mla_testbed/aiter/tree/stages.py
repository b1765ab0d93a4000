"""What stage 1 of a decode computes: partial results, the rows that it writes itself, and an LSE
for each row.

AITER's kernels write no LSE of rows that one work or one split writes whole. Stage 1 is called
again with such works as partial ones, or in two splits, with the arguments that AITER's Python gave
it. So the LSE is what the kernel computes, not what AITER returns. Merged rows have that of their
pieces, in float64.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from typing import Any

import numpy as np
import torch

from ..own.runtime import runtime
from .machine import on_device
from .wire import Array

#: Operations of stage 1 by name, with what they call their parameters.
_STAGES = {
    "mla_decode_stage1_asm_fwd": {"q": "Q", "data": "splitData", "lse": "splitLse",
                                  "output": "output", "final": "lse"},
    "mla_decode_fwd_opus_stage1": {"q": "q", "data": "logits", "lse": "attn_lse", "output": "out",
                                   "final": "final_lse"},
}
PARTIAL, ROW_BEGIN, ROW_END, HEADS = 1, 2, 3, 7  # words of a work
_POISON = 0x7FA5A5A5  # kPoisonF32 (core/engine/backend.hpp)
_VALUE = 512


@dataclasses.dataclass
class Stages:
    """In the kernel's layout, poison where nothing was written.

    partial_out [partial rows, kernel heads, 512] and partial_lse [partial rows, kernel heads]:
    float32. out: the bits of bf16 after stage 1, [kernel rows, kernel heads, 512], and lse.
    """

    partial_out: Array
    partial_lse: Array
    out: Array
    lse: Array


class Stage1:
    """Watches the stage 1 that a decode calls; a context manager around one call of it."""

    def __init__(self) -> None:
        self.arguments: dict[str, Any] = {}
        self.found: Stages | None = None
        self.kernels: list[str] = []  # that the stage 1 launched
        self._names: dict[str, str] = {}
        self._real: dict[str, Any] = {}
        self._called: Any = None

    def __enter__(self) -> Stage1:
        import aiter  # noqa: PLC0415 the tree is on sys.path by now

        for name in _STAGES:
            if hasattr(aiter, name):
                self._real[name] = getattr(aiter, name)
                setattr(aiter, name, self._watched(name))
        return self

    def __exit__(self, *_: object) -> None:
        import aiter  # noqa: PLC0415

        for name, real in self._real.items():
            setattr(aiter, name, real)

    def _watched(self, name: str) -> Any:
        real = self._real[name]

        @functools.wraps(real)
        def call(*args: Any, **kwargs: Any) -> Any:
            bound = inspect.signature(real).bind(*args, **kwargs)
            self.arguments, self._names, self._called = bound.arguments, _STAGES[name], real
            for of in ("data", "lse"):  # unwritten memory of AITER's own, which nobody read yet
                if self.argument(of).dtype == torch.float32:
                    self.argument(of).view(torch.int32).fill_(_POISON)
            runtime().take_launches()
            result = real(*args, **kwargs)
            self.kernels = runtime().take_launches()
            self.found = self._read()
            return result

        return call

    def argument(self, name: str) -> Any:
        """One by its name here."""
        return self.arguments[self._names[name]]

    @property
    def has_partial_results(self) -> bool:
        """Or AITER gives the output in their place, as where one split writes it."""
        return bool(self.argument("data").dtype == torch.float32)

    @property
    def splits(self) -> int:
        """Of each request, in a decode without a plan."""
        return int(self.argument("lse").shape[1])

    def again(self, **changed: Any) -> None:
        """Calls stage 1 with other arguments, by their names here or there."""
        named = {self._names.get(name, name): value for name, value in changed.items()}
        self._called(**{**self.arguments, **named})

    def _read(self) -> Stages:
        heads = self.argument("q").shape[1]
        lse = self.argument("lse").cpu().numpy().reshape(-1, heads)
        data = self.argument("data")
        partial = (data.cpu().numpy().reshape(-1, heads, _VALUE)
                   if self.has_partial_results else _poison(len(lse), heads, _VALUE))
        out = self.argument("output").view(torch.int16).cpu().numpy().view(np.uint16)
        rows = out.reshape(-1, heads, _VALUE)
        return Stages(partial, lse, rows, _poison(len(rows), heads))


def read_whole_rows(stage: Stage1, lists: dict[str, Array]) -> None:
    """Adds the LSE of rows that one work writes whole: stage 1 once more."""
    found = stage.found
    assert found is not None
    info = lists["work_info_set"].copy()
    works = [w for w in range(int(lists["work_indptr"][-1]))
             if info[w, PARTIAL] < 0 and info[w, ROW_END] > info[w, ROW_BEGIN]]
    if not works:
        return
    place = len(found.partial_lse)
    for work in works:
        info[work, PARTIAL] = place
        place += int(info[work, ROW_END] - info[work, ROW_BEGIN])
    data, lse = stage.argument("data"), stage.argument("lse")
    seen = torch.empty((place, *lse.shape[1:]), dtype=lse.dtype, device="cuda")
    seen.view(torch.int32).fill_(_POISON)
    info_there, indptr = on_device(info), stage.arguments["work_indptr"]
    changed: dict[str, Any] = {
        "data": torch.empty((place, *data.shape[1:]), dtype=data.dtype, device="cuda"),
        "lse": seen, "work_info_set": info_there, "output": stage.argument("output").clone(),
        "final": None}
    if "work_meta_data" in stage.arguments:
        changed["work_meta_data"] = addresses_of(indptr, info_there)
    stage.again(**changed)
    rows = seen.cpu().numpy().reshape(place, -1)
    for work in works:
        first, last = int(info[work, ROW_BEGIN]), int(info[work, ROW_END])
        base = int(info[work, PARTIAL])
        found.lse[first:last] = rows[base:base + last - first]


def read_single_split(stage: Stage1) -> None:
    """Rows and LSE that the one split writes: as float32 that AITER's merge rounds, or as bf16 to
    the output or in place of partial results. The second writes no LSE: stage 1 once more, in two.
    """
    found = stage.found
    assert found is not None
    partial = torch.from_numpy(found.partial_out)
    if np.isnan(found.partial_lse).all():
        found.lse = _lse_of_two_splits(stage)
        rounded = partial.view(torch.bfloat16).reshape(-1)[:found.out.size]
    else:
        found.lse, rounded = found.partial_lse.copy(), partial.bfloat16()
    if stage.has_partial_results:  # rows without keys stay as they are
        written = ~np.isnan(found.lse).all(axis=1)
        found.out[written] = _bits(rounded).reshape(found.out.shape)[written]


def _lse_of_two_splits(stage: Stage1) -> Array:
    shape = stage.argument("lse").shape
    rows, heads = shape[0], shape[2]
    seen = torch.empty((rows, 2, *shape[2:]), dtype=torch.float32, device="cuda")
    seen.view(torch.int32).fill_(_POISON)
    stage.again(
        data=torch.empty((rows, 2, heads, _VALUE), dtype=torch.float32, device="cuda"), lse=seen,
        num_kv_splits_indptr=splits_of(len(stage.arguments["qo_indptr"]), 2),
        output=stage.argument("output").clone(), final=None)
    return merged_pieces(seen.cpu().numpy().reshape(rows, 2, heads))


def _bits(numbers: torch.Tensor) -> Array:
    bits: Array = numbers.view(torch.int16).numpy().view(np.uint16)
    return bits


def splits_of(entries: int, splits: int) -> torch.Tensor:
    """num_kv_splits_indptr of so many entries: every request in as many splits."""
    return on_device(np.arange(entries, dtype=np.int32) * np.int32(splits))


def merged_lse(found: Stages, lists: dict[str, Array]) -> Array:
    """[kernel rows, kernel heads] of a decode with a plan; poison where no work wrote."""
    return merged_rows(found.partial_lse, lists, len(found.lse), found.lse)


def merged_rows(partial_lse: Array, lists: dict[str, Array], rows: int,
                whole: Array | None = None) -> Array:
    """[rows, heads] of the rows that are merged; the others as in `whole`, else poison."""
    out = _poison(rows, partial_lse.shape[1]) if whole is None else whole.copy()
    indptr = lists["reduce_indptr"]
    for tile in range(len(indptr) - 1):
        begin, end = int(indptr[tile]), int(indptr[tile + 1])
        if end <= begin:
            continue
        first, last = (int(x) for x in lists["reduce_final_map"][tile])
        bases = lists["reduce_partial_map"][begin:end]
        for row in range(first, last):
            out[row] = merge(partial_lse[bases + (row - first)])
    return out


def lse_of_splits(found: Stages, rows: int) -> Array:
    """[rows, kernel heads] of a decode without a plan, over the splits that were written."""
    return merged_pieces(found.partial_lse.reshape(rows, -1, found.partial_lse.shape[1]))


def merged_pieces(pieces: Array) -> Array:
    """[rows, heads] of [rows, pieces, heads], over the pieces that were written."""
    rows, _, heads = pieces.shape
    out = _poison(rows, heads)
    for row in range(rows):
        written = pieces[row][~np.isnan(pieces[row]).all(axis=1)]
        if len(written):
            out[row] = merge(written)
    return out


def unfolded(lse: Array, rows: int, heads: int, longest: int) -> Array:
    """Kernel rows as AITER folds them back to rows of all heads (mla_decode_fwd)."""
    width = lse.shape[1]
    if width == heads:
        return lse
    if longest == 1:
        return lse.reshape(rows, heads)
    parts = lse.reshape(rows // longest, heads // width, longest, width)
    return parts.transpose(0, 2, 1, 3).reshape(rows, heads)


def addresses_of(indptr: torch.Tensor, info: torch.Tensor) -> torch.Tensor:
    """work_meta_data of two lists."""
    return on_device(np.array([indptr.data_ptr(), info.data_ptr()], np.uint64))


def merge(pieces: Array) -> Array:
    """log of the sum of exp over axis 0, in float64."""
    top = pieces.max(axis=0).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = np.exp(pieces.astype(np.float64) - top).sum(axis=0)
        merged = top + np.log(total)
    return np.where(np.isneginf(top), top, merged).astype(np.float32)


def _poison(*shape: int) -> Array:
    return np.full(shape, _POISON, np.uint32).view(np.float32)
