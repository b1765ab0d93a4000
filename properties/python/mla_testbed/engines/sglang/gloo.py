"""SGLang's communicator of NCCL, over the group of processes that it belongs to.

SGLang loads a library for it, does without where there is none, and calls it all the same while a
graph is captured. In a machine with gloo alone its collectives are those of torch.distributed.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from .. import plain
from ..moved import replace
from .releases import SUPPORTED

_PLACE = "sglang.srt.distributed.device_communicators.pynccl:PyNcclCommunicator."


def install(version: str) -> None:
    """Once in a process that is one of several ranks.

    Raises:
        MovedError: this SGLang has no such communicator.
    """
    for name, body in (("all_reduce", _all_reduce), ("all_gather", _all_gather),
                       ("reduce_scatter", _reduce_scatter)):
        replace(f"SGLang {version}", SUPPORTED, _PLACE + name, functools.partial(_instead, body))


def _instead(body: Any, _: Any) -> Any:
    return body


def _all_reduce(self: Any, tensor: torch.Tensor, op: Any = torch.distributed.ReduceOp.SUM,
                *_: Any) -> None:
    _one(self, tensor, None, "all_reduce")
    torch.distributed.all_reduce(tensor, op=op, group=self.group)


def _all_gather(self: Any, output_tensor: torch.Tensor, input_tensor: torch.Tensor,
                sizes: Any = None) -> None:
    _one(self, input_tensor, sizes, "all_gather")
    torch.distributed.all_gather_into_tensor(output_tensor, input_tensor, group=self.group)


def _reduce_scatter(self: Any, output_tensor: torch.Tensor, input_tensor: torch.Tensor,
                    op: Any = torch.distributed.ReduceOp.SUM, sizes: Any = None) -> None:
    _one(self, input_tensor, sizes, "reduce_scatter")
    torch.distributed.reduce_scatter_tensor(output_tensor, input_tensor, op=op, group=self.group)


def _one(communicator: Any, tensor: torch.Tensor, sizes: Any, name: str) -> None:
    if communicator.disabled:
        raise NotImplementedError(f"NCCL's {name} of a communicator that is off")
    if sizes is not None:
        raise NotImplementedError(f"NCCL's {name} with sizes that differ between ranks")
    plain.used[name] += 1
