"""Judges one case on one engine's sparse MLA backend: lists of rows, plans, graphs, its result."""

from __future__ import annotations

import dataclasses
from typing import Any

from .. import course
from ..engine import PADDING, Built, Engine
from ..facts import facts_of
from ..findings import Finding, Judgement
from ..judge import OfDecodes, check_plan
from ..line import CaseLine
from ..opinion import opinions_of
from ..step import EngineStep
from . import adapt, result
from .lists import check_lists, live_rows
from .step import SparseStep, sparse_steps_of


def judge(
    engine: Engine, case: str, *, arch: str | None = None, attend: bool = False,
    bundles: str | None = None,
) -> Judgement:
    """Runs a case through an engine; parameters as of engines.judge.judge."""
    return course.judge(Sparse(), engine, case, arch=arch, attend=attend, bundles=bundles)


class Sparse(OfDecodes[SparseStep]):
    """Decode in which a row of a list is a row of the query, and its keys are selected ones.

    `Built.requests` is, for each row, the request that the engine takes it for.
    """

    def adapt(self, line: CaseLine, arch: str | None) -> CaseLine:
        """See sparse.adapt.common."""
        return adapt.common(line, arch)

    def steps(self, case: str) -> tuple[SparseStep, ...]:
        """See sparse.step.sparse_steps_of."""
        return sparse_steps_of(case)

    def facts(self, step: SparseStep, built: Built | None) -> dict[str, Any]:
        """Those of other kinds, and what a row selects."""
        return {**facts_of(step, built), "kind": "sparse", "topk": step.topk,
                "layers": step.layers, "selects": int(step.visible.max()) > step.topk}

    def check(self, step: SparseStep, built: Built) -> list[Finding]:
        """Lists, then the plan."""
        found = check_lists(step, built)
        if found or not built.planned:
            return found
        assert built.bundle is not None
        return check_plan(step, built.bundle)

    def opinions(self, engine: str, step: SparseStep, built: Built) -> list[str]:
        """What our core would have asked of the planner for requests of a row each."""
        rows, live = len(built.requests), live_rows(built)
        requests = (*range(live), *[PADDING] * (rows - live))
        single: EngineStep = step.as_rows()
        return opinions_of(engine, single, dataclasses.replace(built, requests=requests))

    def affordable(self, step: SparseStep, built: Built) -> bool:
        """See sparse.result.affordable."""
        return result.affordable(step, built)

    def attend(self, engine: Engine, step: SparseStep, built: Built) -> list[Finding]:
        """See sparse.result.check_result."""
        return result.check_result(engine, step, built)
