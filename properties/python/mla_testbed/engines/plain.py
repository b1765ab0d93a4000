"""Compiled operations that whole engines call, in plain torch. Each use is counted, so that a
report can say what of a run was not the engine's or AITER's own."""

from __future__ import annotations

import collections
import contextlib
import functools
from collections.abc import Callable
from typing import Any

import torch

from .. import world

#: Calls of each operation, by the name that a report shows.
used: collections.Counter[str] = collections.Counter()


def counted(name: str, body: Callable[..., Any]) -> Callable[..., Any]:
    """The same operation as one kernel of the device, whose calls are counted."""
    @functools.wraps(body)
    def called(*arguments: Any, **named: Any) -> Any:
        used[name] += 1
        entered = world.active()
        with contextlib.nullcontext() if entered is None else entered.kernel():
            return body(*arguments, **named)

    return called


def rms_norm(out: torch.Tensor, input: torch.Tensor, weight: torch.Tensor | None,
             epsilon: float) -> None:
    """out = input / sqrt(mean(input^2) + epsilon) * weight, in float32. (rows, elements)."""
    x = input.float()
    x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon)
    out.copy_((x if weight is None else x * weight.float()).to(out.dtype))


def fused_add_rms_norm(input: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor | None,
                       epsilon: float) -> None:
    """residual += input, rounded; input = its norm."""
    residual.copy_((input.float() + residual.float()).to(residual.dtype))
    rms_norm(input, residual, weight, epsilon)


def silu_and_mul(result: torch.Tensor, input: torch.Tensor) -> None:
    """silu of the first half of each row times the second half."""
    gate, up = input.float().chunk(2, dim=-1)
    result.copy_((torch.nn.functional.silu(gate) * up).to(result.dtype))


def linear(weight: torch.Tensor, x: torch.Tensor, bias: torch.Tensor | None = None
           ) -> torch.Tensor:
    """x @ weight.T + bias in float32, rounded. weight: (out, in), x: (rows, in)."""
    out = x.float() @ weight.float().T
    return (out if bias is None else out + bias.float()).to(x.dtype)


def turn(part: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, *, is_neox: bool) -> None:
    """Rotates the last dimension in place: halves (neox), or neighbours.

    Args:
        cos, sin: of each pair, with the other dimensions of `part`.
    """
    whole = part.float()
    a, b = whole.chunk(2, dim=-1) if is_neox else (whole[..., 0::2], whole[..., 1::2])
    x, y = a * cos - b * sin, b * cos + a * sin
    new = torch.cat((x, y), -1) if is_neox else torch.stack((x, y), -1).flatten(-2)
    part.copy_(new.to(part.dtype))
