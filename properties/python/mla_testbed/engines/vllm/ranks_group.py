"""A group of ranks in one process: what each gives to a collective, and what all get of it."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import torch

from ...errors import FaultError

Result = TypeVar("Result")


class Waits(BaseException):
    """A rank is at a collective to which another has given nothing yet. No engine catches it."""


class Exchange:
    """What ranks gave to the collectives of one piece of work."""

    def __init__(self, world: int) -> None:
        self.world = world
        self._given: list[dict[int, tuple[str, torch.Tensor]]] = []
        self._next: dict[int, int] = {}

    def together(self, bodies: list[Callable[[], Result]]) -> list[Result]:
        """Calls the function of each rank, in the order of ranks, until all have returned.

        One that has to wait for another rank is left, and called again from its start. So each has
        to give the same in every call, and to change nothing that it does not make itself.

        Raises:
            FaultError: ranks call other collectives, or with other shapes; some never come.
        """
        self._given = []
        done: dict[int, Result] = {}
        while len(done) < self.world:
            before = self._progress(done)
            for rank, body in enumerate(bodies):
                self._next[rank] = 0
                if rank not in done:
                    with contextlib.suppress(Waits):
                        done[rank] = body()
            if self._progress(done) == before:
                missing = [r for r in range(self.world) if r not in self._given[-1]]
                raise FaultError(f"ranks {missing} have returned; the others wait for their "
                                 f"collective {len(self._given)}")
        return [done[rank] for rank in range(self.world)]

    def _progress(self, done: dict[int, Any]) -> tuple[int, int]:
        return len(done), sum(map(len, self._given))

    def give(self, rank: int, name: str, tensor: torch.Tensor) -> list[torch.Tensor]:
        """What each rank gave to the next collective of this one."""
        at = self._next[rank]
        self._next[rank] = at + 1
        if at == len(self._given):
            self._given.append({})
        given = self._given[at]
        if rank not in given:
            given[rank] = name, tensor.clone()
        if len(given) < self.world:
            raise Waits
        for other, (called, part) in given.items():
            ours, mine = given[0]
            if (called, part.shape, part.dtype) != (ours, mine.shape, mine.dtype):
                raise FaultError(
                    f"collective {at}: rank 0 calls {ours} with {tuple(mine.shape)} {mine.dtype}, "
                    f"rank {other} {called} with {tuple(part.shape)} {part.dtype}")
        return [given[other][1] for other in range(self.world)]


class Group:
    """One rank's view of the group: what vLLM's GroupCoordinator has and DCP asks for."""

    def __init__(self, exchange: Exchange, rank: int) -> None:
        self.world_size, self.rank_in_group = exchange.world, rank
        self.device_group = self
        self.cpu_group = None
        self._exchange = exchange

    def all_gather(self, tensor: torch.Tensor, dim: int = -1) -> torch.Tensor:
        """The parts of all ranks, in their order, along a dimension."""
        parts = self._exchange.give(self.rank_in_group, f"all_gather along {dim}", tensor)
        return torch.cat([part.view(torch.uint8) if part.dtype.itemsize == 1 else part
                          for part in parts], dim).view(tensor.dtype)

    def reduce_scatter(self, tensor: torch.Tensor, dim: int = -1) -> torch.Tensor:
        """The rank's part, along a dimension, of the sum of all ranks in the tensor's dtype."""
        parts = self._exchange.give(self.rank_in_group, f"reduce_scatter along {dim}", tensor)
        total = functools.reduce(torch.add, parts)
        return total.chunk(self.world_size, dim)[self.rank_in_group].contiguous()

    def all_to_all(self, output: torch.Tensor, given: torch.Tensor) -> None:
        """Part k of the output is what rank k has for this one."""
        parts = self._exchange.give(self.rank_in_group, "all_to_all_single", given)
        output.copy_(torch.cat([part.chunk(self.world_size)[self.rank_in_group]
                                for part in parts]))


class _Done:
    """The work of a collective that is complete."""

    def wait(self) -> None:
        """Nothing is left."""


def install() -> None:
    """torch.distributed.all_to_all_single takes a Group; once in a process."""
    original = torch.distributed.all_to_all_single

    @functools.wraps(original)
    def all_to_all_single(output: Any, given: Any, *more: Any, **named: Any) -> Any:
        group = named.get("group")
        if not isinstance(group, Group):
            return original(output, given, *more, **named)
        group.all_to_all(output, given)
        return _Done()

    torch.distributed.all_to_all_single = all_to_all_single
