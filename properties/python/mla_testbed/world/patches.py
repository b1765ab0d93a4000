"""Replaces attributes of modules and classes, and puts every one of them back."""

from __future__ import annotations

from typing import Any

_MISSING = object()


class Patches:
    """Replaced attributes, in the order of their replacement."""

    def __init__(self) -> None:
        self._saved: list[tuple[Any, str, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Replaces `owner.name`; `owner` may lack the attribute so far."""
        self._saved.append((owner, name, vars(owner).get(name, _MISSING)))
        setattr(owner, name, value)

    def undo(self) -> None:
        """Restores everything, the latest replacement first."""
        while self._saved:
            owner, name, value = self._saved.pop()
            if value is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
