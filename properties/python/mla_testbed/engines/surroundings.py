"""The machine around an engine on ROCm: one GPU for torch, AITER's modules, Triton, amdsmi."""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import importlib.util
import os
import pathlib
import subprocess
import sys
import types
from typing import Any

import torch

from .. import world
from ..aiter import Stage
from ..errors import LibraryError
from ..world import Machine as Gpu
from ..world.operations import inside_operations
from . import without_aiter
from .engine import Machine

_VISION = ("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
           "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
_kept: list[Any] = []


def enter(machine: Machine, *, all_names: bool = False) -> Stage:
    """Sets up this process, for its whole life.

    AITER_SRC names AITER's source tree; without it, an installed `aiter` is imported. A machine
    `without_aiter` has planners under its names instead, and with `all_names` every other name too.

    Raises:
        ImportError: torch, Triton or AITER is not there, AITER without its code objects, or what
            its own modules are built with.
    """
    if "TRITON_DEFAULT_FP_FUSION" not in os.environ:
        os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"  # what Triton does, without its warning
    gpu = world.machine(machine.arch, machine.compute_units, late_copies=machine.late_copies,
                        poison=machine.poison, backend=machine.backend)
    tree = None if machine.without_aiter else os.environ.get("AITER_SRC")
    if tree:
        whole(tree, machine.arch)
    try:
        stage = Stage(gpu, None, tree=tree, modules=machine.modules)
    except LibraryError as e:
        raise ImportError(str(e)) from e
    if machine.without_aiter:
        without_aiter.install(machine, all_names=all_names)
    sys.modules["amdsmi"] = amdsmi(gpu)
    only_our_driver()
    vision_operations()
    inside_operations(stage.world)
    return stage


def whole(tree: str, arch: str) -> None:
    """Sees to it that what is missing in a source tree of AITER is not held against an engine.

    Raises:
        ImportError: the tree has no code objects for the architecture.
    """
    manifest = pathlib.Path("hsa", arch, "mla", "mla_asm.csv")
    if not (tree / manifest).is_file():
        raise ImportError(f"AITER_SRC is '{tree}', which has no {manifest}: AITER's kernels need a "
                          "whole clone")


def only_our_driver() -> None:
    """Triton's own driver for AMD takes the world's GPU for a real one, and engines refuse Triton
    where two drivers are active.

    Raises:
        ImportError: Triton, or this package's entry point for it, is not installed.
    """
    from triton.backends import backends

    if "mla_testbed" not in backends:
        raise ImportError("Triton does not know mla_testbed as a backend: install the package "
                          "(pip install '.[triton]'), PYTHONPATH alone has no entry points")
    for name, backend in backends.items():
        if name != "mla_testbed" and backend.driver is not None:
            backend.driver.is_active = staticmethod(lambda: False)


def vision_operations() -> None:
    """torchvision of PyPI cannot load its CUDA library here; its Python asks for two operations."""
    if importlib.util.find_spec("torchvision") is None:
        return
    library = torch.library.Library("torchvision", "FRAGMENT")
    for schema in _VISION:
        if not hasattr(torch.ops.torchvision, schema.partition("(")[0]):
            library.define(schema)
    _kept.append(library)  # the definitions end with it


def amdsmi(gpu: Gpu) -> types.ModuleType:
    """A module that answers for one GPU."""
    made: Any = types.ModuleType("amdsmi")
    made.__spec__ = importlib.machinery.ModuleSpec("amdsmi", None)
    made.AmdSmiException = type("AmdSmiException", (Exception,), {})
    made.AmdSmiMemoryType = types.SimpleNamespace(VRAM=0)
    made.amdsmi_init = lambda *_: None
    made.amdsmi_shut_down = lambda: None
    made.amdsmi_get_processor_handles = lambda: [0]
    made.amdsmi_get_gpu_asic_info = lambda _: {
        "target_graphics_version": gpu.arch, "market_name": gpu.name, "device_id": "0x74a1"}
    made.amdsmi_get_gpu_device_uuid = lambda _: "0"
    made.amdsmi_get_gpu_memory_total = lambda *_: gpu.memory
    made.amdsmi_topo_get_link_type = lambda *_: {}
    made.amdsmi_topo_get_numa_node_number = lambda _: 0
    module: types.ModuleType = made
    return module


def on_device(bits: Any, dtype: str) -> torch.Tensor:
    """The tensor of the GPU that has these bits. dtype: "bf16" (uint16), or "fp8" (uint8) of AITER.
    """
    import aiter

    if dtype == "bf16":
        return torch.from_numpy(bits.view("int16")).view(torch.bfloat16).to("cuda")
    return torch.from_numpy(bits).view(aiter.dtypes.fp8).to("cuda")


def aiter_version() -> str:
    """The commit of AITER's source tree, or the version of the installed package."""
    import aiter

    if not hasattr(aiter, "__file__"):
        return without_aiter.VERSION
    tree = pathlib.Path(str(aiter.__file__)).resolve().parents[1]
    return version_of(tree, "AITER_VERSION", "amd-aiter") or str(
        getattr(aiter, "__version__", "unknown"))


def version_of(tree: pathlib.Path | None, variable: str, package: str) -> str:
    """The commit of a source tree, what the variable says of one without `.git`, or the version of
    the installed package; "" if there is none of these.
    """
    if tree is not None and (tree / ".git").exists():
        asked = subprocess.run(["git", "-C", str(tree), "rev-parse", "--short=12", "HEAD"],
                               capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            return asked.stdout.strip()
    named = os.environ.get(variable)
    if named:
        return named
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
