"""The compiler's half of the entry point: none of ours, AMD's own compiler serves the target."""

from __future__ import annotations

from typing import Any

from triton.backends.compiler import BaseBackend

_NONE = "mla_testbed compiles nothing itself"


class EmulatorBackend(BaseBackend):  # type: ignore[misc]
    """Triton wants one in every backend, and exactly one that supports a target."""

    @staticmethod
    def supports_target(target: Any) -> bool:
        """No target is ours."""
        return False

    def hash(self) -> str:
        """Never asked for."""
        raise NotImplementedError(_NONE)

    def parse_options(self, options: dict[str, Any]) -> object:
        """Never asked for."""
        raise NotImplementedError(_NONE)

    def add_stages(self, stages: dict[str, Any], options: object, language: Any = None) -> None:
        """Never asked for."""
        raise NotImplementedError(_NONE)

    def load_dialects(self, context: Any) -> None:
        """Never asked for."""
        raise NotImplementedError(_NONE)

    def get_module_map(self) -> dict[str, Any]:
        """Never asked for."""
        raise NotImplementedError(_NONE)
