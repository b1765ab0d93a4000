"""Which memory would be on the device: a note on each storage.

All memory of a world is the CPU's. The note decides what a tensor answers when it is asked for its
device, and what the border to the operations refuses. It sits on the storage, so that views share
it, and goes with the storage. A storage without a note is pageable host memory.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterable
from typing import Any

import torch

HOST = "host"
PINNED = "pinned"
DEVICE = "device"

_NOTE = "_mla_testbed_place"
#: Storages that the device reaches and that are alive: its own, and pinned ones. Tables of
#: addresses name them, and engines hide their objects from Python's collector (gc.freeze).
_alive: weakref.WeakSet[torch.UntypedStorage] = weakref.WeakSet()


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
        if where != HOST and getattr(storage, _NOTE, HOST) == HOST:
            _alive.add(storage)
        setattr(storage, _NOTE, where)
    return tensor


def device_storages() -> Iterable[torch.UntypedStorage]:
    """The storages of the device that are alive."""
    return [one for one in list(_alive) if getattr(one, _NOTE, HOST) is DEVICE]


def reached_storages() -> Iterable[torch.UntypedStorage]:
    """The same and pinned ones: what a kernel may touch."""
    return [one for one in list(_alive) if getattr(one, _NOTE, HOST) != HOST]


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
