"""top-k of the indexer, which vLLM and AITER have in C++ that is not here: plain torch under their
names, and FlyDSL's logits of gfx942, for which AITER's Triton kernel stands."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
import torch

from .. import plain
from . import kernels

#: In a selection: nobody wrote this place.
UNWRITTEN = -7
_watchers: list[Callable[[Select], None]] = []


@dataclasses.dataclass(frozen=True)
class Select:
    """A call: (rows, columns) logits, and the columns of each row."""

    logits: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    def of(self, row: int) -> np.ndarray:
        """The logits that one row selects from."""
        made: np.ndarray = self.logits[row, self.starts[row]:self.ends[row]]
        return made


@contextlib.contextmanager
def watched(told: Callable[[Select], None]) -> Iterator[None]:
    """Told of each call meanwhile."""
    _watchers.append(told)
    try:
        yield
    finally:
        _watchers.remove(told)


def install() -> None:
    """Once in a process, after AITER and vLLM are imported."""
    import aiter.ops.topk as of_aiter

    for schema, body in (
            ("top_k_per_row_prefill(Tensor logits, Tensor row_starts, Tensor row_ends, "
             "Tensor! indices, int rows, int stride0, int stride1, int k) -> ()", _prefill),
            ("top_k_per_row_decode(Tensor logits, int next_n, Tensor seq_lens, Tensor! indices, "
             "int rows, int stride0, int stride1, int k) -> ()", _decode)):
        kernels.define("_C", schema, plain.counted(schema.partition("(")[0], body))
    of_aiter.top_k_per_row_decode = plain.counted("aiter.top_k_per_row_decode", _decode)
    _flydsl()


def _flydsl() -> None:
    """`from aiter.ops.flydsl import flydsl_fp8_mqa_logits`, where FlyDSL is not installed."""
    import aiter.ops.flydsl as module
    from aiter.ops.triton.attention.fp8_mqa_logits import fp8_mqa_logits

    if not hasattr(module, "flydsl_fp8_mqa_logits"):
        module.flydsl_fp8_mqa_logits = plain.counted("flydsl_fp8_mqa_logits", fp8_mqa_logits)


def _prefill(logits: torch.Tensor, starts: torch.Tensor, ends: torch.Tensor, indices: torch.Tensor,
             rows: int, stride: int, step: int, k: int) -> None:
    """Columns of a row are starts to ends; what is selected is counted from its start."""
    _select(logits, starts[:rows], ends[:rows], indices, k)


def _decode(logits: torch.Tensor, next_n: int, lengths: torch.Tensor, indices: torch.Tensor,
            rows: int, stride: int, step: int, k: int = 2048) -> None:
    """lengths: (rows,) or (requests, next_n) of each row, or (requests,) of its last one."""
    lengths = lengths.reshape(-1)
    if lengths.numel() != rows:
        row = torch.arange(rows, device=lengths.device)
        lengths = lengths[row // next_n] - next_n + row % next_n + 1
    _select(logits, torch.zeros_like(lengths), lengths, indices, k)


def _select(logits: torch.Tensor, starts: torch.Tensor, ends: torch.Tensor, indices: torch.Tensor,
            k: int) -> None:
    for row, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        values = logits[row, start:end]
        count = min(k, values.numel())
        indices[row, :k] = -1
        indices[row, :count] = torch.topk(values, count).indices.to(torch.int32)
    for told in _watchers:
        told(Select(np.array(logits.float().cpu().numpy()), starts.cpu().numpy().copy(),
                    ends.cpu().numpy().copy()))
