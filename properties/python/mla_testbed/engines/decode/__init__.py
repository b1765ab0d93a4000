"""MLA decode of an engine, with the plans of other parts of its steps, judged
(docs/use/engines.md)."""

from __future__ import annotations

from .built import PADDING, Built, Engine

__all__ = ["PADDING", "Built", "Engine"]
