"""The kinds of steps that engines are judged by, and their adapters, by name."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import UsageError
from .decode.kind import Decode
from .engine import Machine
from .fa.kind import Fa
from .kind import Kind
from .prefill.kind import Prefill
from .ranks.kind import Ranks
from .sparse.kind import Sparse

KINDS: dict[str, Kind[Any, Any]] = {
    kind.name: kind for kind in (Decode(), Fa(), Prefill(), Ranks(), Sparse())}
#: Those that case lines have (docs/reference/cases.md).
CASE_KINDS = tuple(name for name, kind in KINDS.items() if kind.in_cases)


def load(name: str, machine: Machine) -> Any:
    """The adapter of an engine, by its name or as "module:class": what the machine's kind asks of
    one, such as decode.Engine or fa.FaEngine.

    Raises:
        UsageError: no such adapter.
        ImportError: the engine, or something that it needs, is not installed.
    """
    known = KINDS[machine.kind].adapters
    if name in Decode.adapters and name not in known:
        raise UsageError(f"engine {name} has no adapter for kind {machine.kind}; expected one of "
                         f"{', '.join(known)}")
    module, colon, attribute = known.get(name, name).partition(":")
    if not colon:
        raise UsageError(f"engine '{name}' is unknown; expected {', '.join(Decode.adapters)}, "
                         "or module:class of an adapter")
    if not module or module.startswith(".") or not attribute:
        raise UsageError(f"engine '{name}' is unknown; expected module:class of an adapter")
    found = getattr(importlib.import_module(module), attribute, None)
    if not callable(found):
        raise UsageError(f"engine '{name}': module {module} has no class '{attribute}'")
    return found(machine)
