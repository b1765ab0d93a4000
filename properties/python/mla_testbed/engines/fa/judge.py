"""Judges one case of kind fa on one engine: metadata of its builder, graphs, its result."""

from __future__ import annotations

import pathlib
from typing import Any

from .. import course
from ..course import Course, write_metadata
from ..facts import facts_of
from ..findings import Finding, Judgement
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
    return course.judge(Fa(), engine, case, arch=arch, attend=attend, bundles=bundles)


class Fa(course.Rules[FaStep, FaBuilt]):
    """Grouped-query attention in three parts."""

    def adapt(self, line: CaseLine, arch: str | None) -> CaseLine:
        """See fa.adapt.common."""
        return adapt.common(line, arch)

    def steps(self, case: str) -> tuple[FaStep, ...]:
        """See fa.step.fa_steps_of."""
        return fa_steps_of(case)

    def facts(self, step: FaStep, built: FaBuilt | None) -> dict[str, Any]:
        """Those of other kinds, and the layer's."""
        return fa_facts(step, built)

    def check(self, step: FaStep, built: FaBuilt) -> list[Finding]:
        """Lists, then chunks."""
        return check_lists(step, built) or check_chunks(step, built)

    def opinions(self, engine: str, step: FaStep, built: FaBuilt) -> list[str]:
        """See fa.opinion.opinions_of."""
        return opinions_of(engine, step, built)

    def affordable(self, step: FaStep, built: FaBuilt) -> bool:
        """See fa.result.affordable."""
        return result.affordable(step)

    def attend(self, engine: FaEngine, step: FaStep, built: FaBuilt) -> list[Finding]:
        """See fa.result.check_result."""
        return result.check_result(engine, step, built)

    def for_graph(self, built: FaBuilt) -> bool:
        """The adapter says it."""
        return built.graph

    def differences(self, step: FaStep, used: FaBuilt, fresh: FaBuilt) -> list[Finding]:
        """Order, numbers and lists."""
        if used.order != fresh.order:
            return [Finding("P03", step.number, f"the order is {list(used.order)} after other "
                            f"steps; {list(fresh.order)} on fresh buffers")]
        return course.stale(step, (used.numbers, used.lists), (fresh.numbers, fresh.lists))

    def save(self, course: Course, step: FaStep, built: FaBuilt) -> None:
        """As JSON: there is no plan that `check` could judge."""
        write_metadata(pathlib.Path(str(course.bundles)) / f"step-{step.number}-fa", course.case,
                       built.numbers, built.lists, order=built.order, requests=built.requests)


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
