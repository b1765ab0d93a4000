"""Judges one case of kind fa on one engine: metadata of its builder, graphs, its result."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np

from ...errors import UsageError
from .. import raised
from ..facts import facts_of
from ..findings import ATTEND, FAIL, INCONCLUSIVE, PASS, REFUSED, Finding, Judgement
from ..judge import Course
from ..line import CaseLine
from . import adapt, result
from .built import FaBuilt, FaEngine
from .chunks import check_chunks
from .lists import check_lists
from .opinion import opinions_of
from .step import FaStep, fa_steps_of


def judge(
    engine: FaEngine, case: str, *, arch: str | None = None, attend: bool = False,
    bundles: str | None = None,
) -> Judgement:
    """Runs a case through an engine; parameters as of engines.judge.judge."""
    try:
        line = engine.adapt(adapt.common(CaseLine.parse(case), arch))
        steps = fa_steps_of(str(line))
    except UsageError as e:
        return Judgement(case, REFUSED, reason=str(e))
    course = Course(str(line), attend, bundles)
    try:
        _run(engine, steps, course)
    except raised.NotJudged as e:
        return course.judgement(FAIL if course.findings else INCONCLUSIVE, str(e))
    return course.judgement(FAIL if course.findings else PASS)


def _run(engine: FaEngine, steps: tuple[FaStep, ...], course: Course) -> None:
    first, captured, last = steps[0], None, None
    course.facts = fa_facts(first, None)
    with raised.turned(course.findings, first, engine.name):
        engine.start(steps)
        if first.pad:
            captured = engine.capture(max(steps, key=lambda step: step.requests))
    if course.findings:
        return
    for step in steps:
        with raised.turned(course.findings, step, engine.name):
            last = engine.build(step) if captured is None else engine.replay(step, captured)
        course.facts = fa_facts(step, None if course.findings else last)
        if course.findings or last is None:
            return
        course.built += 1
        course.replayed += last.graph
        course.planned += bool(last.part("extend"))
        _judge_step(engine, step, last, course)
        if course.findings:
            return
    if len(steps) > 1 and captured is None and last is not None:
        with raised.turned(course.findings, steps[-1], engine.name):
            engine.start(steps)
            course.findings += differences(steps[-1], last, engine.build(steps[-1]))


def _judge_step(engine: FaEngine, step: FaStep, built: FaBuilt, course: Course) -> None:
    found = check_lists(step, built) or check_chunks(step, built)
    if not found:
        course.opinions += opinions_of(engine.name, step, built)
        if course.attend and engine.attends and result.affordable(step):
            with raised.turned(found, step, engine.name, ATTEND):
                found += result.check_result(engine, step, built)
            course.attended += 1
    if found and course.bundles is not None:
        save(built, pathlib.Path(course.bundles) / f"step-{step.number}-fa", course.case)
    course.findings += found


def fa_facts(step: FaStep, built: FaBuilt | None) -> dict[str, Any]:
    """Facts of a step for ledgers: those of other kinds, and the layer's."""
    facts = {**facts_of(step, None), "kind": "fa", "kv_heads": step.kv_heads,
             "head_dim": step.head_dim, "window": step.window, "draft": step.draft,
             "causal": step.causal, "context": max(map(step.context, range(step.requests)))}
    if built is not None:
        facts["padding"] = built.requests - step.requests
        facts.update({f"{name}s": len(built.part(name))
                      for name in ("decode", "extend", "prefill")})
        facts["chunks"] = built.numbers.get("num_chunks", 0)
    return facts


def differences(step: FaStep, used: FaBuilt, fresh: FaBuilt) -> list[Finding]:
    """P03: the last step on a fresh builder gives what it gave after other steps."""
    if used.order != fresh.order:
        return [Finding("P03", step.number, f"the order is {list(used.order)} after other steps; "
                        f"{list(fresh.order)} on fresh buffers")]
    for name, meant in fresh.numbers.items():
        if used.numbers.get(name) != meant:
            return [Finding("P03", step.number, f"{name} is {used.numbers.get(name)} after other "
                            f"steps; {meant} on fresh buffers")]
    for name, expected in fresh.lists.items():
        found = used.lists.get(name)
        if found is None or found.shape != expected.shape:
            return [Finding("P03", step.number, f"{name} has another shape after other steps than "
                            "on fresh buffers")]
        wrong = np.flatnonzero(found.reshape(-1) != expected.reshape(-1))
        if wrong.size:
            at = int(wrong[0])
            return [Finding("P03", step.number, f"{name}[{at}] is {found.reshape(-1)[at]} after "
                            f"other steps; {expected.reshape(-1)[at]} on fresh buffers")]
    return []


def save(built: FaBuilt, folder: pathlib.Path, case: str) -> None:
    """The metadata of a step that failed, as JSON: it has no plan that `check` could judge."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"case": case, "order": built.order, "requests": built.requests,
                       "numbers": built.numbers,
                       "lists": {name: array.tolist() for name, array in built.lists.items()}})
    (folder / "metadata.json").write_text(text + "\n", encoding="utf-8")
