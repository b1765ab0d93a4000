"""The metadata builders of serving engines, unmodified, under the judge (docs/use/engines.md)."""

from __future__ import annotations

from .decode import PADDING, Built, Engine
from .engine import Machine
from .step import EngineStep, steps_of

__all__ = ["PADDING", "Built", "Engine", "EngineStep", "Machine", "steps_of"]
