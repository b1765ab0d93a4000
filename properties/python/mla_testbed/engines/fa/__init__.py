"""AITER's flash attention backend of an engine ("AITER FA"), judged (docs/reference/engines.md)."""

from __future__ import annotations

from .built import FaBuilt, FaEngine
from .step import FaStep, fa_steps_of

__all__ = ["FaBuilt", "FaEngine", "FaStep", "fa_steps_of"]
