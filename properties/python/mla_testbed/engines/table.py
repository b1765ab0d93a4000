"""Rows of the tables in docs/findings: what an engine does right, by running it."""

from __future__ import annotations

import collections
from collections.abc import Iterator

from .client import EngineMissing, Setting, Workers
from .findings import ATTEND, BUILD, FAIL, PLAN, REFUSED, Judgement
from .ledger import Known
from .run import Plan, Run, drawn, spread

HEAD = ("| engine | AITER | arch | imports | builds | plans right | attends right |",
        "|---|---|---|---|---|---|---|")


def rows(
    setting: Setting, archs: list[str], ledger: list[Known], cases: int, attend: int
) -> Iterator[str]:
    """The head, then one row for each architecture.

    Args:
        cases: how many are drawn, with seed 1. attend: how many of them are executed.
    """
    yield from HEAD
    for arch in archs:
        with Workers(setting, arch) as workers:
            yield row(Run(Plan(setting, arch, attend=attend, ledger=ledger, told=lambda _: None),
                          workers), arch, cases)


def row(run: Run, arch: str, cases: int) -> str:
    """One row. "12/14" is steps that are right, of those that came so far; then the defects."""
    try:
        found = [one for one in spread(run.judge, drawn(1, cases, run.plan.setting.kind), cases,
                                       run.plan.attend) if one.verdict != REFUSED]
    except EngineMissing as e:
        return f"| {run.plan.setting.engine} | | {arch} | no: {e} | | | |"
    cells = [_cell(run, found, stage) for stage in (BUILD, PLAN, ATTEND)]
    kind = "" if run.plan.setting.kind == "decode" else f", {run.plan.setting.kind}"
    return (f"| {run.plan.setting.engine} {run.tally.version}{kind} | {run.tally.aiter} | {arch} | "
            "yes | "
            + " | ".join(cells) + " |")


def _cell(run: Run, found: list[Judgement], stage: str) -> str:
    wrong: collections.Counter[str] = collections.Counter()
    for judgement in found:
        if judgement.verdict == FAIL and judgement.findings[0].stage == stage:
            known = run.explained(judgement)
            wrong[known.id if known else f"{judgement.findings[0].property} (new)"] += 1
    built = [j for j in found if not (j.findings and j.findings[0].stage == BUILD)]
    came = {BUILD: len(found), PLAN: sum(j.planned > 0 for j in built),
            ATTEND: sum(j.attended > 0 for j in built)}[stage]
    if came == 0:
        return "none ran"
    defects = ", ".join(f"{name} {times}" for name, times in sorted(wrong.items()))
    return f"{came - sum(wrong.values())}/{came}" + (f": {defects}" if defects else "")
