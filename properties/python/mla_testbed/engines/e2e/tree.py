"""The ranks of one scenario, each a process that serves its share of the requests.

Ranks are forks of one process that has imported the engine. Each has a world of its own; gloo
connects them. What each found is one result in the end.
"""

from __future__ import annotations

import ctypes
import dataclasses
import os
import pathlib
import signal
import socket
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable

from ...errors import MlaError
from ..findings import FAIL, INCONCLUSIVE, PASS
from .board import Board, Place, when
from .collectives import LEFT, Collectives, RanksDifferError
from .judged import Result
from .prompts import Asked
from .scenario import Scenario

#: Seconds after which ranks that wait, with none that computes, are taken to wait for ever.
PATIENCE = 20.0
_PARENT_DEATH = 1  # PR_SET_PDEATHSIG of Linux


@dataclasses.dataclass(frozen=True)
class Rank:
    """One rank of a tree.

    Attributes:
        number, of: which one of how many. port: of 127.0.0.1, free, for the group of all.
        collectives: what it says to the others.
    """

    number: int
    of: int
    port: int
    collectives: Collectives

    def arrives(self, scenario: Scenario) -> int:
        """Turns of the scheduler's loop before the rank's requests come: the other ranks are ahead,
        so that each one is without requests at some time."""
        return self.number * max(scenario.tokens // 2, 1)


def share(asked: Asked, rank: int, ranks: int) -> Asked:
    """The requests of a rank: every `ranks`-th one."""
    return dataclasses.replace(asked, prompts=asked.prompts[rank::ranks],
                               expected=asked.expected[rank::ranks])


def serve(scenario: Scenario, result: Result, body: Callable[[Rank, Result], None]) -> None:
    """Forks the ranks, waits for them, and puts together what they found.

    Args:
        body: serves one rank, in its process.
    """
    ranks, port = scenario.processes, _free_port()
    board = Board(ranks)
    with tempfile.TemporaryDirectory(prefix="mla-testbed-e2e-") as folder:
        paths = [pathlib.Path(folder) / str(number) for number in range(ranks)]
        children = {}
        for number, path in enumerate(paths):
            child = os.fork()
            if child == 0:
                _rank(str(scenario), Rank(number, ranks, port, Collectives(board, number)), path,
                      body)
            children[number] = child
        stuck = _wait(children, board)
        found = [Result.read(path) if path.is_file() else None for path in paths]
    together(scenario, result, found, stuck)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _rank(scenario: str, rank: Rank, path: pathlib.Path, body: Callable[[Rank, Result], None]
          ) -> None:
    result = Result(scenario)
    # A rank that waits for another would outlive a process that was killed after its time.
    ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)
    try:
        body(rank, result)
    except RanksDifferError as e:
        traceback.print_exc()
        result.found(str(e))
    except (ImportError, MlaError) as e:
        traceback.print_exc()
        result.unknown(f"{type(e).__name__}: {e}")
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    result.write(path)
    os._exit(0)  # not what the process that it is a copy of would do at its end


def _wait(children: dict[int, int], board: Board) -> list[str]:
    """Waits for all; ends those that wait for one which never comes, and says so of each."""
    left, stuck = dict(children), list[str]()
    while left:
        for number, child in list(left.items()):
            if os.waitpid(child, os.WNOHANG)[0]:
                del left[number]
        places = {number: board.place(number) for number in left}
        if left and all(_waits(place) for place in places.values()) and (
                len(left) < len(children) or _differ(places.values())):
            for number, place in places.items():
                stuck.append(f"rank {number} waits in {place.what} {when(place.step)}; "
                             + _elsewhere(number, children, left, places))
            for child in left.values():
                os.kill(child, signal.SIGKILL)
            for child in left.values():
                os.waitpid(child, 0)
            left.clear()
        time.sleep(0.1)
    return stuck


def _waits(place: Place) -> bool:
    return place.call > 0 and time.monotonic() - place.since > PATIENCE


def _differ(places: Iterable[Place]) -> bool:
    return len({place.what for place in places}) > 1


def _elsewhere(number: int, children: dict[int, int], left: dict[int, int],
               places: dict[int, Place]) -> str:
    """Where the others are."""
    said = [f"rank {other} waits in {places[other].what} {when(places[other].step)}"
            if other in left else f"rank {other} has ended"
            for other in children if other != number]
    return ", ".join(said)


def together(scenario: Scenario, result: Result, found: list[Result | None], stuck: list[str]
             ) -> None:
    """One result of all ranks. A rank without a result did not pass."""
    results = [one for one in found if one is not None]
    for counted in results:
        _add(result, counted)
    if scenario.ranks > 1:
        result.idle = [sum(one.idle) for one in results]
    for number, one in enumerate(found):
        if one is not None:
            result.findings += [f"rank {number}: {sentence}" for sentence in one.findings]
            if one.fault is not None and result.fault is None:
                result.fault = {**one.fault, "rank": number}
    alone = [one for one in results if any(LEFT in sentence for sentence in one.findings)]
    if alone and all(one in alone or one.verdict == PASS for one in results):
        alone[0].verdict = FAIL  # the other ended well, so it is the engine that left it alone
    verdicts = {one.verdict for one in results}
    result.verdict = (FAIL if FAIL in verdicts else
                      INCONCLUSIVE if verdicts != {PASS} else PASS)
    for sentence in stuck:
        result.found(f"a collective that not all ranks reach: {sentence}")
    missing = [str(number) for number, of_rank in enumerate(found) if of_rank is None]
    if missing and not stuck:
        result.unknown(f"the process of rank {', '.join(missing)} ended without a result")
    if scenario.ranks > 1 and result.verdict == PASS and not any(result.idle):
        result.unknown("no rank was without requests in a step; expected idle steps of some rank")


def _add(result: Result, one: Result) -> None:
    """What one rank counted, to that of the others."""
    for name in ("engine", "version", "aiter", "ported", "margin", "allowed"):
        setattr(result, name, getattr(one, name))
    result.own += [line for line in one.own if line not in result.own]
    result.answers += one.answers
    for name in ("tokens", "equal", "steps", "replayed", "cached", "lists", "drafts", "accepted",
                 "drafted"):
        setattr(result, name, getattr(result, name) + getattr(one, name))
    result.regret = max(result.regret, one.regret)
    for name, share_of in one.worst.items():
        result.worst[name] = max(result.worst.get(name, 0.0), share_of)
    for name, count in one.stand_ins.items():
        result.stand_ins[name] = result.stand_ins.get(name, 0) + count
    for name, seconds in one.seconds.items():
        result.seconds[name] = max(result.seconds.get(name, 0.0), seconds)
