"""Which memory would be on the device: a note on each storage.

All memory of a world is the CPU's. The note decides what a tensor answers when it is asked for its
device, and what the border to the operations refuses. It sits on the storage, so that views share
it, and goes with the storage. A storage without a note is pageable host memory.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch

HOST = "host"
PINNED = "pinned"
DEVICE = "device"

_NOTE = "_mla_testbed_place"
_watch: Callable[[torch.UntypedStorage], None] | None = None


def place(tensor: torch.Tensor) -> str:
    """HOST, PINNED or DEVICE."""
    try:
        return getattr(tensor.untyped_storage(), _NOTE, HOST)
    except (NotImplementedError, RuntimeError):
        return HOST  # a tensor without memory: sparse, meta


def on_device(tensor: torch.Tensor) -> bool:
    """Whether the tensor's memory would be the GPU's."""
    try:  # as place(), without the call: every operand of every operation comes here
        return getattr(tensor.untyped_storage(), _NOTE, HOST) is DEVICE
    except (NotImplementedError, RuntimeError):
        return False


def note(tensor: torch.Tensor, where: str) -> torch.Tensor:
    """Notes where the tensor's storage is; returns the tensor."""
    with contextlib.suppress(NotImplementedError, RuntimeError):
        storage = tensor.untyped_storage()
        setattr(storage, _NOTE, where)
        if _watch is not None and where != HOST:
            _watch(storage)
    return tensor


def watch(callback: Callable[[torch.UntypedStorage], None] | None) -> None:
    """Calls back for each storage that is noted as the device's or pinned; None ends that."""
    global _watch
    _watch = callback


def note_all(value: Any, where: str) -> Any:
    """Notes every tensor in a tensor, list or tuple; returns the value."""
    if isinstance(value, torch.Tensor):
        note(value, where)
    elif isinstance(value, (list, tuple)):
        for element in value:
            note_all(element, where)
    return value


def same_storage(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors share their memory."""
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def tensors_in(values: Any, found: list[torch.Tensor]) -> list[torch.Tensor]:
    """Collects the tensors among arguments, in lists and tuples too."""
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            tensors_in(value, found)
    return found
