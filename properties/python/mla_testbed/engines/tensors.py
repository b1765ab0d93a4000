"""Queries and caches of a step, as bits of their dtypes."""

from __future__ import annotations

import functools

import numpy as np

from .step import EngineStep

WIDTH, VALUES = 576, 512
_NAN = {"bf16": 0x7FC0, "gfx942": 0x80, "gfx950": 0x7F}


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


def query(step: EngineStep, requests: tuple[int, ...]) -> np.ndarray:
    """(rows, heads, 576) bits: rows of these requests, in this order."""
    parts = [_normal(step, 1 + request, (step.query_lens[request], step.heads, WIDTH))
             for request in requests]
    return bits(np.concatenate(parts), step.dtype_q, step.arch)


def cache(step: EngineStep) -> np.ndarray:
    """(slots, 576) bits; a slot that no request owns is NaN."""
    owned = np.unique(np.concatenate([step.token_slots(i) for i in range(step.requests)]))
    nan = _NAN["bf16"] if step.dtype_kv == "bf16" else _NAN[step.arch]
    made = np.full((step.pool_blocks * step.block_size, WIDTH), nan,
                   np.uint16 if step.dtype_kv == "bf16" else np.uint8)
    made[owned] = bits(_normal(step, 0, (owned.size, WIDTH)), step.dtype_kv, step.arch)
    return made


def _normal(step: EngineStep, part: int, shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng([step.data_seed, part]).standard_normal(shape, np.float32)
