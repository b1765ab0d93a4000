"""Triton 3.9: the launch path is that of 3.8."""

from __future__ import annotations

from .v3_8 import ADAPTER

__all__ = ["ADAPTER"]
