"""Judges one case on one engine: its builder's lists and plans, sequences, graphs, its result."""

from __future__ import annotations

import pathlib
from typing import Any, Generic

import numpy as np

from ..bundle import PLAN_ARRAYS, Bundle
from ..errors import RefusedError, UnsupportedError, UsageError
from ..judging import check
from ..planning import POISON
from . import adapt, course, result
from .course import Course, Step
from .engine import Built, Engine
from .facts import facts_of
from .findings import PLAN, Finding, Judgement
from .line import CaseLine
from .lists import check_lists
from .opinion import opinions_of
from .step import EngineStep, steps_of


def judge(
    engine: Engine, case: str, *, arch: str | None = None, attend: bool = False,
    bundles: str | None = None,
) -> Judgement:
    """Runs a case through an engine.

    Args:
        case: one line (docs/reference/cases.md), adapted first to what an engine can be asked.
        arch: replaces the case's.
        attend: run the engine's forward where that is affordable.
        bundles: a folder for the bundle of each step that fails.
    """
    return course.judge(Decode(), engine, case, arch=arch, attend=attend, bundles=bundles)


class OfDecodes(course.Rules[Step, Built], Generic[Step]):
    """What dense and sparse decode have in common: a `Built` with a plan."""

    def refuses(self, engine: Engine, step: Step) -> str | None:
        """Engines of this kind say it themselves."""
        return engine.refuses(step)

    def differences(self, step: Step, used: Built, fresh: Built) -> list[Finding]:
        """Live entries of lists, and words of a plan that the fresh build wrote."""
        return differences(step, used, fresh)

    def save(self, course: Course, step: Step, built: Built) -> None:
        """A bundle for each plan."""
        folder = pathlib.Path(str(course.bundles))
        for name, bundle in [("decode", built.bundle)] + [
                (f"plan-{i}", other) for i, other in enumerate(built.others)]:
            if bundle is not None:
                scalars = {**bundle.scalars, "name": f"{course.case} step {step.number}"}
                arrays = without_pages(bundle).arrays
                Bundle(scalars, arrays).save(folder / f"step-{step.number}-{name}")


class Decode(OfDecodes[EngineStep]):
    """MLA decode, with the plans of other parts of its steps."""

    def adapt(self, line: CaseLine, arch: str | None) -> CaseLine:
        """See adapt.common."""
        return adapt.common(line, arch)

    def steps(self, case: str) -> tuple[EngineStep, ...]:
        """See step.steps_of."""
        return steps_of(case)

    def facts(self, step: EngineStep, built: Built | None) -> dict[str, Any]:
        """See facts.facts_of."""
        return facts_of(step, built)

    def check(self, step: EngineStep, built: Built) -> list[Finding]:
        """Lists, and each plan."""
        found = check_lists(step, built)
        for bundle in ([built.bundle] if built.planned and not found else []) + [*built.others]:
            assert bundle is not None
            found += check_plan(step, bundle)
        return found

    def opinions(self, engine: str, step: EngineStep, built: Built) -> list[str]:
        """See opinion.opinions_of."""
        return opinions_of(engine, step, built)

    def affordable(self, step: EngineStep, built: Built) -> bool:
        """See result.affordable."""
        return result.affordable(step, built)

    def attend(self, engine: Engine, step: EngineStep, built: Built) -> list[Finding]:
        """See result.check_result."""
        return result.check_result(engine, step, built)


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


def differences(step: EngineStep, used: Built, fresh: Built) -> list[Finding]:
    """P03 for a decode part: what differs on used and on fresh buffers."""
    if used.bundle is None or fresh.bundle is None:
        same = used.bundle is fresh.bundle
        return [] if same else [Finding("P03", step.number, "one of two builds has no decode part")]
    if used.planned != fresh.planned:
        return [Finding("P03", step.number, f"planned after other steps: {used.planned}; on fresh "
                        f"buffers: {fresh.planned}")]
    count = int(fresh.bundle.arrays["seqlens_kv_indptr"][-1])

    def live(name: str, expected: np.ndarray) -> np.ndarray | bool:
        if name in PLAN_ARRAYS.values():
            return expected != POISON
        return np.arange(expected.size) < count if name == "kv_indices" else True

    return course.stale(step, (used.bundle.scalars, used.bundle.arrays),
                        (fresh.bundle.scalars, fresh.bundle.arrays), live)
