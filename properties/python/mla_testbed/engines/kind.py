"""What a kind of steps is: everything between a case and its findings that is not the same for all
kinds (docs/adr/0009-a-kind-of-steps.md)."""

from __future__ import annotations

import abc
import json
import pathlib
import zlib
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from .findings import Finding
from .line import CaseLine
from .step import EngineStep, Step


class Planned(Protocol):
    """What an engine built: whether a plan is part of it."""

    @property
    def planned(self) -> bool:
        """Of the step's own kind: a decode plan, or a list of chunks."""


Built = TypeVar("Built", bound=Planned)
#: Numbers and arrays by name.
Contents = tuple[Mapping[str, Any], Mapping[str, np.ndarray]]
#: Words of one array that are told one by one.
MOST_WORDS = 4096


class Kind(abc.ABC, Generic[Step, Built]):
    """One kind of steps. It has no state; judge.py calls it in the order of these methods.

    Attributes:
        name: what --kind takes.
        adapters: "module:class" of the engines that we have one for; imported in the worker only.
        fields: those of a case line that only this kind has.
        in_cases: whether a case line can have it as its kind.
    """

    name: ClassVar[str]
    adapters: ClassVar[Mapping[str, str]]
    fields: ClassVar[tuple[str, ...]] = ()
    in_cases: ClassVar[bool] = True

    def drawn(self, case: str) -> str | None:
        """A drawn case for this kind, or None where it is of another one."""
        return case if CaseLine.parse(case)["kind"] == self.name else None

    @abc.abstractmethod
    def adapt(self, line: CaseLine, arch: str | None = None) -> CaseLine:
        """The nearest case that any engine can be asked to run.

        Args:
            arch: replaces the case's.

        Raises:
            UsageError: there is none.
        """

    @abc.abstractmethod
    def steps(self, case: str) -> tuple[Step, ...]:
        """The steps of an adapted case; UsageError: an engine cannot be asked for them."""

    def refuses(self, engine: Any, step: Step) -> str | None:
        """Why the engine, by its own rules, does not take a step."""
        return None

    @abc.abstractmethod
    def facts(self, step: Step, built: Built | None) -> dict[str, Any]:
        """What ledgers put conditions on."""

    def for_graph(self, built: Built) -> bool:
        """Whether a step that was built for a replay is one of a graph."""
        return True

    @abc.abstractmethod
    def check(self, step: Step, built: Built) -> list[Finding]:
        """Lists and plans that were built, against the batch."""

    @abc.abstractmethod
    def opinions(self, engine: str, step: Step, built: Built) -> list[str]:
        """Where our core decides differently, in one sentence each: it fails nothing."""

    @abc.abstractmethod
    def affordable(self, step: Step, built: Built) -> bool:
        """Whether there is something to attend, in about two seconds with its reference."""

    @abc.abstractmethod
    def attend(self, engine: Any, step: Step, built: Built) -> list[Finding]:
        """P05: every element of the engine's own forward is within its bound of the reference."""

    @abc.abstractmethod
    def contents(self, built: Built) -> Contents:
        """What a build after other steps has in common with one on fresh buffers."""

    def words(self, built: Built) -> dict[str, list[Any]]:
        """What two versions of an engine are compared by: numbers, and words of lists and plans."""
        return words_of(self.contents(built))

    def differences(self, step: Step, used: Built, fresh: Built) -> list[Finding]:
        """P03: the last step on a fresh builder, and what it gave after other steps."""
        return stale(step, self.contents(used), self.contents(fresh))

    @abc.abstractmethod
    def save(self, folder: pathlib.Path, case: str, step: Step, built: Built) -> None:
        """Puts a step that failed into the folder of bundles."""


def words_of(
    contents: Contents,
    live: Callable[[str, np.ndarray], np.ndarray | bool] = lambda _name, _array: True,
) -> dict[str, list[Any]]:
    """Numbers and arrays as lists of words. A word that means nothing is None, and none at the end.

    Of a long array the words after the first MOST_WORDS are one word, their sum.

    Args:
        live: of an array, which elements mean something.
    """
    numbers, arrays = contents
    out = {name: list(value) if isinstance(value, (list, tuple)) else [value]
           for name, value in numbers.items() if name != "name"}
    for name, array in arrays.items():
        means = np.broadcast_to(live(name, array), array.shape).reshape(-1)
        flat = array.reshape(-1)[:int(np.flatnonzero(means)[-1]) + 1 if means.any() else 0]
        words = [word if meant else None
                 for word, meant in zip(flat.tolist(), means.tolist(), strict=False)]
        out[name] = words[:MOST_WORDS]
        if len(words) > MOST_WORDS:
            rest = json.dumps(words[MOST_WORDS:]).encode()
            out[f"{name} after {MOST_WORDS} words"] = [len(words), zlib.crc32(rest)]
    return out


def stale(
    step: EngineStep, used: Contents, fresh: Contents,
    live: Callable[[str, np.ndarray], np.ndarray | bool] = lambda _name, _array: True,
) -> list[Finding]:
    """P03: numbers and arrays that are others after other steps than on fresh buffers.

    Args:
        live: of an array of the fresh build, which elements mean something.
    """
    for name, meant in fresh[0].items():
        if used[0].get(name) != meant:
            return [Finding("P03", step.number, f"{name} is {used[0].get(name)} after other steps; "
                            f"{meant} on fresh buffers")]
    for name, expected in fresh[1].items():
        found = used[1].get(name)
        if found is None or found.shape != expected.shape:
            shape = "nothing" if found is None else f"shape {found.shape}"
            return [Finding("P03", step.number, f"{name} has {shape} after other steps; "
                            f"{expected.shape} on fresh buffers")]
        wrong = np.flatnonzero((live(name, expected) & (found != expected)).reshape(-1))
        if wrong.size:
            at = int(wrong[0])
            return [Finding("P03", step.number, f"{name}[{at}] is {found.reshape(-1)[at]} after "
                            f"other steps; {expected.reshape(-1)[at]} on fresh buffers")]
    return []


def write_metadata(folder: pathlib.Path, case: str, contents: Contents, **more: Any) -> None:
    """Puts what was built, and no plan, into metadata.json of a folder that is made for it."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers, lists = contents
    text = json.dumps({"case": case, **more, "numbers": numbers,
                       "lists": {name: array.tolist() for name, array in lists.items()}})
    (folder / "metadata.json").write_text(text + "\n", encoding="utf-8")
