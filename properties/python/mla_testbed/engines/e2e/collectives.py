"""torch.distributed between processes that emulate a device each: gloo moves the bytes.

A collective over tensors of the device is one kernel: the host does not wait for it, and a graph
records it. Before each one the ranks tell each other which one it is. Ranks that call other
collectives, or with other shapes, end in a sentence and not in bytes that mean something else.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from ... import world
from ...errors import FaultError
from ...world import notes
from .board import Board, when

#: Functions of torch.distributed that engines call.
NAMES = ("all_reduce", "all_gather", "all_gather_into_tensor", "reduce_scatter",
         "reduce_scatter_tensor", "broadcast", "barrier", "all_to_all_single")
_TEXT = 240
LEFT = "left alone in"
_WHEN = re.compile(r" (in its|before its first) step")


class RanksDifferError(FaultError):
    """Ranks are at different collectives."""


class LeftError(FaultError):
    """A rank ended, and this one waits for it."""


class Done:
    """The handle of a collective that is done."""

    def wait(self, *_: Any) -> bool:
        """It is done."""
        return True

    def is_completed(self) -> bool:
        """It is."""
        return True


class Collectives:
    """The collectives of one rank of a process tree.

    Attributes:
        step: of the runner, from 0; -1: none yet. calls: so far, of each name.
    """

    def __init__(self, board: Board, rank: int) -> None:
        self._board, self._rank = board, rank
        self._counts: dict[str, int] = {}
        self.step = -1
        self.calls: dict[str, int] = {}
        self._gather = torch.distributed.all_gather
        self._reduce = torch.distributed.all_reduce

    def install(self) -> None:
        """Once in a process. Functions that engines imported by name before keep the old ones."""
        for name in NAMES:
            setattr(torch.distributed, name, self.around(name, getattr(torch.distributed, name)))

    def all_done(self, done: bool) -> bool:
        """Whether all ranks say so."""
        with _disable_current_modes(), torch.inference_mode():
            vote = torch.tensor([int(done)])
            self._enter("a vote on whether all ranks are done")
            try:
                self._reduce(vote, op=torch.distributed.ReduceOp.MIN)
            except RuntimeError as e:
                raise LeftError(f"{LEFT} a vote {when(self.step)}: a rank that it waits for "
                                "has ended") from e
            self._leave()
            return bool(vote[0])

    def around(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        """A collective of torch.distributed, or one with a parameter `group`, watched."""
        signature = inspect.signature(real)

        @functools.wraps(real)
        def called(*given: Any, **named: Any) -> Any:
            bound = signature.bind(*given, **named)
            later = bool(bound.arguments.pop("async_op", False))
            tensors = notes.tensors_in(bound.arguments.values(), [])
            run = functools.partial(self._run, name, real, bound, tensors)
            entered = world.active()
            if entered is not None and any(map(world.on_device, tensors)):
                entered.launch(run, tensors)
                return Done() if later else None
            found = run()
            return Done() if later else found

        return called

    def _run(self, name: str, real: Callable[..., Any], bound: inspect.BoundArguments,
             tensors: list[torch.Tensor]) -> Any:
        group = bound.arguments.get("group")
        if torch.distributed.get_world_size(group) > 1:
            self.calls[name] = self.calls.get(name, 0) + 1
        with _disable_current_modes(), torch.inference_mode():
            shapes = ", ".join(f"{list(one.shape)} {str(one.dtype).removeprefix('torch.')}"
                               for one in tensors)
            what = f"{name}({shapes}){_of(group)}"
            self._enter(what)
            try:
                self._same(what, group)
                # gloo knows no float8, and moves bytes as well.
                found = real(**{key: _bytes(value) for key, value in bound.arguments.items()})
            except (RuntimeError, ValueError) as e:
                # torch's own report of a group that it did not make ends in a ValueError.
                if "gloo" not in str(e) + str(e.__context__):
                    raise
                raise LeftError(f"{LEFT} {what} {when(self.step)}: a rank that it waits "
                                "for has ended") from e
            self._leave()
            return found

    def _same(self, what: str, group: Any) -> None:
        """Refuses a collective that another rank of the group is not at."""
        count = torch.distributed.get_world_size(group)
        if count == 1:
            return
        text = f"{what} {when(self.step)}".encode()[:_TEXT].ljust(_TEXT)
        mine = torch.frombuffer(bytearray(text), dtype=torch.uint8)
        all_of = [torch.empty_like(mine) for _ in range(count)]
        self._gather(all_of, mine, group=group)
        said = [bytes(one.tolist()).decode(errors="replace").strip() for one in all_of]
        if len({_WHEN.split(one)[0] for one in said}) > 1:
            both = "; ".join(f"rank {r} calls {one}" for r, one in enumerate(said))
            raise RanksDifferError(f"ranks call different collectives of one group: {both}")

    def _enter(self, what: str) -> None:
        number = self._counts[""] = self._counts.get("", 0) + 1
        self._board.put(self._rank, number, self.step, what)

    def _leave(self) -> None:
        self._board.put(self._rank, 0, self.step, "")


def _of(group: Any) -> str:
    """The group, as far as its engine has named it."""
    name = getattr(group, "group_desc", "")
    return f" of {name}" if name and name != "undefined" else ""


def _bytes(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.view(torch.uint8) if "float8" in str(value.dtype) else value
    if isinstance(value, list):
        return [_bytes(one) for one in value]
    return value
