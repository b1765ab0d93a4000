"""Inputs: the tables, keys, queries and caches that a case stands for."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from . import rows
from .case import KEY, Case
from .numbers import ENCODINGS, Fp8, of_bf16, rounded_bf16, to_bf16

#: Blocks that no request has. The first of them is block 0, which engines keep free.
_SPARE = 3
#: Different keys, and rows of the cache that is attended, that a case has at most.
_POOL = 1 << 15
#: Bits of a bf16 NaN.
_NAN = 0x7FA5


@dataclasses.dataclass(frozen=True)
class Inputs:
    """Everything but the results of a stage. Rows are query rows, request after request.

    Attributes:
        case: what it was made of.
        tables: (requests, width) int32: block of each logical block. Entries after the last one
            name blocks of other requests, as stale entries do.
        owners, visible: (rows,) request of each row, and how many keys it sees.
    """

    case: Case
    tables: np.ndarray
    owners: np.ndarray
    visible: np.ndarray
    blocks: int

    @property
    def encoding(self) -> Fp8:
        """Of indexer queries and keys."""
        return ENCODINGS[self.case.fp8]

    @property
    def lengths(self) -> np.ndarray:
        """(requests,) keys of each."""
        return np.array([keys for _, keys in self.case.requests])

    @property
    def starts(self) -> np.ndarray:
        """(requests + 1,) running sum of query rows."""
        return np.cumsum([0, *(rows for rows, _ in self.case.requests)])

    @property
    def key_starts(self) -> np.ndarray:
        """(requests + 1,) running sum of keys."""
        return np.cumsum([0, *self.lengths])

    @property
    def softmax_scale(self) -> float:
        """Of the attention."""
        return float(self.case.row_width ** -0.5)

    def slots(self, request: int) -> np.ndarray:
        """(keys,) int64: the slot of each key of a request, block * tokens of a block + offset."""
        at = np.arange(self.lengths[request])
        block = self.case.block
        slots: np.ndarray = self.tables[request, at // block].astype(np.int64) * block + at % block
        return slots

    @functools.cached_property
    def slot_mapping(self) -> np.ndarray:
        """(tokens,) int64: where the writer puts each token; -1 for padding. Each slot once."""
        used = [self.slots(request)[0 if request == 0 else self.case.shared:]
                for request in range(len(self.case.requests))]
        draw = self._draw(1)
        slots = draw.permutation(np.concatenate(used))
        padding = draw.integers(0, slots.size + 1, 1 + self.case.pad)
        made: np.ndarray = np.insert(slots, padding, -1)
        return made

    @functools.cached_property
    def keys(self) -> np.ndarray:
        """(tokens, KEY) float32, numbers of bf16: the indexer keys, in order of slot_mapping."""
        return self.keys_of(np.arange(self.slot_mapping.size))

    def keys_of(self, tokens: np.ndarray) -> np.ndarray:
        """(tokens, KEY) float32: the keys of some tokens, without making all of them."""
        made: np.ndarray = self._pool_of_keys[tokens % len(self._pool_of_keys)]
        return made

    def different_keys(self) -> tuple[np.ndarray, np.ndarray]:
        """(different, KEY) float32, and (tokens,) which of them each token has."""
        if "keys" in self.__dict__:
            return self.keys, np.arange(len(self.keys))
        return self._pool_of_keys, np.arange(self.slot_mapping.size) % len(self._pool_of_keys)

    @functools.cached_property
    def _pool_of_keys(self) -> np.ndarray:
        """(tokens, KEY): of many tokens the first ones, which repeat."""
        count, draw = min(self.slot_mapping.size, _POOL), self._draw(2)
        made = draw.standard_normal((count, KEY))
        if self.case.data in ("ties", "equal"):
            kinds = draw.standard_normal((1 if self.case.data == "equal" else 4, KEY))
            made = kinds[draw.integers(0, len(kinds), count)]
        elif self.case.data == "wide":
            made *= 2.0 ** draw.integers(-12, 13, (count, 1))
        elif self.case.data == "zero":
            made[:] = 0
        return rounded_bf16(made)

    @functools.cached_property
    def q(self) -> np.ndarray:
        """(rows, heads, KEY) uint8: the indexer queries."""
        made = self._draw(3).standard_normal((self.case.rows, self.case.heads, KEY))
        return self.encoding.encode(made * self.encoding.most / 8)

    @functools.cached_property
    def weights(self) -> np.ndarray:
        """(rows, heads) float32: with the scale of the query in them."""
        made = self._draw(4).standard_normal((self.case.rows, self.case.heads))
        return (made / 64).astype(np.float32)

    @functools.cached_property
    def latent(self) -> np.ndarray:
        """(slots, row width) uint16: the cache that is attended, in bf16; what goes into a packed
        one. Slots that no request has are NaN."""
        made = np.full((self.blocks * self.case.block, self.case.row_width), _NAN, np.uint16)
        pool = self._pool_of_rows
        made[self.live] = pool[np.arange(self.live.size) % len(pool)]
        return made

    @functools.cached_property
    def _pool_of_rows(self) -> np.ndarray:
        """(tokens, row width) uint16: of many tokens the first ones, which repeat."""
        count, draw = min(self.live.size, _POOL), self._draw(5)
        values = draw.standard_normal((count, self.case.row_width))
        if self.case.cache != "bf16" and self.case.data in ("wide", "zero"):
            tiles = rows.tiles_of(self.case, values)
            size = (2.0 ** draw.integers(-18, 3, (*tiles.shape[:2], 1))
                    if self.case.data == "wide" else 0)
            values[:, :self.case.width[0]] = (tiles * size).reshape(
                count, self.case.width[0])
        return to_bf16(values)

    @functools.cached_property
    def live(self) -> np.ndarray:
        """(tokens,) int64: the slots of all tokens, in order."""
        made: np.ndarray = np.sort(self.slot_mapping[self.slot_mapping >= 0])
        return made

    def latent_rows(self, slots: np.ndarray) -> np.ndarray:
        """(slots, row width) uint16: those rows of `latent`, without making all of it."""
        if "latent" in self.__dict__ or not self.live.size:
            made: np.ndarray = self.latent[slots]
            return made
        at = np.minimum(np.searchsorted(self.live, slots), self.live.size - 1)
        made = self._pool_of_rows[at % len(self._pool_of_rows)]
        made[self.live[at] != slots] = _NAN
        return made

    @functools.cached_property
    def packed(self) -> np.ndarray:
        """(bytes,) uint8: the packed cache with all tokens; everything else is NaN."""
        made = rows.empty(self.case, self.blocks * self.case.block)
        rows.store(self.case, made, self.live, self.latent[self.live])
        return made

    def attended_rows(self, slots: np.ndarray) -> np.ndarray:
        """(slots, row width) float64: what attention reads of them."""
        if self.case.cache == "bf16":
            return of_bf16(self.latent_rows(slots)).astype(np.float64)
        return rows.read(self.case, self.packed, slots)

    @functools.cached_property
    def query(self) -> np.ndarray:
        """(rows, qheads, row width) uint16: the queries of the attention, in bf16."""
        shape = (self.case.rows, self.case.qheads, self.case.row_width)
        return to_bf16(2 * self._draw(6).standard_normal(shape))

    def noise(self, count: int) -> np.ndarray:
        """(count,) uint8: what lies in memory that nobody wrote."""
        return self._draw(7).integers(0, 256, count, np.uint8)

    def _draw(self, what: int) -> np.random.Generator:
        return np.random.default_rng([self.case.seed, what])


def inputs_of(case: Case) -> Inputs:
    """The inputs of a case: the same for the same line."""
    draw = np.random.default_rng([case.seed, 0])
    counts = [-(-keys // case.block) for _, keys in case.requests]
    common = case.shared // case.block
    own = [count - (common if number else 0) for number, count in enumerate(counts)]
    blocks = sum(own) + _SPARE
    ids = 1 + draw.permutation(blocks - 1)
    tables = np.empty((len(counts), max(*counts, 1) + 1), np.int32)
    tables[:] = draw.choice(ids, tables.shape)
    at = 0
    for number, count in enumerate(counts):
        first = common if number else 0
        tables[number, :first] = tables[0, :first]
        tables[number, first:count] = ids[at:at + own[number]]
        at += own[number]
    visible = [np.arange(keys - rows, keys) + 1 for rows, keys in case.requests]
    owners = np.repeat(np.arange(len(counts)), [rows for rows, _ in case.requests])
    return Inputs(case, tables, owners, np.concatenate(visible), blocks)
