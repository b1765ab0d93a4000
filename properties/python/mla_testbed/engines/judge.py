"""Judges one case on one engine: its builder's lists and plans, sequences, graphs, its result."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

import numpy as np

from ..bundle import PLAN_ARRAYS, Bundle
from ..errors import RefusedError, UnsupportedError, UsageError
from ..judging import check
from ..planning import POISON
from . import adapt, raised, result
from .engine import Built, Engine
from .facts import facts_of
from .findings import (
    ATTEND,
    FAIL,
    INCONCLUSIVE,
    PASS,
    PLAN,
    REFUSED,
    Finding,
    Judgement,
)
from .line import CaseLine
from .lists import check_lists
from .opinion import opinions_of
from .step import EngineStep, steps_of


@dataclasses.dataclass
class Course:
    """What happened so far while one case runs."""

    case: str
    attend: bool
    bundles: str | None
    findings: list[Finding] = dataclasses.field(default_factory=list)
    opinions: list[str] = dataclasses.field(default_factory=list)
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)
    built: int = 0
    planned: int = 0
    attended: int = 0
    replayed: int = 0

    def judgement(self, verdict: str, reason: str = "") -> Judgement:
        """What the case ends in."""
        return Judgement(self.case, verdict, tuple(self.findings), reason, self.facts,
                         tuple(dict.fromkeys(self.opinions)), self.built, self.planned,
                         self.attended, self.replayed)


def judge(
    engine: Engine, case: str, *, arch: str | None = None, attend: bool = False,
    bundles: str | None = None,
) -> Judgement:
    """Runs a case through an engine.

    Args:
        case: one line (docs/cases.md); it is adapted to what an engine can be asked first.
        arch: replaces the case's.
        attend: run the engine's forward where that is affordable.
        bundles: a folder for the bundle of each step that fails.
    """
    try:
        line = engine.adapt(adapt.common(CaseLine.parse(case), arch))
        steps = steps_of(str(line))
    except UsageError as e:
        return Judgement(case, REFUSED, reason=str(e))
    course = Course(str(line), attend, bundles)
    for step in steps:
        reason = engine.refuses(step)
        if reason is not None:
            course.facts = facts_of(step, None)
            return course.judgement(REFUSED, reason)
    try:
        _run(engine, steps, course)
    except raised.NotJudged as e:
        return course.judgement(FAIL if course.findings else INCONCLUSIVE, str(e))
    return course.judgement(FAIL if course.findings else PASS)


def _run(engine: Engine, steps: tuple[EngineStep, ...], course: Course) -> None:
    first = steps[0]
    course.facts = facts_of(first, None)
    with raised.turned(course.findings, first, engine.name):
        engine.start(steps)
        captured = None
        if first.pad:
            captured = engine.capture(max(steps, key=lambda step: step.requests))
    if course.findings:
        return
    last = None
    for step in steps:
        built = _built(engine, step, captured, course)
        if built is None:
            return
        _judge_step(engine, step, built, course)
        if course.findings:
            return
        last = built
    if len(steps) > 1 and captured is None and last is not None:
        _against_fresh(engine, steps, last, course)


def _built(
    engine: Engine, step: EngineStep, captured: Built | None, course: Course
) -> Built | None:
    """What the builder makes; None if it raised, which is a finding then."""
    built = None
    with raised.turned(course.findings, step, engine.name):
        if captured is None:
            built = engine.build(step)
        else:
            built = engine.replay(step, captured)
            course.replayed += 1
    course.facts = facts_of(step, built)
    if built is not None:
        course.built += 1
        course.planned += built.planned
    return built


def _judge_step(engine: Engine, step: EngineStep, built: Built, course: Course) -> None:
    found = check_lists(step, built)
    for bundle in ([built.bundle] if built.planned and not found else []) + [*built.others]:
        assert bundle is not None
        found += check_plan(step, bundle)
    course.opinions += opinions_of(engine.name, step, built)
    attends = course.attend and getattr(engine, "attends", True)
    if not found and attends and result.affordable(step, built):
        with raised.turned(found, step, engine.name, ATTEND):
            found += result.check_result(engine, step, built)
        course.attended += 1
    if found and course.bundles is not None:
        _save(course, step, built)
    course.findings += found


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


def _against_fresh(
    engine: Engine, steps: tuple[EngineStep, ...], used: Built, course: Course
) -> None:
    """P03: the last step on a fresh builder gives what it gave on used buffers."""
    last = steps[-1]
    with raised.turned(course.findings, last, engine.name):
        engine.start(steps)
        fresh = engine.build(last)
        course.findings += differences(last, used, fresh)


def differences(step: EngineStep, used: Built, fresh: Built) -> list[Finding]:
    """Live entries of lists, and words of a plan that the fresh build wrote."""
    if used.bundle is None or fresh.bundle is None:
        same = used.bundle is fresh.bundle
        return [] if same else [Finding("P03", step.number, "one of two builds has no decode part")]
    if used.planned != fresh.planned:
        return [Finding("P03", step.number, f"planned after other steps: {used.planned}; on fresh "
                        f"buffers: {fresh.planned}")]
    for name, meant in fresh.bundle.scalars.items():
        if used.bundle.scalars.get(name) != meant:
            return [Finding("P03", step.number, f"{name} is {used.bundle.scalars.get(name)} after "
                            f"other steps; {meant} on fresh buffers")]
    live = int(fresh.bundle.arrays["seqlens_kv_indptr"][-1])
    for name, expected in fresh.bundle.arrays.items():
        found = used.bundle.arrays[name]
        if found.shape != expected.shape:
            return [Finding("P03", step.number, f"{name} has {found.size} elements after other "
                            f"steps; {expected.size} on fresh buffers")]
        live_words = np.ones(found.shape, bool)
        if name in PLAN_ARRAYS.values():
            live_words = expected != POISON
        elif name == "kv_indices":
            live_words = np.arange(found.size) < live
        wrong = np.flatnonzero(live_words & (found != expected))
        if wrong.size:
            at = int(wrong[0])
            return [Finding("P03", step.number, f"{name}[{at}] is {found[at]} after other steps; "
                            f"{expected[at]} on fresh buffers")]
    return []


def _save(course: Course, step: EngineStep, built: Built) -> None:
    assert course.bundles is not None
    folder = pathlib.Path(course.bundles)
    for name, bundle in [("decode", built.bundle)] + [
            (f"plan-{i}", other) for i, other in enumerate(built.others)]:
        if bundle is not None:
            scalars = {**bundle.scalars, "name": f"{course.case} step {step.number}"}
            arrays = without_pages(bundle).arrays
            Bundle(scalars, arrays).save(folder / f"step-{step.number}-{name}")
