"""--compare: after an operation of AITER's own, the port of it on the same inputs.

Both see the same bytes. Integers, which are the lists of a plan, have to be the same bit by bit,
addresses where they name the same place. The reduce may sum in another order: each element has a
bound from that.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from ... import _tensors
from ...world import notes
from .. import jit_directory, operation

#: What is compared: planners and the reduce. The other ports are not bit-compatible in the last
#: digits of rope, or have layouts of one version.
COMPARED = ("module_mla_metadata", "module_ps_metadata", "module_mla_reduce")
_UNIT_F32 = 2.0 ** -24


@dataclasses.dataclass
class Differences:
    """What a run found. compared: calls; failures: a sentence for each that differs."""

    compared: int = 0
    failures: list[str] = dataclasses.field(default_factory=list)

    def lines(self) -> list[str]:
        """What a report says."""
        shown = [f"own and ported differ: {failure}" for failure in self.failures[:8]]
        more = len(self.failures) - len(shown)
        return [f"{self.compared} calls of AITER's own planners and reduce were compared with the "
                f"ports; {len(self.failures)} differ", *shown,
                *([f"{more} more differ"] if more > 0 else [])]


def twin(module: str, name: str) -> Callable[..., Any] | None:
    """The port of an operation; None where there is none that is compared."""
    if module not in COMPARED:
        return None
    ports = importlib.import_module(f"mla_testbed.aiter.{jit_directory.MODULES[module]}")
    return getattr(ports, name, None) if name in ports.__all__ else None


class Call:
    """One call of an operation: made before it runs, compared after it."""

    def __init__(self, module: str, name: str, port: Callable[..., Any],
                 arguments: inspect.BoundArguments) -> None:
        self._name, self._port = f"{module}.{name}", port
        arguments.apply_defaults()
        self._own = dict(arguments.arguments)
        with _disable_current_modes():
            self._copies = {parameter: value.clone() for parameter, value in self._own.items()
                            if isinstance(value, torch.Tensor)}

    def compare(self, into: Differences) -> None:
        """Runs the port on what the operation saw, and compares what both wrote."""
        into.compared += 1
        given = [_descriptor(self._copies[name], value) if name in self._copies
                 else _plain(value) for name, value in self._own.items()]
        try:
            self._port(*given)
        except Exception as e:  # noqa: BLE001 whatever the port says is the finding
            into.failures.append(f"{self._name}: the port refuses what AITER's own did: {e}")
            return
        with _disable_current_modes():
            for parameter, copy in self._copies.items():
                said = self._differs(parameter, self._own[parameter], copy)
                if said:
                    into.failures.append(f"{self._name}: {parameter}{said}")

    def _differs(self, parameter: str, own: torch.Tensor, port: torch.Tensor) -> str:
        if own.is_floating_point():
            wrong = _outside(own.float(), port.float(), self._bound(own))
        elif own.element_size() == torch.int64.itemsize:
            wrong = torch.tensor([self._place(a, self._own) != self._place(b, self._copies)
                                  for a, b in zip(own.flatten().tolist(), port.flatten().tolist(),
                                                  strict=True)]).reshape(own.shape)
        else:
            wrong = own != port
        if not bool(wrong.any()):
            return ""
        at = tuple(int(i) for i in wrong.nonzero()[0])
        return (f"{list(at)} is {own[at].item()}, of the port {port[at].item()} "
                f"({int(wrong.sum())} of {wrong.numel()} differ)")

    def _place(self, number: int, among: dict[str, Any]) -> tuple[str, int]:
        """An address as tensor and offset; another number as it is."""
        for parameter in self._copies:
            start = among[parameter].data_ptr()
            if start <= number < start + max(among[parameter].untyped_storage().nbytes(), 1):
                return parameter, number - start
        return "", number

    def _bound(self, own: torch.Tensor) -> torch.Tensor:
        """Both weigh at most n float32 numbers, none larger than the largest partial result M, and
        round once: two units of the result's own type, and n + 8 of float32 times M."""
        partial = self._own.get("partial_output" if own.ndim > 2 else "partial_lse")
        tiles = self._own.get("reduce_indptr")
        if partial is None or tiles is None or tiles.numel() < 2:
            return torch.zeros_like(own, dtype=torch.float32)
        pieces = int((tiles[1:] - tiles[:-1]).max())
        finite = partial[partial.isfinite()].float().abs()
        largest = float(finite.max()) if finite.numel() else 0.0
        unit = float(torch.finfo(own.dtype).eps)
        return own.float().abs() * 2 * unit + (max(pieces, 1) + 8) * _UNIT_F32 * max(largest, 1.0)


def _outside(a: torch.Tensor, b: torch.Tensor, bound: torch.Tensor) -> torch.Tensor:
    """Masks of NaN and of infinities first, then the bound."""
    finite = a.isfinite() & b.isfinite()
    kinds = (a.isnan() != b.isnan()) | ((a != b) & ~(a.isnan() | b.isnan()) & ~finite)
    return torch.where(finite, (a - b).abs() > bound, kinds)


def _descriptor(tensor: torch.Tensor, own: torch.Tensor) -> Any:
    return operation.aiter_tensor_t(
        tensor.data_ptr(), tensor.numel(), tensor.ndim, tuple(tensor.shape),
        tuple(tensor.stride()), _tensors.DTYPES[str(tensor.dtype).removeprefix("torch.")],
        0 if notes.on_device(own) else -1)


def _plain(value: Any) -> Any:
    """Numbers of enumerations; None and numbers as they are."""
    return int(value) if value is not None and not isinstance(value, (int, float)) else value
