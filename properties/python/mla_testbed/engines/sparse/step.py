"""SparseStep: a decode step in which each row attends to a selection of its keys."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from ..line import CaseLine
from ..step import EngineStep, steps_of

#: How many keys a row selects at most: multiples of 128, as vLLM's kernel asks. 2,048 is
#: DeepSeek-V3.2's number.
TOPKS = (128, 256, 512, 2048)
#: In a selection: a place without a key.
NONE = -1


@dataclasses.dataclass(frozen=True)
class SparseStep(EngineStep):
    """One step of sparse MLA. Its rows are those of its requests, one request after the other.

    Attributes:
        topk: most keys of a row. A row that sees fewer has all of them.
        layers: layers whose blocks lie between two blocks of this one's cache, this one included.
        chosen: the keys of each row that an engine's indexer selected; None: they are drawn.
    """

    topk: int
    layers: int
    chosen: tuple[np.ndarray, ...] | None = None

    @property
    def coin(self) -> int:
        """0 or 1: the seed's bits below say how many keys a row selects, and of how many layers."""
        return self.data_seed // (2 * len(TOPKS)) % 2

    @property
    def owners(self) -> np.ndarray:
        """(rows,) the request of each row."""
        return np.repeat(np.arange(self.requests), self.query_lens)

    @functools.cached_property
    def visible(self) -> np.ndarray:
        """(rows,) how many keys each row sees: its request's up to its own."""
        return np.concatenate([
            np.arange(keys - rows, keys) + 1
            for rows, keys in zip(self.query_lens, self.seq_lens, strict=True)])

    @property
    def counts(self) -> np.ndarray:
        """(rows,) how many keys each row attends to."""
        return np.minimum(self.visible, self.topk)

    @functools.cached_property
    def selected(self) -> tuple[np.ndarray, ...]:
        """The keys of each row, positions in their request. Drawn ones are in random order, and the
        last key that a row sees is one of them."""
        if self.chosen is not None:
            return self.chosen
        made = []
        for row, (visible, count) in enumerate(zip(self.visible, self.counts, strict=True)):
            draw = np.random.default_rng([self.data_seed, self.number, row])
            others = draw.choice(visible - 1, count - 1, replace=False)
            made.append(draw.permutation(np.append(others, visible - 1)).astype(np.int32))
        return tuple(made)

    def selection(self, first: int, rows: int) -> np.ndarray:
        """(rows, topk) int32 as an indexer leaves it: NONE after the last key of a row, and all of
        a row that is padding."""
        made = np.full((rows, self.topk), NONE, np.int32)
        for place, keys in enumerate(self.selected[first:first + rows]):
            made[place, :keys.size] = keys
        return made

    @property
    def block_stride(self) -> int:
        """Rows of the cache from one block of this layer to its next."""
        return self.block_size * self.layers

    def cache_rows(self, request: int) -> np.ndarray:
        """(keys,) int64: where the keys of a request lie, in rows of the flat cache."""
        slots = self.token_slots(request)
        return slots // self.block_size * self.block_stride + slots % self.block_size

    @property
    def pool_rows(self) -> int:
        """Rows of the flat cache; it ends with this layer's last block."""
        return (self.pool_blocks - 1) * self.block_stride + self.block_size

    def as_rows(self) -> EngineStep:
        """A dense step that asks as much of a planner: each row is a request of its selected keys.
        It has no cache."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(EngineStep)}
        fields.update(query_lens=(1,) * len(self.owners), block_tables=(),
                      seq_lens=tuple(int(count) for count in self.counts))
        return EngineStep(**fields)


def model_of(line: CaseLine) -> tuple[int, int]:
    """topk and layers of a case: its seed draws them."""
    seed = int(line["data"].rpartition(".")[2])
    return TOPKS[seed % len(TOPKS)], 1 + seed // len(TOPKS) % 2


def with_one_layer(line: CaseLine) -> CaseLine:
    """A case of two layers with the nearest seed that has one, and as many selected keys."""
    kind, _, seed = line["data"].rpartition(".")
    return CaseLine.parse(str(line.with_fields(data=f"{kind}.{int(seed) - len(TOPKS)}")))


def sparse_steps_of(case: str) -> tuple[SparseStep, ...]:
    """The steps of a case of kind decode.

    Raises:
        UsageError: as steps_of.
    """
    topk, layers = model_of(CaseLine.parse(case))
    return tuple(SparseStep(**vars(step), topk=topk, layers=layers) for step in steps_of(case))
