"""The caller's side of AITER's loader, written from its convention: no line of AITER is needed.

Modules are imported by name from AITER_JIT_DIR and get descriptors made by module_aiter_core;
libraries are loaded from there with ctypes and get pointers to descriptors, then a stream.
"""

import contextlib
import ctypes
import importlib
import inspect
import os
import pathlib
import sys

import torch
from mla_testbed import aiter, world

IDS = {torch.float8_e4m3fn: 0, torch.float8_e4m3fnuz: 0, torch.float16: 2, torch.bfloat16: 3,
       torch.float32: 4, torch.int32: 8, torch.uint8: 11, torch.int64: 12, torch.uint64: 13}

ENUM_HEADER = """#pragma once
enum class ActivationType : int { No = -1, Silu = 0, Gelu, };  // the first is not 0
enum class QuantType : int { No, per_Tensor, };
/* enum class MlaVersion : int { wrong }; */
enum class MlaVersion : int { V32 = 0, V40 = 1, };
"""
QUANT_HEADER = """enum class MxScaleRoundMode : int { RoundDown = 0, RoundUp = 1, };
enum class MxDtype : int { FP4_E2M1 = 0, };
static constexpr MxScaleRoundMode kDefaultMxScaleRoundMode = MxScaleRoundMode::RoundUp;
"""


def write_tree(directory: pathlib.Path) -> pathlib.Path:
    """A source tree with an importable, empty package and the two headers that are read."""
    include = directory / "csrc" / "include"
    include.mkdir(parents=True)
    (include / "aiter_enum.h").write_text(ENUM_HEADER)
    (include / "mx_quant_utils.h").write_text(QUANT_HEADER)
    (directory / "aiter").mkdir()
    (directory / "aiter" / "__init__.py").write_text("")
    return directory


def signature_of(operation) -> inspect.Signature:
    """The first line of the doc, executed as a definition, as AITER does."""
    line = operation.__doc__.split("\n")[0].replace("aiter_tensor_t | None", "object")
    scope = {"aiter_tensor_t": object}
    exec(f"def {line}: pass", scope)  # noqa: S102
    return inspect.signature(scope[line.split("(")[0]])


class Caller:
    """Calls operations as AITER's Python does."""

    def __init__(self):
        directory = os.environ["AITER_JIT_DIR"]
        if directory not in sys.path:
            sys.path.insert(0, directory)
        self.core = self.module("module_aiter_core")

    def module(self, name):
        return importlib.import_module(name)

    def describe(self, tensor):
        return self.core.aiter_tensor_t(
            tensor.data_ptr(), tensor.numel(), tensor.dim(), list(tensor.shape),
            list(tensor.stride()), IDS[tensor.dtype], tensor.get_device())

    def call(self, module, name, *args, **kwargs):
        loaded = self.module(module)
        loaded._set_current_hip_stream(0)
        wrap = [self.describe(a) if isinstance(a, torch.Tensor) else a for a in args]
        return getattr(loaded, name)(*wrap, **kwargs)

    def call_library(self, library, name, *args):
        """Scalars as int64 or float, truth values as int, a stream after them."""
        loaded = ctypes.CDLL(os.path.join(os.environ["AITER_JIT_DIR"], f"{library}.so"))
        assert loaded.aiter_ctypes_abi_version() == 2
        passed = []
        for a in args:
            if isinstance(a, torch.Tensor):
                passed.append(ctypes.byref(self.describe(a)))
            elif a is None:
                passed.append(ctypes.c_void_p())
            elif isinstance(a, bool):
                passed.append(ctypes.c_int(a))
            elif isinstance(a, int):
                passed.append(ctypes.c_int64(a))
            else:
                passed.append(ctypes.c_float(a))
        loaded.aiter_get_last_error.restype = ctypes.c_char_p
        loaded.aiter_clear_last_error()
        status = getattr(loaded, name)(*passed, ctypes.c_void_p())
        message = loaded.aiter_get_last_error()
        if status != 0 or message:
            raise RuntimeError(message.decode())


@contextlib.contextmanager
def stage_of(arch, tree):
    """A stage for a block, with an empty package as AITER, and its caller."""
    names = set(sys.modules)
    with aiter.entered(world.machine(arch, 8)):
        sys.path.insert(0, str(tree))
        try:
            importlib.import_module("aiter")
            yield Caller()
        finally:
            sys.path.remove(str(tree))
            for name in set(sys.modules) - names:
                if name == "aiter" or name.startswith("module_"):
                    del sys.modules[name]
