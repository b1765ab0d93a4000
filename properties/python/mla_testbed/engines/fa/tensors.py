"""Queries, keys and values of an FA step, as bits of bf16."""

from __future__ import annotations

import numpy as np

from ..tensors import bf16_bits
from .step import FaStep

NAN = 0x7FC0


def query(step: FaStep, order: tuple[int, ...]) -> np.ndarray:
    """(rows, heads, dim) bits: rows of the requests in this order."""
    return np.concatenate([bf16_bits(_normal(
        step, 1 + request, (step.query_lens[request], step.heads, step.head_dim)))
        for request in order])


def slots(step: FaStep) -> np.ndarray:
    """(2, slots, kv_heads, dim) bits: keys and values, by the slot where a token lies.

    Requests may share blocks, so a token's value belongs to its slot. A slot that no request owns
    is NaN.
    """
    owned = np.unique(np.concatenate([step.token_slots(i) for i in range(step.requests)]))
    made = np.full((2, step.pool_blocks * step.block_size, step.kv_heads, step.head_dim), NAN,
                   np.uint16)
    made[:, owned] = bf16_bits(_normal(step, 0, (2, owned.size, step.kv_heads, step.head_dim)))
    return made


def before(step: FaStep, values: np.ndarray) -> np.ndarray:
    """The cache before the step: what its rows will write is NaN."""
    cache: np.ndarray = values.copy()
    cache[:, np.concatenate([step.new_slots(i) for i in range(step.requests)])] = NAN
    return cache


def _normal(step: FaStep, part: int, shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng([step.data_seed, part]).standard_normal(shape, np.float32)
