"""SGLang's own HIP kernels of the indexer on gfx950 (0.5.22 and later), for decodes of GLM-5.

SGLang's JIT builds them, with its flags, and finds the stand-in for ROCm in place of ROCm. Of the
rest of SGLang it needs two questions about the platform. Of its four kernels those that leave
logits and a selection are judged; the two before them compute what a case begins with.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.util
import os
import pathlib
import shutil
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ... import rocm
from ...aiter.own import cache as kept
from ...aiter.own.runtime import runtime
from .. import cache, logits, selection
from ..case import Case
from ..findings import Finding
from ..inputs import Inputs
from ..lists import positions
from . import calls
from .device import FP8, back, put
from .kernel import Kernel, need

_LOADER = "sglang.kernels.ops.attention.dsa.hip_gfx950.loader"
#: What the sources have built in.
_HEADS, _PAGE, _MOST = 32, 64, 2048
_BUILT_IN: dict[str, Any] = {"heads": _HEADS, "block": _PAGE, "layout": "shuffle", "gap": 0,
                             "k": _MOST}
#: Entries a row of the counters of candidates has, and candidates at most.
_CURSOR, _CANDIDATES = 32, 1 << 14
#: A position that no key has, for a slot of another request.
_OTHER = -9
#: DLPack's number of ROCm, where the kernels' checks look for it.
_ROCM = 10


def kernels(root: pathlib.Path) -> tuple[Kernel, ...]:
    """Both that are judged. root: the folder of the package `sglang`."""
    built = functools.partial(_built, root)
    fixed = {**_BUILT_IN, "holes": 0}
    return (
        Kernel("logits_hist (HIP)", "logits",
               lambda inputs, arch: _logits(built, inputs, arch), fixed, _taken),
        Kernel("topk_transform (HIP)", "select",
               lambda inputs, arch: _select(built, inputs, arch), fixed, _taken),
    )


def _taken(case: Case) -> None:
    for name, value in _BUILT_IN.items():
        need(getattr(case, name) == value,
             f"{name} is {getattr(case, name)}; built in is {value}")


class _Handed:
    """A tensor of the device, as the kernels' host code wants it."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    def __dlpack__(self, **_: Any) -> Any:
        plain = self.tensor.view(torch.uint8) if self.tensor.dtype in FP8.values() else self.tensor
        capsule = torch.utils.dlpack.to_dlpack(plain)
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        at = pointer(capsule, b"dltensor")
        ctypes.c_int32.from_address(at + 8).value = _ROCM
        if plain is not self.tensor:
            ctypes.c_uint8.from_address(at + 20).value = 10  # float8_e4m3fn
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return _ROCM, 0


@functools.cache
def _built(root: pathlib.Path) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The functions of the logits and of the selection; each is built when it is called first."""
    place = root / pathlib.Path(*_LOADER.split(".")).with_suffix(".py")
    need(place.is_file(), f"this SGLang has no {_LOADER}; 0.5.22 is the first")
    for name in ("tvm_ffi", "msgspec"):
        need(importlib.util.find_spec(name) is not None,
             f"SGLang's JIT needs {name}: pip install apache-tvm-ffi msgspec")
    need(shutil.which("ninja") is not None, "SGLang's JIT needs the program ninja")
    os.environ.update(dict.fromkeys(("ROCM_HOME", "ROCM_PATH", "HIP_PATH"), str(rocm.home())),
                      SGLANG_JIT_CACHE_DIR=str(kept.directory() / "sglang"))
    runtime()  # libamdhip64, before a module that needs it
    parts = _LOADER.split(".")[:-1]
    _package("sglang.srt", root / "sglang/srt")
    for count in range(len(parts)):
        name = ".".join(parts[:count + 1])
        _package(name, root / pathlib.Path(*parts[:count + 1]))
    platform = types.ModuleType("sglang.srt.utils.common")
    vars(platform).update(is_cuda=lambda: False)
    sys.modules["sglang.srt.utils.common"] = platform
    loader = importlib.import_module(_LOADER)
    loader.load_jit = functools.partial(_later, loader.load_jit)  # type: ignore[attr-defined]
    _, _, score, select = loader.modules()
    return (functools.partial(_called, score, "logits_hist"),
            functools.partial(_called, select, "topk_transform"))


def _package(name: str, folder: pathlib.Path) -> None:
    """A package whose own __init__ is not run: it imports a serving system."""
    made = types.ModuleType(name)
    made.__path__ = [str(folder)]
    sys.modules[name] = made


def _later(build: Callable[..., Any], *given: Any, **named: Any) -> Callable[[], Any]:
    return functools.cache(lambda: build(*given, **named))


def _called(module: Callable[[], Any], name: str, **arguments: Any) -> None:
    """Calls a function; FaultError: what its kernels did wrong."""
    hand = importlib.import_module("tvm_ffi").from_dlpack
    function = getattr(module(), name)
    runtime().before(arguments)
    function(*(hand(_Handed(one)) if isinstance(one, torch.Tensor) else one
               for one in arguments.values()))
    runtime().after(name)


def _tables(inputs: Inputs) -> torch.Tensor:
    """(rows, pages): of the request of each row."""
    return put(inputs.tables[inputs.owners].astype(np.int32))


def _logits(built: Any, inputs: Inputs, arch: str) -> list[Finding]:
    found, held, _ = _scored(built, inputs, arch)
    return calls.of_logits(inputs, held, back(found), "masked or left")


def _scored(built: Any, inputs: Inputs, arch: str) -> tuple[torch.Tensor, np.ndarray, torch.Tensor]:
    """Logits (rows, W + FENCE), the cache, and the histogram that the selection begins with."""
    need(arch == "gfx950", "SGLang has these kernels for gfx950 alone")
    score, _ = built()
    held, out = cache.written(inputs), calls.before_logits(inputs)
    bins = torch.zeros(inputs.case.rows, 4096 + 64, dtype=torch.int32, device="cuda")
    pages = put(held).view(inputs.blocks, -1).view(FP8[inputs.case.fp8])
    score(q=put(inputs.q).view(FP8[inputs.case.fp8]), kv=pages, weights=put(inputs.weights),
          seqlens=put(inputs.visible.astype(np.int32)), page_table=_tables(inputs),
          out=out[:, :logits.columns(inputs)], ghist=bins, blocks_per_row=48)
    return out, held, bins


def _select(built: Any, inputs: Inputs, arch: str) -> list[Finding]:
    """Twice over one workspace, which each call leaves as the next one expects it."""
    made, _, bins = _scored(built, inputs, arch)
    again = bins.clone()
    rows = inputs.case.rows
    workspace = {"cursor": torch.zeros(rows, _CURSOR, dtype=torch.int32, device="cuda"),
                 "cand_idx": torch.zeros(rows, _CANDIDATES, dtype=torch.int32, device="cuda"),
                 "cand_val": torch.zeros(rows, _CANDIDATES, device="cuda")}
    for _ in range(2):
        out = torch.full((rows, _MOST), -7, dtype=torch.int32, device="cuda")
        built()[1](logits=made[:, :logits.columns(inputs)],
                   row_ends=put(inputs.visible.astype(np.int32)), page_table=_tables(inputs),
                   out=out, ghist=bins, **workspace, g_per_row=64, page_size=_PAGE)
        left = int(bins.count_nonzero() + workspace["cursor"].count_nonzero())
        if left:
            return [Finding("SP-11", "select", f"{left} counters are not 0 after the call, and the "
                            "next one adds to them")]
        bins.copy_(again)
    own = (inputs.slots(int(request)) for request in inputs.owners)
    return selection.check_selection(inputs, back(made), positions(back(out), own, _OTHER))
