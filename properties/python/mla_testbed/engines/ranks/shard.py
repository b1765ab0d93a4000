"""Which keys of a context each of several ranks holds, and where in its cache."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..step import EngineStep


@dataclasses.dataclass(frozen=True)
class Shard:
    """A deal: position p of a context is with rank (p // interleave) % world.

    All ranks have one block table. An entry of it stands for block_size * world positions, of which
    each rank keeps block_size, in order.

    Attributes:
        world: how many ranks. interleave: positions, one after the other, of one rank.
    """

    world: int
    interleave: int = 1

    def owners(self, keys: int) -> np.ndarray:
        """(keys,) the rank of each position."""
        return np.arange(keys) // self.interleave % self.world

    def length(self, keys: int, rank: int) -> int:
        """How many of the first `keys` positions a rank holds."""
        return int((self.owners(keys) == rank).sum())

    def seen(self, step: EngineStep, request: int, rank: int) -> np.ndarray:
        """(rows,) of each row of a request, how many keys of this rank it sees. They are the first
        ones: a row sees the positions up to its own, and then the deal is applied."""
        first = step.context(request) + 1
        return np.array([self.length(first + row, rank)
                         for row in range(step.query_lens[request])])

    def whole(self, step: EngineStep) -> EngineStep:
        """The step as one device with the blocks of all ranks would have it: a block holds
        block_size * world positions, so requests need fewer of them."""
        block = step.block_size * self.world
        return dataclasses.replace(
            step, block_size=block, block_tables=tuple(
                table[:-(-keys // block)]
                for table, keys in zip(step.block_tables, step.seq_lens, strict=True)))

    def share(self, step: EngineStep, rank: int) -> EngineStep:
        """The step as a rank has it: the same rows and tables, and its own keys."""
        return dataclasses.replace(
            step, block_tables=self.whole(step).block_tables,
            seq_lens=tuple(self.length(keys, rank) for keys in step.seq_lens))

    def gathered(self, step: EngineStep) -> EngineStep:
        """`whole` with the heads of all ranks: what their attention amounts to together."""
        return dataclasses.replace(self.whole(step), heads=step.heads * self.world)

    def cache(self, step: EngineStep, whole: np.ndarray, rank: int) -> np.ndarray:
        """The cache of a rank.

        Args:
            whole: (slots, width) as `whole` has it, where the places of a block are its positions.

        Returns:
            (slots / world, width).
        """
        runs = whole.reshape(step.pool_blocks, step.block_size // self.interleave, self.world,
                             self.interleave, -1)
        return np.ascontiguousarray(runs[:, :, rank]).reshape(-1, whole.shape[-1])

    def position_slots(self, step: EngineStep, slots: np.ndarray, rank: int) -> np.ndarray:
        """Slots of a rank's cache, as slots of `whole`."""
        block, place = slots // step.block_size, slots % step.block_size
        turn, run = place // self.interleave, place % self.interleave
        wide = (turn * self.world + rank) * self.interleave + run
        found: np.ndarray = block * (step.block_size * self.world) + wide
        return found
