"""From a step to the batch that SGLang's scheduler would make of it."""

from __future__ import annotations

import dataclasses
import enum
import types
from typing import Any

import numpy as np
import torch

from ..step import EngineStep

#: Rows of a request up to which a batch of equal rows is a verification, not a prefill.
MOST_DRAFT_ROWS = 16


class Mode(enum.Enum):
    """How SGLang runs a batch; values are names of its ForwardMode."""

    DECODE = "DECODE"
    VERIFY = "TARGET_VERIFY"
    DRAFT_EXTEND = "DRAFT_EXTEND_V2"
    EXTEND = "EXTEND"
    IDLE = "IDLE"

    @property
    def drafts(self) -> bool:
        """Whether every request has the same rows, those of the draft tokens."""
        return self in (Mode.VERIFY, Mode.DRAFT_EXTEND)


def mode_of(step: EngineStep) -> Mode:
    """One row each is a decode; the same 2 to 16 rows each a verification, or a draft extend where
    the step's coin is 1; everything else a prefill.
    """
    most = max(step.query_lens)
    if most == 1:
        return Mode.DECODE
    if min(step.query_lens) < most or most > MOST_DRAFT_ROWS:
        return Mode.EXTEND
    return Mode.DRAFT_EXTEND if step.coin else Mode.VERIFY


@dataclasses.dataclass
class Batch:
    """Tensors of a batch, which a graph reads at their places.

    Attributes:
        mode: of all requests.
        rows: query rows of each request, those of padding included.
        pool_rows: (requests) int64, row of `req_to_token`; 0 for padding.
        seq_lens: (requests) int64 keys, as SGLang counts them: without the rows of a verification.
        seq_lens_cpu: the same on the host.
        seq_lens_sum: their sum, or None in a capture.
        rows_tensor: as `rows`, int32 on the device.
    """

    mode: Mode
    rows: list[int]
    pool_rows: torch.Tensor
    seq_lens: torch.Tensor
    seq_lens_cpu: torch.Tensor
    seq_lens_sum: int | None
    rows_tensor: torch.Tensor

    def fields(self) -> dict[str, Any]:
        """Of SGLang's ForwardBatch."""
        from sglang.srt.model_executor.forward_batch_info import ForwardMode

        total = sum(self.rows)
        extend: dict[str, Any] = {}
        if self.mode in (Mode.EXTEND, Mode.DRAFT_EXTEND):
            extend = {
                "extend_seq_lens": self.rows_tensor, "extend_seq_lens_cpu": list(self.rows),
                "extend_prefix_lens": self.seq_lens - self.rows_tensor,
                "extend_prefix_lens_cpu": [int(keys) - rows for keys, rows in
                                           zip(self.seq_lens_cpu, self.rows, strict=True)],
                "extend_num_tokens": total}
        spec = None
        if self.mode.drafts:
            spec = types.SimpleNamespace(draft_token_num=self.rows[0], custom_mask=None, topk=1,
                                         num_tokens_per_req=self.rows[0])
        tokens = [torch.zeros(total, dtype=torch.int64, device="cuda") for _ in range(3)]
        return {
            "forward_mode": ForwardMode[self.mode.value], "batch_size": len(self.rows),
            "input_ids": tokens[0], "out_cache_loc": tokens[1], "positions": tokens[2],
            "req_pool_indices": self.pool_rows, "seq_lens": self.seq_lens,
            "seq_lens_sum": self.seq_lens_sum, "seq_lens_cpu": self.seq_lens_cpu,
            "spec_info": spec, **extend}


def of_step(step: EngineStep, mode: Mode, *, pad: int = 0, fill: int = 1) -> Batch:
    """The batch of a step.

    Args:
        pad: requests of graph padding after the live ones.
        fill: keys that SGLang gives them.
    """
    without = np.array(step.query_lens) if mode is Mode.VERIFY else 0
    keys = np.concatenate([np.array(step.seq_lens) - without, np.full(pad, fill)])
    return _batch(mode, [*step.query_lens, *(step.query_lens[:1] * pad)],
                  [*range(1, step.requests + 1), *([0] * pad)], keys)


def padding(mode: Mode, count: int, rows: int, fill: int) -> Batch:
    """What SGLang captures a graph with: `count` requests of padding; the sum is not known."""
    made = _batch(mode, [rows] * count, [0] * count, np.full(count, fill))
    return dataclasses.replace(made, seq_lens_sum=None)


def refill(captured: Batch, step: EngineStep, fill: int) -> Batch:
    """Writes a step into the tensors of a captured graph, padding after its requests.

    Raises:
        ValueError: the graph was captured for fewer requests.
    """
    if len(captured.rows) < step.requests:
        raise ValueError(f"{step.requests} requests for a graph of {len(captured.rows)}")
    new = of_step(step, captured.mode, pad=len(captured.rows) - step.requests, fill=fill)
    for name in ("pool_rows", "seq_lens", "seq_lens_cpu", "rows_tensor"):
        getattr(captured, name).copy_(getattr(new, name))
    return dataclasses.replace(captured, rows=new.rows, seq_lens_sum=new.seq_lens_sum)


def place(step: EngineStep, req_to_token: torch.Tensor) -> None:
    """Writes the step's slots into SGLang's table; the rest is 0, its slot of padding."""
    table = np.zeros(tuple(req_to_token.shape), np.int32)
    for request in range(step.requests):
        slots = step.token_slots(request)
        table[request + 1, :slots.size] = slots
    req_to_token.copy_(torch.from_numpy(table))


def _batch(mode: Mode, rows: list[int], pool_rows: list[int], keys: np.ndarray) -> Batch:
    host = torch.from_numpy(keys.astype(np.int64))
    return Batch(mode, rows, _device(pool_rows, torch.int64), host.to("cuda"), host,
                 int(keys.sum()), _device(rows, torch.int32))


def _device(values: list[int], dtype: torch.dtype) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype, device="cuda")
