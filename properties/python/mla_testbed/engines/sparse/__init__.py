"""Sparse MLA decode: each row attends to the keys that an indexer selected for it
(docs/reference/engines.md)."""

from __future__ import annotations

from .step import SparseStep, sparse_steps_of

__all__ = ["SparseStep", "sparse_steps_of"]
