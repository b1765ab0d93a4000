"""Numbers of eight and sixteen bits as the chain stores them: e4m3 in both encodings, and bf16."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

#: Unit roundoffs: of f32, and of bf16.
U32, UBF16 = 2.0 ** -24, 2.0 ** -8


def gamma(count: int) -> float:
    """Bounds `count` successive roundings in f32 (Higham, lemma 3.1)."""
    return count * U32 / (1 - count * U32)


@dataclasses.dataclass(frozen=True)
class Fp8:
    """An encoding of e4m3.

    Attributes:
        name: "fnuz" (gfx942) or "ocp" (gfx950).
        bias: of the exponent.
        most: the largest finite value.
        nan: the bytes that are no number.
    """

    name: str
    bias: int
    most: float
    nan: tuple[int, ...]

    @functools.cached_property
    def values(self) -> np.ndarray:
        """(256,) float64: what each byte is; NaN where it is no number."""
        made = np.empty(256)
        for byte in range(256):
            sign, exponent, fraction = -1 if byte & 0x80 else 1, byte >> 3 & 15, byte & 7
            power = (exponent or 1) - self.bias
            made[byte] = sign * (fraction / 8 + bool(exponent)) * 2.0 ** power
        made[list(self.nan)] = np.nan
        return made

    @functools.cached_property
    def _finite(self) -> tuple[np.ndarray, np.ndarray]:
        """The magnitudes in order, and their bytes. Bytes of positive numbers are in order."""
        codes = np.array([code for code in range(128) if code not in self.nan], np.uint8)
        return self.values[codes], codes

    def decode(self, codes: np.ndarray) -> np.ndarray:
        """float64 of bytes."""
        made: np.ndarray = self.values[codes]
        return made

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Bytes of the nearest numbers, ties to even, saturated; -0 is 0 where there is none."""
        magnitudes, codes = self._finite
        size = np.abs(np.asarray(values, np.float64))
        above = np.clip(np.searchsorted(magnitudes, size), 1, len(magnitudes) - 1)
        low, high = size - magnitudes[above - 1], magnitudes[above] - size
        even = codes[above] % 2 == 0
        up = (high < low) | ((high == low) & even)
        made = np.where(up, codes[above], codes[above - 1])
        signed = np.signbit(values) & ((made != 0) | (self.name == "ocp"))
        coded: np.ndarray = np.where(signed, made | 0x80, made).astype(np.uint8)
        return coded


FNUZ = Fp8("fnuz", 8, 240.0, (0x80,))
OCP = Fp8("ocp", 7, 448.0, (0x7F, 0xFF))
ENCODINGS = {"fnuz": FNUZ, "ocp": OCP}


def to_bf16(values: np.ndarray) -> np.ndarray:
    """uint16: the bits of the nearest bf16, ties to even. Values are finite in float32."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    made: np.ndarray = ((bits + (0x7FFF + (bits >> 16 & 1))) >> 16).astype(np.uint16)
    return made


def of_bf16(bits: np.ndarray) -> np.ndarray:
    """float32 of bf16."""
    made: np.ndarray = (bits.astype(np.uint32) << 16).view(np.float32)
    return made


def rounded_bf16(values: np.ndarray) -> np.ndarray:
    """float32: each value rounded to bf16."""
    return of_bf16(to_bf16(values))
