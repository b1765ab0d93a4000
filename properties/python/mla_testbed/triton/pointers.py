"""Tensors that a kernel reaches through addresses in another tensor, as a grouped matmul does."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from typing import Any

from .. import gfx
from . import memory

#: A longer tensor of 64-bit integers is no table of addresses. An address of the host's memory is
#: at least this, and below 2^47.
_TABLE, _LEAST = 4096, 1 << 20


def addresses_in(tensor: Any) -> list[int]:
    """What may be addresses: all numbers but 0 of a short tensor of 64-bit integers, where each of
    them could be one."""
    import torch

    if not isinstance(tensor, torch.Tensor) or tensor.dtype not in (torch.int64, torch.uint64) \
            or not 0 < tensor.numel() <= _TABLE:
        return []
    found = [int(value) for value in tensor.detach().reshape(-1).tolist() if value != 0]
    return found if all(_LEAST <= value < 1 << 47 for value in found) else []


def targets(tables: Iterable[tuple[Any, str]]) -> list[tuple[Any, gfx.Range]]:
    """Tensors of this process whose storages the addresses in `tables` lie in, with their ranges.

    tables: (tensor, name of the argument). A range is named after the first address into it.
    """
    wanted = [(address, f"target of {name}[{place}]") for table, name in tables
              for place, address in enumerate(addresses_in(table))]
    if not wanted:
        return []
    wanted.sort()
    return [(tensor, gfx.Range(start, size, name)) for tensor, start, size in _storages()
            for name in [next((n for at, n in wanted if start <= at < start + size), None)]
            if name is not None]


def _storages() -> Iterable[tuple[Any, int, int]]:
    """One tensor of each storage in host memory, with its address and size."""
    import torch

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
