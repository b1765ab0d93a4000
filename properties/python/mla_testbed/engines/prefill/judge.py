"""Judges one case of kind prefill on one engine: what is gathered, plans, its result."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np

from .. import course
from ..course import Course, write_metadata
from ..facts import facts_of
from ..findings import Finding, Judgement
from ..judge import check_plan
from ..line import CaseLine
from . import adapt, result
from .built import PrefillBuilt, PrefillEngine
from .lists import check_lists
from .opinion import opinions_of
from .step import PrefillStep, prefill_steps_of


def judge(
    engine: PrefillEngine, case: str, *, arch: str | None = None, attend: bool = False,
    bundles: str | None = None,
) -> Judgement:
    """Runs a case through an engine; parameters as of engines.judge.judge."""
    return course.judge(Prefill(), engine, case, arch=arch, attend=attend, bundles=bundles)


class Prefill(course.Rules[PrefillStep, PrefillBuilt]):
    """MLA prefill, with and without a cached prefix."""

    def adapt(self, line: CaseLine, arch: str | None) -> CaseLine:
        """See prefill.adapt.common."""
        return adapt.common(line, arch)

    def steps(self, case: str) -> tuple[PrefillStep, ...]:
        """See prefill.step.prefill_steps_of."""
        return prefill_steps_of(case)

    def facts(self, step: PrefillStep, built: PrefillBuilt | None) -> dict[str, Any]:
        """Those of other kinds; `context` of the longest prefix, and `chunks` once built."""
        facts = {**facts_of(step, None), "kind": "prefill",
                 "context": max(map(step.context, range(step.requests)))}
        if built is not None:
            facts.update(chunks=len(built.chunks), fp8=bool(built.plans))
        return facts

    def check(self, step: PrefillStep, built: PrefillBuilt) -> list[Finding]:
        """Lists, then plans."""
        return check_lists(step, built) or [
            finding for plan in built.plans for finding in check_plan(step, plan)]

    def opinions(self, engine: str, step: PrefillStep, built: PrefillBuilt) -> list[str]:
        """See prefill.opinion.opinions_of."""
        return opinions_of(engine, step, built)

    def affordable(self, step: PrefillStep, built: PrefillBuilt) -> bool:
        """See prefill.result.affordable."""
        return result.affordable(step, built)

    def attend(self, engine: PrefillEngine, step: PrefillStep, built: PrefillBuilt
               ) -> list[Finding]:
        """See prefill.result.check_result."""
        return result.check_result(engine, step, built)

    def differences(
        self, step: PrefillStep, used: PrefillBuilt, fresh: PrefillBuilt
    ) -> list[Finding]:
        """Parts, numbers and lists."""
        return course.stale(step, contents(used), contents(fresh))

    def save(self, course: Course, step: PrefillStep, built: PrefillBuilt) -> None:
        """Lists as JSON, plans as bundles that `check` reads."""
        folder = pathlib.Path(str(course.bundles))
        for number, plan in enumerate(built.plans):
            plan.save(folder / f"step-{step.number}-plan-{number}")
        write_metadata(folder / f"step-{step.number}-prefill", course.case, *contents(built))


def contents(built: PrefillBuilt) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Numbers and arrays of a part, by name."""
    numbers = {"requests": list(built.order), "decodes": list(built.decodes),
               "longest": built.longest, "chunks": len(built.chunks), "plans": len(built.plans)}
    lists = {"query_start_loc": built.starts}
    for number, chunk in enumerate(built.chunks):
        keys = int(chunk.sums[-1])
        numbers[f"chunk {number}"] = [chunk.first, list(chunk.rows), chunk.most_rows,
                                      chunk.most_keys, chunk.tokens]
        lists.update({f"starts of chunk {number}": chunk.starts,
                      f"cu_seq_lens of chunk {number}": chunk.sums,
                      f"query_start_loc of chunk {number}": chunk.row_sums,
                      f"owners of chunk {number}": chunk.owners[:keys],
                      f"slots of chunk {number}": chunk.slots[:keys]})
    return numbers, lists
