"""Queries and caches of a step, as bits of their dtypes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .step import EngineStep

WIDTH, VALUES = 576, 512
NAN = 0x7FC0
_NAN = {"bf16": NAN, "gfx942": 0x80, "gfx950": 0x7F}


def bf16_bits(values: np.ndarray) -> np.ndarray:
    """float32 rounded to nearest even, as uint16."""
    words = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((words + 0x7FFF + ((words >> 16) & 1)) >> 16).astype(np.uint16)


@functools.lru_cache(maxsize=2)
def fp8_values(arch: str) -> np.ndarray:
    """The value of each of the 256 bytes of e4m3fnuz (gfx942) or e4m3fn (gfx950), as float32."""
    bias, codes = (8 if arch == "gfx942" else 7), np.arange(256)
    exponent, mantissa = (codes >> 3) & 15, (codes & 7) / 8.0
    size = np.where(exponent == 0, mantissa * 2.0 ** (1 - bias),
                    (1 + mantissa) * 2.0 ** (exponent - float(bias)))
    values = np.where(codes >= 128, -size, size).astype(np.float32)
    values[[0x80] if arch == "gfx942" else [0x7F, 0xFF]] = np.nan
    return values


def fp8_bits(values: np.ndarray, arch: str) -> np.ndarray:
    """float32 rounded to the nearest value of the architecture's fp8, a tie to the even one, as
    uint8."""
    known = fp8_values(arch)
    codes = np.argsort(np.where(np.isnan(known), np.inf, known), kind="stable")
    codes = codes[:int(np.isfinite(known).sum())].astype(np.uint8)
    middles = (known[codes][1:] + known[codes][:-1]) / 2
    at = np.searchsorted(middles, values)
    tie = (at < middles.size) & (middles[np.minimum(at, middles.size - 1)] == values)
    nearest: np.ndarray = codes[at + (tie & (codes[at] % 2 == 1))]
    return nearest


def bits(values: np.ndarray, dtype: str, arch: str) -> np.ndarray:
    """float32 as bits of "bf16" or "fp8"."""
    return bf16_bits(values) if dtype == "bf16" else fp8_bits(values, arch)


def values_of(codes: np.ndarray, arch: str) -> np.ndarray:
    """Bits as float32: uint16 is bf16, uint8 the architecture's fp8."""
    if codes.dtype == np.uint16:
        return (codes.astype(np.uint32) << 16).view(np.float32)
    return fp8_values(arch)[codes]


def normal(step: EngineStep, part: int, shape: tuple[int, ...]) -> np.ndarray:
    """float32 of a normal distribution.

    Args:
        part: 0 for the cache, 1 + request for the rows of a query.
    """
    return np.random.default_rng([step.data_seed, part]).standard_normal(shape, np.float32)


def query(
    step: EngineStep, order: Sequence[int], width: int, dtype: str = "bf16"
) -> np.ndarray:
    """(rows, heads, width) bits: rows of these requests, in this order."""
    return np.concatenate([
        bits(normal(step, 1 + request, (step.query_lens[request], step.heads, width)), dtype,
             step.arch) for request in order])


def cache(
    step: EngineStep, dtype: str, width: tuple[int, ...] = (WIDTH,), parts: tuple[int, ...] = ()
) -> np.ndarray:
    """(*parts, slots, *width) bits. A slot that no request owns is NaN. Requests may share blocks,
    so a token's value belongs to its slot."""
    owned = step.owned_slots
    made = np.full((*parts, step.pool_blocks * step.block_size, *width),
                   _NAN["bf16"] if dtype == "bf16" else _NAN[step.arch],
                   np.uint16 if dtype == "bf16" else np.uint8)
    where: tuple[Any, ...] = (*[slice(None)] * len(parts), owned)
    made[where] = bits(normal(step, 0, (*parts, owned.size, *width)), dtype, step.arch)
    return made
