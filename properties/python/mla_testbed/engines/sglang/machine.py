"""What SGLang finds on a machine with ROCm beside torch, Triton and AITER: its compiled modules.

`prepare` is called once, inside of an aiter.Stage and before `sglang` is imported. Nothing of
SGLang's own Python is replaced.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NoReturn

#: SGLang's compiled kernels. None of them is on the way of MLA with AITER.
COMPILED = "sgl_kernel"
#: Modules of it that a whole engine imports. Of others SGLang does without.
_INSIDE = ("sgl_kernel.kvcacheio",)
BACKEND = "sglang.srt.layers.attention.aiter_backend"

#: What `aiter_backend` imports from AITER in one statement: without one of them it has none.
_FROM_AITER = ("get_mla_metadata_v1", "get_ps_metadata_v1", "mla_decode_fwd", "mla_prefill_fwd")


class NoKernelError(ImportError):
    """A compiled kernel of SGLang was called that is not here."""


class _Kernels(ModuleType):
    """A compiled module: every function is there, and refuses to run."""

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        if name.startswith("__"):
            raise AttributeError(name)

        def refuse(*_: Any, **__: Any) -> NoReturn:
            raise NoKernelError(
                f"SGLang called {COMPILED}.{name}, a compiled kernel that mla-testbed does not "
                "replace; MLA with the aiter backend needs none of them", name=COMPILED)

        return refuse


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds COMPILED, and modules inside of it, where it is not installed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A spec of the replacement, or None for another module."""
        if fullname not in (COMPILED, *_INSIDE):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=fullname == COMPILED)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The replacement."""
        return _Kernels(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


def prepare() -> None:
    """Makes this process one in which SGLang chooses AITER and can be imported."""
    os.environ["SGLANG_USE_AITER"] = "1"
    if importlib.util.find_spec(COMPILED) is None:
        sys.meta_path.append(_Finder())


def import_backend() -> ModuleType:
    """SGLang's module `aiter_backend`.

    Raises:
        ImportError: SGLang, something that it imports, or a name of AITER is missing.
    """
    if importlib.util.find_spec("sglang") is None:
        raise ImportError("SGLang is not installed: pip install --no-deps sglang, and what "
                          "docs/use/engines.md lists beside it", name="sglang")
    try:
        module = importlib.import_module(BACKEND)
    except ImportError as e:
        raise ImportError(f"SGLang {version()} cannot be imported: {e}; docs/use/engines.md lists "
                          "what it needs", name=e.name) from e
    missing = [name for name in _FROM_AITER if not hasattr(module, name)]
    if missing:
        raise ImportError(
            f"SGLang {version()} imported without AITER: {missing[0]} is missing in its "
            f"aiter_backend, because one of the names that it imports with it failed: {why()}")
    return module


def why() -> str:
    """What the import of AITER's names ends with."""
    try:
        import aiter.mla
        import aiter.ops.triton.attention.unified_attention  # noqa: F401
    except ImportError as e:
        return str(e)
    return "a name is missing in this AITER"


def version() -> str:
    """Of the installed SGLang."""
    try:
        return importlib.metadata.version("sglang")
    except importlib.metadata.PackageNotFoundError:
        return "of unknown version"
