"""What the builders of all ranks made for a step, and what an adapter of this kind offers."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple, Protocol

import numpy as np

from ..decode.built import Built
from ..engine import Graphs
from ..step import EngineStep
from .shard import Shard


@dataclasses.dataclass(frozen=True)
class Rows:
    """Lists of a route that attends each row by itself, in place of `Built.bundle`.

    Attributes:
        lens: (rows,) keys that each row sees. table: (rows, pages) of each row its pages.
        page_size: tokens of one.
        most: keys of a row up to which the kernel looks.
    """

    lens: np.ndarray
    table: np.ndarray
    page_size: int
    most: int


@dataclasses.dataclass(frozen=True)
class Part:
    """What the builder of one rank made.

    Attributes:
        built: its lists and plan; without a bundle where `rows` is there.
        route: the engine's name for what attends, such as "plain".
        rows: lists by rows.
        global_sums: running sums of whole lengths, for a kernel that masks by positions.
        slots: (rows,) where the new tokens of the step are written, -1 for nowhere.
    """

    built: Built
    route: str = ""
    rows: Rows | None = None
    global_sums: np.ndarray | None = None
    slots: np.ndarray | None = None


@dataclasses.dataclass(frozen=True)
class RankBuilt:
    """What the builders made, in the order of ranks."""

    shard: Shard
    parts: tuple[Part, ...]

    @property
    def planned(self) -> bool:
        """Whether there is a plan on any rank."""
        return any(part.built.planned for part in self.parts)

    @property
    def live(self) -> tuple[int, ...]:
        """The decode requests of the first rank."""
        return self.parts[0].built.live

    @property
    def decodes(self) -> bool:
        """Whether there is anything to attend."""
        return any(part.rows is not None or part.built.bundle is not None for part in self.parts)


class Attended(NamedTuple):
    """out, lse: of each rank (rows, world * heads, 512) and (rows, world * heads), over its keys,
    float32, as its kernel left them. merged: of each rank (rows, heads, 512), over all keys."""

    out: list[np.ndarray]
    lse: list[np.ndarray]
    merged: list[np.ndarray]


class Engine(Graphs[EngineStep, RankBuilt], Protocol):
    """An adapter of kind ranks; see decode.Engine."""

    def refuses(self, step: EngineStep) -> str | None:
        """Why the engine, by its own rules, does not take such a step; None: it takes it."""

    def attend(
        self, step: EngineStep, built: RankBuilt, q: list[np.ndarray], caches: list[np.ndarray]
    ) -> Attended:
        """Gathers the query, attends on each rank, and merges, all with the engine's own code.

        Args:
            q: of each rank (rows, heads, 576) bits. caches: of each rank (slots, 576) bits.
        """

