"""Numbers of eight and sixteen bits as the chain stores them: e4m3 in both encodings, and bf16."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

#: Unit roundoffs: of f32, and of bf16.
U32, UBF16 = 2.0 ** -24, 2.0 ** -8
#: Elements that are encoded at a time: they stay in the processor's cache.
_PART = 1 << 16
#: Multiplications of a product for which OpenBLAS starts no other thread, and the least columns of
#: one. Its threads wait for each other by spinning: on a busy machine they cost more than they do.
_ALONE, _COLUMNS = 1 << 18, 16


def gamma(count: int) -> float:
    """Bounds `count` successive roundings in f32 (Higham, lemma 3.1)."""
    return count * U32 / (1 - count * U32)


def product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """left @ right of two matrices, as products that are small enough for this thread alone.

    As fast as one thread is: numpy calls the same routine for each, and copies nothing.
    """
    (rows, inner), columns = left.shape, right.shape[1]
    if left.size == 0 or columns == 0:
        return np.asarray(left @ right)
    most = max(_ALONE // (rows * _COLUMNS), 1)
    made = np.empty((rows, columns), np.result_type(left, right))
    _side_by_side(left[:, :most], right[:most], made)
    for at in range(most, inner, most):
        more = np.empty_like(made)
        _side_by_side(left[:, at:at + most], right[at:at + most], more)
        made += more
    return made


def _side_by_side(left: np.ndarray, right: np.ndarray, made: np.ndarray) -> None:
    """made = left @ right, some columns at a time."""
    (rows, inner), columns = left.shape, right.shape[1]
    width = max(_ALONE // (rows * inner), 1)
    whole = columns // width * width
    if whole:
        np.matmul(left, right[:, :whole].reshape(inner, -1, width).transpose(1, 0, 2),
                  out=made[:, :whole].reshape(rows, -1, width).transpose(1, 0, 2))
    if whole < columns:
        np.matmul(left, right[:, whole:], out=made[:, whole:])


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

    def decode(self, codes: np.ndarray) -> np.ndarray:
        """float64 of bytes."""
        made: np.ndarray = self.values[codes]
        return made

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Bytes of the nearest numbers, ties to even, saturated; -0 is 0 where there is none."""
        flat = np.ascontiguousarray(values).reshape(-1)
        coded = np.empty(flat.size, np.uint8)
        for begin in range(0, flat.size, _PART):
            coded[begin:begin + _PART] = self._encoded(flat[begin:begin + _PART])
        return coded.reshape(np.shape(values))

    def _encoded(self, values: np.ndarray) -> np.ndarray:
        """A number is a count of steps: eighths of its power of two, which is the least one below.
        Steps and powers make the byte: the next power begins where eight more steps end."""
        size = np.fmin(np.abs(values.astype(np.float64)), self.most)
        power = np.maximum((size.view(np.int64) >> 52) - 1023 + self.bias, 1)
        scaled = (1023 - self.bias - 3 + power) << 52
        steps = np.rint(size / scaled.view(np.float64)).astype(np.int64)
        made = (8 * (power - 1) + steps).astype(np.uint8)
        signed = np.signbit(values) & ((made != 0) | (self.name == "ocp"))
        coded: np.ndarray = made | (signed.astype(np.uint8) << 7)
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
