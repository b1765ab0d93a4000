"""The folders that mla_capture dumps, and what a bundle is made of (docs/reference/bundles.md).

Needs numpy, and torch only for tensors of it.
"""
from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import math
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy

FORMAT = "mla-testbed bundle 1"


def fnv1a64(data: bytes) -> str:
    """The sum that an older manifest names for a file."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def sha256(data: bytes) -> str:
    """The sum that a manifest names for a file, as `sha256sum` prints it."""
    return hashlib.sha256(data).hexdigest()


#: By the key of a manifest's entry; the first one that an entry has counts.
SUMS: dict[str, Callable[[bytes], str]] = {"sha256": sha256, "fnv1a64": fnv1a64}


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


def plain_name(name: str) -> bool:
    """Whether it names a file that lies in the folder where it is looked for."""
    return name not in ("", ".", "..") and not set(name) & set("/\\\0")


def write_bundle(folder: str, name: str, scalars: dict[str, Any],
                 arrays: dict[str, Any]) -> None:
    """One bundle: `scalars` by name, `arrays` by name, which become names of files. One that is
    there stays as it is unless all of them can be written."""
    for key in arrays:
        if not plain_name(key):
            raise ValueError(f"array {key!r} has a name that leads out of its folder")
    os.makedirs(folder, exist_ok=True)
    manifest: dict[str, Any] = {"format": FORMAT, "name": name, **scalars, "arrays": {}}
    paths = []
    try:
        for key, value in arrays.items():
            file = key + ".npy"
            paths.append(os.path.join(folder, file))
            with open(paths[-1] + ".new", "w+b") as data:
                numpy.save(data, value)
                data.seek(0)
                manifest["arrays"][key] = {"file": file, "sha256": sha256(data.read())}
        paths.append(os.path.join(folder, "manifest.json"))
        with open(paths[-1] + ".new", "w", encoding="utf-8") as out:
            json.dump(manifest, out, indent=1)
        for path in paths:
            os.replace(path + ".new", path)
    except BaseException:
        for path in paths:
            with contextlib.suppress(OSError):
                os.remove(path + ".new")
        raise


def new_folder(folder: str, name: str) -> str:
    """A folder for one bundle. Where another process of the engine, such as another rank, or an
    earlier run has the name, this process's number is added, and then a number."""
    own = f"-pid{os.getpid()}"
    for end in itertools.chain(("", own), (f"{own}-{n}" for n in itertools.count(2))):
        path = os.path.join(folder, name + end)
        try:
            os.makedirs(path)
        except FileExistsError:
            continue
        return path
    raise AssertionError


def dtype_name(dtype: Any) -> str:
    """What a bundle calls a dtype; None is bf16."""
    return "fp8" if dtype is not None and "float8" in str(dtype) else "bf16"


def in_graph_capture() -> bool:
    """Copying to the host would end the capture of a graph with an error."""
    torch = sys.modules.get("torch")
    return bool(torch is not None and torch.cuda.is_available()
                and torch.cuda.is_current_stream_capturing())


def address(tensor: Any) -> int:
    """Where a tensor or an array begins."""
    return int(tensor.data_ptr() if hasattr(tensor, "data_ptr") else tensor.ctypes.data)


def tensor_dtype(tensor: Any) -> str | None:
    """What a bundle calls the dtype of a tensor. It has no name for that of packed bytes, which is
    left as it is, and `check` refuses it."""
    name = str(tensor.dtype)
    if "uint8" in name:
        return name
    return "fp8" if "float8" in name else "bf16" if "bfloat16" in name else None


def device_facts() -> dict[str, Any]:
    """Architecture and compute units of the current device."""
    import torch

    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    arch = getattr(properties, "gcnArchName", "gfx942").split(":")[0]
    return {"arch": arch, "num_cu": properties.multi_processor_count}


def warn(text: str) -> None:
    """On stderr, where there is one."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print("mla_capture: " + text, file=sys.stderr, flush=True)


def scale_of(key: str, value: Any) -> float | str:
    """A scale as a manifest has it. JSON has no NaN and no infinity, and readers refuse a file
    with one. Such a scale becomes a text, which `check` skips and `replay` refuses by name."""
    number = float(value)
    if math.isfinite(number):
        return number
    warn(f"{key} is {number}: no result that it multiplies can be right")
    return str(number)


def scales_of(arguments: dict[str, Any]) -> dict[str, Any]:
    """Scales and widths of one mla_decode_fwd call. Without sm_scale AITER takes one of its own. A
    q_scale or kv_scale of several elements is no number: its shape says so, and `replay` refuses
    it."""
    given = arguments.get("sm_scale")
    scalars: dict[str, Any] = {
        "softmax_scale": scale_of(
            "softmax_scale", arguments["q"].shape[-1] ** -0.5 if given is None else given)}
    for key in ("q_scale", "kv_scale"):
        value = arguments.get(key)
        shape = [int(n) for n in getattr(value, "shape", ())]
        if value is not None and numpy.prod(shape) != 1:
            scalars[key + "_shape"] = shape
        elif value is not None:
            scalars[key] = scale_of(key, value.item() if hasattr(value, "item") else value)
    return {**scalars, **widths_of(arguments)}


def widths_of(arguments: dict[str, Any]) -> dict[str, int]:
    """The widths of the cache's rows, if they are not 512 + 64. No tensor says where the
    latent part ends: with the values, as in absorbed MLA. A call without an output says nothing."""
    if "o" not in arguments:
        return {}
    key, value = int(arguments["q"].shape[-1]), int(arguments["o"].shape[-1])
    return {} if (key, value) == (576, 512) else {"latent": value, "rope": key - value}


def pages_held(arguments: dict[str, Any]) -> int:
    """How many pages the cache has."""
    shape = arguments["kv_buffer"].shape
    return int(numpy.prod(shape[:-1])) // int(arguments.get("page_size", 1))


def live_pages(arguments: dict[str, Any], kv_indptr: Any) -> Any:
    """The entries of a launch's kv_indices that kv_indptr, its own or the planner's, counts."""
    indices = as_array(arguments["kv_indices"]).reshape(-1)
    return indices[:int(as_array(kv_indptr)[-1])]


def pages_in_use(indices: Any, held: int) -> Any:
    """The pages of a list that a cache of so many has, each once. `check` names the others."""
    return numpy.unique(indices[(indices >= 0) & (indices < held)])


def kept_apart(watch: Callable[..., Any], *arguments: Any) -> Any:
    """What `watch` makes of a call. Its errors are printed and do not stop the engine: the steps
    that a user looks for are those with something wrong in them."""
    try:
        return watch(*arguments)
    except Exception as error:
        warn(f"{watch.__name__} failed, and a step is not dumped whole: "
             f"{type(error).__name__}: {error}")
        return None
