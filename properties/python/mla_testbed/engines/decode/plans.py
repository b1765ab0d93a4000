"""What dense and sparse decode have in common: a `Built`, with plans that `check` judges."""

from __future__ import annotations

import abc
import pathlib
from collections.abc import Callable
from typing import Any, Generic

import numpy as np

from ...bundle import PLAN_ARRAYS, Bundle
from ...errors import RefusedError, UnsupportedError, UsageError
from ...judging import check
from ...planning import POISON
from ..elements import check_elements
from ..facts import facts_of
from ..findings import PLAN, Finding
from ..kind import Contents, Kind, stale, words_of
from ..step import EngineStep, Step
from . import result
from .built import PADDING, Built, Engine


class OfPlans(Kind[Step, Built], Generic[Step]):
    """Dense and sparse decode."""

    @abc.abstractmethod
    def lists(self, step: Step, built: Built) -> list[Finding]:
        """The index lists, against the batch."""

    @abc.abstractmethod
    def part(self, step: Step, built: Built) -> result.Part:
        """What the decode kernel attends."""

    def refuses(self, engine: Engine, step: Step) -> str | None:
        """Engines of this kind say it themselves."""
        return engine.refuses(step)

    def facts(self, step: Step, built: Built | None) -> dict[str, Any]:
        """`planned`, `padding` (requests made up for a graph) and `elsewhere` once built."""
        facts = facts_of(step)
        if built is not None:
            facts.update(planned=built.planned, padding=built.requests.count(PADDING),
                         elsewhere=len(built.elsewhere))
        return facts

    def check(self, step: Step, built: Built) -> list[Finding]:
        """Lists, and each plan."""
        found = self.lists(step, built)
        for bundle in ([built.bundle] if built.planned and not found else []) + [*built.others]:
            assert bundle is not None
            found += check_plan(step, bundle)
        return found

    def affordable(self, step: Step, built: Built) -> bool:
        """Whether attention and its reference take less than about a second."""
        return result.affordable(step, self.part(step, built))

    def attend(self, engine: Engine, step: Step, built: Built) -> list[Finding]:
        """Against dense attention over the keys of each row."""
        part = self.part(step, built)
        q, cache = result.inputs(step, part.order)
        out = engine.attend(step, built, q, cache)
        right = result.dense(step, part, q, cache)
        return check_elements(step, part.order, out, right.out, right.out_bound)

    def contents(self, built: Built) -> Contents:
        """Of the decode part."""
        return (built.bundle.scalars, built.bundle.arrays) if built.bundle else ({}, {})

    def differences(self, step: Step, used: Built, fresh: Built) -> list[Finding]:
        """Live entries of lists, and words of a plan that the fresh build wrote."""
        if used.bundle is None or fresh.bundle is None:
            same = used.bundle is fresh.bundle
            return [] if same else [Finding("P03", step.number,
                                            "one of two builds has no decode part")]
        if used.planned != fresh.planned:
            return [Finding("P03", step.number, f"planned after other steps: {used.planned}; on "
                            f"fresh buffers: {fresh.planned}")]
        return stale(step, self.contents(used), self.contents(fresh), live_of(fresh.bundle))

    def words(self, built: Built) -> dict[str, list[Any]]:
        """Those that mean something, of the decode part and of other plans."""
        parts = {"": built.bundle,
                 **{f"plan {i} ": other for i, other in enumerate(built.others)}}
        return {prefix + name: words for prefix, bundle in parts.items() if bundle is not None
                for name, words in words_of((bundle.scalars, bundle.arrays),
                                            live_of(bundle)).items()}

    def save(self, folder: pathlib.Path, case: str, step: Step, built: Built) -> None:
        """A bundle for each plan."""
        save_plans(folder, case, step, built)


def live_of(bundle: Bundle) -> Callable[[str, np.ndarray], np.ndarray | bool]:
    """Of an array of a bundle, which elements mean something."""
    sums = bundle.arrays.get("seqlens_kv_indptr")
    count = int(sums[-1]) if sums is not None and sums.size else 0

    def live(name: str, array: np.ndarray) -> np.ndarray | bool:
        if name in PLAN_ARRAYS.values():
            return array != POISON
        return np.arange(array.size) < count if name == "kv_indices" else True

    return live


def save_plans(
    folder: pathlib.Path, case: str, step: EngineStep, built: Built, suffix: str = ""
) -> None:
    """A bundle for each plan of a step.

    Args:
        suffix: of their names.
    """
    for name, bundle in [("decode", built.bundle)] + [
            (f"plan-{i}", other) for i, other in enumerate(built.others)]:
        if bundle is not None:
            scalars = {**bundle.scalars, "name": f"{case} step {step.number}{suffix}"}
            arrays = without_pages(bundle).arrays
            Bundle(scalars, arrays).save(folder / f"step-{step.number}-{name}{suffix}")


def check_plan(step: EngineStep, bundle: Bundle) -> list[Finding]:
    """P05: a plan is valid for its batch."""
    try:
        answer = check(without_pages(bundle))
    except (UnsupportedError, RefusedError, UsageError) as e:
        return [Finding("P05", step.number, f"the plan cannot be checked: {e}",
                        stage=PLAN)]
    if answer.valid:
        return []
    lines = [f"{v.rule}: {v.what}" for v in answer.violations]
    at_fault = f"at fault: {answer.at_fault}: {answer.diagnosis}"
    return [Finding("P05", step.number, lines[0], (*lines[1:6], at_fault), PLAN)]


def without_pages(bundle: Bundle) -> Bundle:
    """Without kv_indices: check_lists knows better what each page has to be, and the padding of a
    graph may name one block again and again."""
    return Bundle(bundle.scalars, {name: array for name, array in bundle.arrays.items()
                                   if name != "kv_indices"})
