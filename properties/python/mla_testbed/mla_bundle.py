"""The folders that mla_capture dumps: what a bundle is made of (docs/capture.md).

Needs numpy, and torch only for tensors of it.
"""
from __future__ import annotations

import json
import os
from typing import Any

import numpy

FORMAT = "mla-testbed bundle 1"


def fnv1a64(data: bytes) -> str:
    """The sum that a manifest names for a file."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def bits(tensor: Any) -> Any:
    """A tensor of bf16 or 8-bit floats as unsigned integers of the same width."""
    if hasattr(tensor, "detach"):
        import torch

        integer = {1: torch.uint8, 2: torch.int16}[tensor.element_size()]
        tensor = tensor.detach().contiguous().view(integer).cpu().numpy()
    array = numpy.ascontiguousarray(tensor)
    return array.view({1: numpy.uint8, 2: numpy.uint16}[array.itemsize])


def as_array(tensor: Any) -> Any:
    """A copy of a tensor, an array or a list as a C-ordered array of integers: what a later step
    writes into the same memory must not reach the dump."""
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().cpu().numpy()
    array = numpy.array(tensor, order="C")
    if array.dtype.kind not in "iub":
        raise TypeError(f"{array.dtype} is no integer type")
    return array


def write_bundle(folder: str, name: str, scalars: dict[str, Any],
                 arrays: dict[str, Any]) -> None:
    """One bundle: `scalars` by name, `arrays` by name."""
    os.makedirs(folder, exist_ok=True)
    manifest: dict[str, Any] = {"format": FORMAT, "name": name, **scalars, "arrays": {}}
    for key, value in arrays.items():
        file = key + ".npy"
        path = os.path.join(folder, file)
        numpy.save(path, value)
        with open(path, "rb") as data:
            manifest["arrays"][key] = {"file": file, "fnv1a64": fnv1a64(data.read())}
    path = os.path.join(folder, "manifest.json")
    with open(path + ".new", "w", encoding="utf-8") as out:
        json.dump(manifest, out, indent=1)
    os.replace(path + ".new", path)


def new_folder(folder: str, name: str) -> str:
    """A folder for one bundle. Where another process of the engine, such as another rank, or an
    earlier run has the name, this process's number is added."""
    path = os.path.join(folder, name)
    try:
        os.makedirs(path)
    except FileExistsError:
        path += f"-pid{os.getpid()}"
        os.makedirs(path, exist_ok=True)
    return path
