"""Tensors that a kernel reaches through addresses in another tensor, as a grouped matmul does."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterable
from typing import Any

from .. import gfx
from . import memory

#: A longer tensor of 64-bit integers is no table of addresses. An address of the host's memory is
#: at least this, and below 2^47.
_TABLE, _LEAST = 4096, 1 << 20


def addresses_in(tensor: Any, name: str) -> list[tuple[int, int]]:
    """(index, number) of what may be addresses: all numbers but 0 of a short tensor of 64-bit
    integers, where each of them could be one. TensorError for a tensor on another device."""
    found = memory.storage_of(tensor, name)
    if found is None or not tensor.is_contiguous() or not 0 < tensor.numel() <= _TABLE:
        return []
    # From memory: torch's own functions may wait for a stream, or be forbidden in a capture.
    numbers = (ctypes.c_uint64 * tensor.numel()).from_address(tensor.data_ptr())
    indexed = [(index, number) for index, number in enumerate(numbers) if number != 0]
    return indexed if all(_LEAST <= number < 1 << 47 for _, number in indexed) else []


def targets(tables: Iterable[tuple[Any, str]]) -> list[tuple[Any, gfx.Range]]:
    """Tensors of this process whose storages the addresses in `tables` lie in, with their ranges.

    tables: (tensor, name of the argument). A range is named after the first address into it.
    """
    wanted = [(address, f"target of {name}[{index}]") for table, name in tables
              for index, address in addresses_in(table, name)]
    if not wanted:
        return []
    wanted.sort()
    return [(tensor, gfx.Range(start, size, name)) for tensor, start, size in _storages()
            for name in [next((n for at, n in wanted if start <= at < start + size), None)]
            if name is not None]


def _storages() -> Iterable[tuple[Any, int, int]]:
    """What keeps each storage in host memory alive, with its address and size; in a world those of
    its device, which Python's collector may not show (gc.freeze)."""
    import torch

    world = sys.modules.get("mla_testbed.world")
    entered = world.active() if world is not None else None
    if entered is not None:
        yield from entered.storages()
        return
    seen = set()
    for one in gc.get_objects():
        # Not isinstance(): it asks objects that stand for others what they are.
        if not issubclass(type(one), torch.Tensor):
            continue
        try:
            found = memory.storage_of(one, "")
        except Exception:  # noqa: BLE001, S112 one without memory of the host, of any kind
            continue
        if found is not None and found not in seen:
            seen.add(found)
            yield one, *found
