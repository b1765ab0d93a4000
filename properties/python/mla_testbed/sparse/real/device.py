"""Tensors of the emulated device, from the arrays of a case and back."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from ... import world
from ...aiter import Stage, target_driver
from ...triton import state
from ..inputs import Inputs
from ..rows import Layout

_DEVICE = "cuda"
FP8 = {"fnuz": torch.float8_e4m3fnuz, "ocp": torch.float8_e4m3fn}


@contextlib.contextmanager
def entered(arch: str, aiter: pathlib.Path | None = None) -> Iterator[None]:
    """torch as on a machine with one such GPU, whose Triton kernels the emulator runs.

    aiter: a source tree, whose Python is then importable, and whose C++ is built as it is called.
    """
    token = state.set_arch(arch)
    try:
        with _entered(arch, aiter):
            yield
    finally:
        state.reset_arch(token)


@contextlib.contextmanager
def _entered(arch: str, aiter: pathlib.Path | None) -> Iterator[None]:
    machine = world.machine(arch, backend="aiter" if aiter else "cpu", poison=True)
    if aiter is not None:
        stage = Stage(machine, None, tree=aiter, modules="own")
        try:
            yield
        finally:
            stage.leave()
        return
    with world.entered(machine):
        put_back = target_driver.activate(machine)
        try:
            yield
        finally:
            put_back()


def put(array: np.ndarray, dtype: torch.dtype | None = None) -> torch.Tensor:
    """A copy on the device; with a dtype its bits as elements of this type."""
    made = torch.from_numpy(np.ascontiguousarray(array).copy()).to(_DEVICE)
    return made if dtype is None else made.view(dtype)


def bf16(bits: np.ndarray) -> torch.Tensor:
    """A copy of bf16 bits on the device."""
    return put(bits.view(np.int16), torch.bfloat16)


def back(tensor: torch.Tensor) -> np.ndarray:
    """A copy on the host; fp8 as its bytes, bf16 as float32."""
    if tensor.dtype in FP8.values():
        tensor = tensor.view(torch.uint8)
    elif tensor.dtype == torch.bfloat16:
        tensor = tensor.float()
    return np.array(tensor.cpu().numpy())


def blocks(inputs: Inputs, flat: np.ndarray, dtype: torch.dtype | None = None) -> torch.Tensor:
    """(blocks, block, 132) over the bytes of an indexer cache, with the case's gap as a stride.

    It is a view: `bytes_of` gives the bytes back.
    """
    case = inputs.case
    cache = put(flat)
    if dtype is not None:
        cache = cache.view(dtype)
    row = case.block_bytes - case.gap
    return cache.as_strided((inputs.blocks, case.block, row // case.block),
                            (case.block_bytes, row // case.block, 1))


def bytes_of(cache: torch.Tensor, count: int) -> np.ndarray:
    """The bytes of a cache of `blocks`, with what lies between blocks."""
    storage: Any = cache.untyped_storage()
    flat = torch.empty(0, dtype=torch.uint8, device=cache.device).set_(storage)
    return back(flat)[:count]


def packed_blocks(inputs: Inputs, flat: torch.Tensor) -> torch.Tensor:
    """(blocks, block, bytes of a token) over the bytes of a packed cache on the device, with what
    lies between blocks in the stride. It is a view."""
    at = Layout(inputs.case)
    count = at.row + (at.tiles + 1 if at.apart else 0)
    return flat.as_strided((inputs.blocks, inputs.case.block, count), (at.block_bytes, count, 1))
