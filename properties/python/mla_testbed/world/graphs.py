"""Graphs: a recorder of operations, which replays them with what their operands hold then.

A capture runs nothing on a GPU. Here the operations do run, since their results have to exist; at
the end of the capture every byte that they wrote is put back, and the results hold poison until
the first replay.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from . import notes
from .state import State

POISON = 0xFF  # a NaN in every floating-point type, -1 in every signed integer


class CUDAGraph:
    """The operations of one capture. Results stay where the capture left them."""

    state: State  # set by the world that is entered

    def __init__(self, keep_graph: bool = False) -> None:
        self._steps: list[Callable[[], Any]] = []
        self._saved: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._made: dict[int, torch.Tensor] = {}

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Starts a capture; what was queued before happens first."""
        self.state.refuse_while_capturing("a second capture")
        self.state.late.wait()
        self.reset()
        self.state.capture = self

    def capture_end(self) -> None:
        """Ends the capture, as if nothing had run."""
        if self.state.capture is not self:
            raise RuntimeError("capture_end() of a graph that is not being captured")
        self.state.capture = None
        with _disable_current_modes():
            for storage, before in self._saved.values():
                storage.copy_(before)
            for storage in self._made.values():
                storage.fill_(POISON)
        self._saved.clear()
        self._made.clear()

    def before(self, tensors: list[torch.Tensor]) -> None:
        """An operation is about to write these tensors."""
        for tensor in tensors:
            storage = _bytes(tensor)
            address = storage.data_ptr()
            if address not in self._saved and address not in self._made:
                self._saved[address] = (storage, storage.clone())

    def add(self, step: Callable[[], Any]) -> None:
        """Records a launch that is no operation of torch."""
        self._steps.append(step)

    def record(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Records an operation and where its results are.

        A list that a kernel gets as an address alone is read as far as its memory goes: its length
        at the capture binds no replay.
        """
        args, kwargs = _addressed(func, args, kwargs, self.state.addresses)
        results = notes.tensors_in([result], [])
        for tensor in results:
            storage = _bytes(tensor)
            if storage.data_ptr() not in self._saved and not _shared(tensor, args):
                self._made[storage.data_ptr()] = storage

        def step() -> None:
            again = notes.tensors_in([func(*args, **kwargs)], [])
            for old, new in zip(results, again, strict=True):
                if not notes.same_storage(old, new):
                    old.copy_(new)

        self._steps.append(step)

    def replay(self) -> None:
        """Runs the steps in their order."""
        self.state.refuse_while_capturing("a replay")
        self.state.late.before_launch()
        for step in list(self._steps):
            # A graph writes what it captured, inference tensors too, whoever it is that replays.
            with _disable_current_modes(), torch.inference_mode():
                step()

    def reset(self) -> None:
        """Forgets the steps, and with them the memory that they hold."""
        self._steps.clear()
        self._saved.clear()
        self._made.clear()

    def pool(self) -> tuple[int, int]:
        """The memory pool: there is one."""
        return (0, 0)

    def steps(self) -> int:
        """Recorded steps."""
        return len(self._steps)


@contextlib.contextmanager
def graph(cuda_graph: CUDAGraph, pool: Any = None, stream: Any = None,
          capture_error_mode: str = "global") -> Iterator[None]:
    """`with torch.cuda.graph(g):` captures what runs inside into `g`."""
    cuda_graph.capture_begin(pool)
    try:
        yield
    finally:
        cuda_graph.capture_end()


def _addressed(func: Any, args: Any, kwargs: Any, addresses: dict[str, tuple[str, ...]]
               ) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, with the lists among them up to the end of their memory."""
    names = addresses.get(func._schema.name, ())
    order = [argument.name for argument in func._schema.arguments] if names else []
    given = tuple(_to_the_end(value) if order and order[i] in names else value
                  for i, value in enumerate(args))
    return given, {name: _to_the_end(value) if name in names else value
                   for name, value in kwargs.items()}


def _to_the_end(tensor: torch.Tensor) -> torch.Tensor:
    with _disable_current_modes():
        room = tensor.untyped_storage().nbytes() // tensor.element_size()
        return tensor.as_strided((room - tensor.storage_offset(),), (1,))


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The whole storage of a tensor, as bytes."""
    with _disable_current_modes():
        flat = torch.empty(0, dtype=torch.uint8)
        return flat.set_(tensor.untyped_storage())  # type: ignore[call-overload]


def _shared(tensor: torch.Tensor, args: Any) -> bool:
    return any(notes.same_storage(tensor, given) for given in notes.tensors_in(args, []))
