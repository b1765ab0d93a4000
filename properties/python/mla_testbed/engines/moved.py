"""Places inside an engine that this package reaches into, by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ..errors import LibraryError


class MovedError(LibraryError):
    """An engine has no such attribute any more: nothing of it can be judged."""


def found(engine: str, supported: str, place: str) -> tuple[Any, str, Any]:
    """The owner of an attribute, its name, and the attribute itself.

    Args:
        engine: with its version. supported: versions that have the attribute.
        place: "module:attribute" or "module:Class.attribute".

    Raises:
        MovedError: it is not there.
        ImportError: a package that the engine imports is not installed.
    """
    module, _, path = place.partition(":")
    *owners, name = path.split(".")
    try:
        owner = importlib.import_module(module)
        for part in owners:
            owner = getattr(owner, part)
        return owner, name, getattr(owner, name)
    except (ImportError, AttributeError) as e:
        missing = e.name if isinstance(e, ModuleNotFoundError) else None
        if missing and missing.partition(".")[0] != module.partition(".")[0]:
            raise ImportError(f"{engine} imports {missing}, which is not installed; "
                              "docs/use/engines.md lists what whole runs need", name=missing) from e
        raise MovedError(f"{engine} has no {module}.{path}, which whole runs reach into; expected "
                         f"{supported}") from e


def replace(engine: str, supported: str, place: str, around: Callable[[Any], Any]) -> None:
    """Replaces an attribute by what `around` makes of it; raises as `found`."""
    owner, name, before = found(engine, supported, place)
    setattr(owner, name, around(before))
