"""One case on one engine, for every kind of steps: build, graphs, judge, build anew."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

from ..errors import FaultError, UsageError
from . import raised
from .adapted import Change, changes
from .findings import ATTEND, FAIL, INCONCLUSIVE, PASS, REFUSED, Finding, Judgement
from .kind import Built, Kind
from .line import CaseLine
from .step import Step


@dataclasses.dataclass
class Course:
    """What happened so far while one case runs."""

    case: str
    attend: bool
    bundles: str | None
    telling: bool
    adapted: tuple[Change, ...] = ()
    findings: list[Finding] = dataclasses.field(default_factory=list)
    opinions: list[str] = dataclasses.field(default_factory=list)
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)
    built: int = 0
    planned: int = 0
    attended: int = 0
    replayed: int = 0
    unsaved: str = ""
    words: dict[str, list[Any]] = dataclasses.field(default_factory=dict)

    def judgement(self, verdict: str, reason: str = "") -> Judgement:
        """What the case ends in."""
        return Judgement(self.case, verdict, tuple(self.findings), reason or self.unsaved,
                         self.facts,
                         tuple(dict.fromkeys(self.opinions)), self.built, self.planned,
                         self.attended, self.replayed, adapted=self.adapted, words=self.words)


def judge(
    kind: Kind[Step, Built], engine: Any, case: str, *, arch: str | None = None,
    attend: bool = False, bundles: str | None = None, words: bool = False,
) -> Judgement:
    """Runs a case through an engine.

    Args:
        case: one line (docs/reference/cases.md), adapted first to what an engine can be asked.
        arch: replaces the case's.
        attend: run the engine's forward where that is affordable.
        bundles: a folder for each step that fails.
        words: tell what was built, too.
    """
    try:
        given = CaseLine.parse(case)
        line = engine.adapt(kind.adapt(given, arch))
        steps = kind.steps(str(line))
    except UsageError as e:
        return Judgement(case, REFUSED, reason=str(e))
    line = CaseLine.parse(str(line))
    course = Course(str(line), attend and getattr(engine, "attends", True), bundles,
                    words, changes(given, line, arch))
    for step in steps:
        reason = kind.refuses(engine, step)
        if reason is not None:
            course.facts = kind.facts(step, None)
            return course.judgement(REFUSED, reason)
    try:
        _run(kind, engine, steps, course)
    except raised.NotJudged as e:
        return course.judgement(FAIL if course.findings else INCONCLUSIVE, str(e))
    return course.judgement(FAIL if course.findings else PASS)


def _run(
    kind: Kind[Step, Built], engine: Any, steps: tuple[Step, ...], course: Course
) -> None:
    first, captured = steps[0], None
    course.facts = kind.facts(first, None)
    with raised.turned(course.findings, first, engine.name):
        engine.start(steps)
        if first.pad:
            captured = engine.capture(max(steps, key=lambda step: step.requests))
    if course.findings:
        return
    for step in steps:
        built: Built | None = None
        with raised.turned(course.findings, step, engine.name):
            built = engine.build(step) if captured is None else engine.replay(step, captured)
        course.facts = kind.facts(step, built)
        if built is None:
            return
        course.built += 1
        if course.telling:
            course.words |= {f"step {step.number}: {name}": told
                             for name, told in kind.words(built).items()}
        course.planned += built.planned
        course.replayed += captured is not None and kind.for_graph(built)
        _judge_step(kind, engine, step, built, course)
        if course.findings:
            return
    if len(steps) > 1 and captured is None and built is not None:
        with raised.turned(course.findings, step, engine.name):
            engine.start(steps)
            course.findings += kind.differences(step, built, engine.build(step))


def _judge_step(
    kind: Kind[Step, Built], engine: Any, step: Step, built: Built, course: Course
) -> None:
    found = kind.check(step, built)
    if not found:
        course.opinions += kind.opinions(engine.name, step, built)
        if course.attend and kind.affordable(step, built):
            with raised.turned(found, step, engine.name, ATTEND):
                found += kind.attend(engine, step, built)
            course.attended += 1
    if found and course.bundles is not None:
        try:
            kind.save(pathlib.Path(course.bundles), course.case, step, built)
        except (FaultError, OSError) as e:
            course.unsaved = f"the bundle is not saved: {e}"
    course.findings += found
