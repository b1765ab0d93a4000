"""MLA prefill of an engine, over cached prefixes too, judged (docs/reference/engines.md)."""

from __future__ import annotations

from .built import Chunk, PrefillBuilt, PrefillEngine
from .step import PrefillStep, prefill_steps_of

__all__ = ["Chunk", "PrefillBuilt", "PrefillEngine", "PrefillStep", "prefill_steps_of"]
