"""Tensors as ranges of memory: each storage is one, named after the arguments that use it."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from .. import gfx
from ..errors import TensorError, UsageError


def storage_of(value: Any, name: str) -> tuple[int, int] | None:
    """Address and size of the whole storage of a tensor; None where it has no bytes.

    A storage, not a view: a kernel may address what lies before the first element of a view.
    """
    tensor = getattr(value, "base", None) if not hasattr(value, "untyped_storage") else value
    if tensor is None or not hasattr(tensor, "untyped_storage"):
        return None
    storage = tensor.untyped_storage()
    if storage.device.type != "cpu":
        raise TensorError(f"argument '{name}' lies on '{storage.device}'; the emulator takes "
                          "tensors in host memory")
    address, size = storage.data_ptr(), storage.nbytes()
    return (address, size) if address != 0 and size != 0 else None


def merged(ranges: Iterable[gfx.Range]) -> list[gfx.Range]:
    """One range for what overlaps: arguments may share a storage, and storages may share bytes."""
    out: list[gfx.Range] = []
    for one in sorted(ranges, key=lambda item: item.address):
        last = out[-1] if out else None
        if last is None or one.address >= last.address + last.size:
            out.append(one)
            continue
        names = last.name.split(", ")
        name = last.name if one.name in names else f"{last.name}, {one.name}"
        end = max(last.address + last.size, one.address + one.size)
        out[-1] = gfx.Range(last.address, end - last.address, name)
    return out


class Registered:
    """Tensors that every launch may touch. The tensors are kept alive."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tensors: dict[int, tuple[Any, gfx.Range]] = {}

    def add(self, tensor: Any, name: str) -> None:
        """UsageError for a tensor without bytes."""
        found = storage_of(tensor, name)
        if found is None:
            raise UsageError(f"'{name}' has no bytes that could be registered")
        with self._lock:
            self._tensors[id(tensor)] = (tensor, gfx.Range(*found, name))

    def remove(self, tensor: Any) -> None:
        """UsageError for one that was not added."""
        with self._lock:
            if self._tensors.pop(id(tensor), None) is None:
                raise UsageError("the tensor was not registered")

    def ranges(self) -> list[gfx.Range]:
        """All of them."""
        with self._lock:
            return [entry[1] for entry in self._tensors.values()]
