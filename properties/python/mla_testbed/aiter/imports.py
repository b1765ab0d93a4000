"""Import hooks: what has to be changed in AITER's modules, and a clear word on missing ones."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

Change = Callable[[ModuleType], None]


#: Kernels of other makers, by compiled module: what they are, and what keeps AITER from them.
_OTHERS = {
    "module_hk_mla_v32_fwd_mi3xx": (
        "HipKittens decode, hk_mla_v32_decode_fwd", "unset AITER_ENABLE_EXPERIMENTAL"),
    "module_hk_mla_v40_fwd_mi3xx": (
        "HipKittens decode of DeepSeek-V4, hk_mla_v40_decode_fwd",
        "there is no other kernel of this model in AITER"),
    "module_opus_mla": (
        "OPUS decode, mla_decode_fwd_opus_stage1", "unset AITER_MLA_USE_OPUS"),
    "module_ds32_mla": (
        "OPUS decode of DeepSeek-V3.2, mla_decode_stage1_opus_fwd_ds32",
        "use the layout LEGACY instead of DS32_OPUS"),
    "flydsl": ("FlyDSL kernels", "unset AITER_MLA_REDUCE_FLYDSL"),
}


class NotServedError(ImportError):
    """A compiled module of AITER, or an operation, that mla-testbed has no replacement for.

    module: the module. operation: its operation, where it is known.
    """

    def __init__(self, module: str, operation: str | None = None) -> None:
        self.operation = operation
        what, advice = _OTHERS.get(module, (f"AITER's compiled module {module}", None))
        named = what if operation is None else f"{operation} ({what})"
        super().__init__(
            f"{named} is not served by mla-testbed and cannot run here; "
            f"{advice or 'docs/use/aiter-on-a-laptop.md says what can'}", name=module)


def refuse_operation(module: str) -> Callable[[str], Any]:
    """A module's __getattr__: an operation that it lacks is refused by name."""

    def refuse(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotServedError(module, name)

    return refuse


def refuse_flydsl(flydsl: ModuleType) -> None:
    """The change of aiter.ops.flydsl: its kernels would be launched on a GPU."""
    for name in [name for name in vars(flydsl) if name.startswith("flydsl_")]:
        if callable(getattr(flydsl, name)):
            setattr(flydsl, name, functools.partial(_refuse, "flydsl", name))


def _refuse(module: str, name: str, *_: Any, **__: Any) -> None:
    raise NotServedError(module, name)


class Hook(importlib.abc.MetaPathFinder):
    """Runs a change after a module is imported; refuses compiled modules that are not there."""

    def __init__(self, changes: dict[str, Change],
                 built: Callable[[str], bool] = lambda module: False) -> None:
        """built: whether AITER builds a compiled module that is not there."""
        self._changes = dict(changes)
        self._built = built
        self._finding = False

    def install(self) -> None:
        """Puts the hook in front of everything; modules imported already are changed now."""
        for name, change in list(self._changes.items()):
            if name in sys.modules:
                change(sys.modules[name])
                del self._changes[name]
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Takes the hook away; changed modules stay changed."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A spec whose module is changed after its execution; None for all others."""
        compiled = fullname.startswith("module_")
        if self._finding or not (compiled or fullname in self._changes):
            return None
        self._finding = True
        try:
            spec = importlib.util.find_spec(fullname) if path is None else _found(fullname, path)
        finally:
            self._finding = False
        if spec is None:
            if compiled and not self._built(fullname.rpartition(".")[2]):
                raise NotServedError(fullname)
            return None
        change = self._changes.pop(fullname, None)
        if change is not None and spec.loader is not None:
            spec.loader = _Changing(spec.loader, change)
        return spec


def _found(fullname: str, path: Sequence[str]) -> importlib.machinery.ModuleSpec | None:
    return importlib.machinery.PathFinder.find_spec(fullname, path)


class _Changing(importlib.abc.Loader):
    """Another loader, and a change of what it loaded."""

    def __init__(self, loader: Any, change: Change) -> None:
        self._loader = loader
        self._change = change

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """As the other loader."""
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        """As the other loader, then the change."""
        self._loader.exec_module(module)
        self._change(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)  # get_source and its like, for inspect
