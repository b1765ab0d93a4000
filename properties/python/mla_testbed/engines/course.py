"""One case on one engine, for every kind of steps: build, graphs, judge, build anew."""

from __future__ import annotations

import abc
import dataclasses
import json
import pathlib
from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from ..errors import FaultError, UsageError
from . import raised
from .adapted import Change, changes
from .findings import ATTEND, FAIL, INCONCLUSIVE, PASS, REFUSED, Finding, Judgement
from .line import CaseLine
from .step import EngineStep

Step = TypeVar("Step", bound=EngineStep)


class Planned(Protocol):
    """What an engine built: whether a plan is part of it."""

    @property
    def planned(self) -> bool:
        """Of the step's own kind: a decode plan, or a list of chunks."""


Built = TypeVar("Built", bound=Planned)


@dataclasses.dataclass
class Course:
    """What happened so far while one case runs."""

    case: str
    attend: bool
    bundles: str | None
    adapted: tuple[Change, ...] = ()
    findings: list[Finding] = dataclasses.field(default_factory=list)
    opinions: list[str] = dataclasses.field(default_factory=list)
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)
    built: int = 0
    planned: int = 0
    attended: int = 0
    replayed: int = 0
    unsaved: str = ""

    def judgement(self, verdict: str, reason: str = "") -> Judgement:
        """What the case ends in."""
        return Judgement(self.case, verdict, tuple(self.findings), reason or self.unsaved,
                         self.facts,
                         tuple(dict.fromkeys(self.opinions)), self.built, self.planned,
                         self.attended, self.replayed, adapted=self.adapted)


class Rules(abc.ABC, Generic[Step, Built]):
    """How the steps of one kind are judged; `judge` runs them."""

    @abc.abstractmethod
    def adapt(self, line: CaseLine, arch: str | None) -> CaseLine:
        """The nearest case that any engine can be asked to run; UsageError: there is none."""

    @abc.abstractmethod
    def steps(self, case: str) -> tuple[Step, ...]:
        """The steps of an adapted case; UsageError: an engine cannot be asked for them."""

    @abc.abstractmethod
    def facts(self, step: Step, built: Built | None) -> dict[str, Any]:
        """What ledgers put conditions on."""

    @abc.abstractmethod
    def check(self, step: Step, built: Built) -> list[Finding]:
        """What was built, against the batch."""

    @abc.abstractmethod
    def opinions(self, engine: str, step: Step, built: Built) -> list[str]:
        """Where our core decides differently."""

    @abc.abstractmethod
    def affordable(self, step: Step, built: Built) -> bool:
        """Whether there is something to attend, in about two seconds."""

    @abc.abstractmethod
    def attend(self, engine: Any, step: Step, built: Built) -> list[Finding]:
        """The engine's own forward, against the reference."""

    @abc.abstractmethod
    def differences(self, step: Step, used: Built, fresh: Built) -> list[Finding]:
        """P03: the last step on a fresh builder, and what it gave after other steps."""

    @abc.abstractmethod
    def save(self, course: Course, step: Step, built: Built) -> None:
        """Puts a step that failed into the folder of bundles."""

    def refuses(self, engine: Any, step: Step) -> str | None:
        """Why the engine, by its own rules, does not take a step."""
        return None

    def for_graph(self, built: Built) -> bool:
        """Whether a step that was built for a replay is one of a graph."""
        return True


def judge(
    rules: Rules[Step, Built], engine: Any, case: str, *, arch: str | None, attend: bool,
    bundles: str | None,
) -> Judgement:
    """Runs a case through an engine; parameters as of engines.judge.judge."""
    try:
        given = CaseLine.parse(case)
        line = engine.adapt(rules.adapt(given, arch))
        steps = rules.steps(str(line))
    except UsageError as e:
        return Judgement(case, REFUSED, reason=str(e))
    line = CaseLine.parse(str(line))
    course = Course(str(line), attend and getattr(engine, "attends", True), bundles,
                    changes(given, line, arch))
    for step in steps:
        reason = rules.refuses(engine, step)
        if reason is not None:
            course.facts = rules.facts(step, None)
            return course.judgement(REFUSED, reason)
    try:
        _run(rules, engine, steps, course)
    except raised.NotJudged as e:
        return course.judgement(FAIL if course.findings else INCONCLUSIVE, str(e))
    return course.judgement(FAIL if course.findings else PASS)


def _run(
    rules: Rules[Step, Built], engine: Any, steps: tuple[Step, ...], course: Course
) -> None:
    first, captured = steps[0], None
    course.facts = rules.facts(first, None)
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
        course.facts = rules.facts(step, built)
        if built is None:
            return
        course.built += 1
        course.planned += built.planned
        course.replayed += captured is not None and rules.for_graph(built)
        _judge_step(rules, engine, step, built, course)
        if course.findings:
            return
    if len(steps) > 1 and captured is None and built is not None:
        with raised.turned(course.findings, step, engine.name):
            engine.start(steps)
            course.findings += rules.differences(step, built, engine.build(step))


def _judge_step(
    rules: Rules[Step, Built], engine: Any, step: Step, built: Built, course: Course
) -> None:
    found = rules.check(step, built)
    if not found:
        course.opinions += rules.opinions(engine.name, step, built)
        if course.attend and rules.affordable(step, built):
            with raised.turned(found, step, engine.name, ATTEND):
                found += rules.attend(engine, step, built)
            course.attended += 1
    if found and course.bundles is not None:
        try:
            rules.save(course, step, built)
        except (FaultError, OSError) as e:
            course.unsaved = f"the bundle is not saved: {e}"
    course.findings += found


def write_metadata(
    folder: pathlib.Path, case: str, numbers: Mapping[str, Any], lists: Mapping[str, np.ndarray],
    **more: Any,
) -> None:
    """Puts what was built, and no plan, into metadata.json of a folder that is made for it."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"case": case, **more, "numbers": numbers,
                       "lists": {name: array.tolist() for name, array in lists.items()}})
    (folder / "metadata.json").write_text(text + "\n", encoding="utf-8")


Contents = tuple[Mapping[str, Any], Mapping[str, np.ndarray]]


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
