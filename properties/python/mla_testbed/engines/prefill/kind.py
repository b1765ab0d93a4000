"""MLA prefill, with and without a cached prefix."""

from __future__ import annotations

import pathlib
from typing import Any, ClassVar

import numpy as np

from ..._cases import plan_of
from ...errors import MlaError, UsageError
from .. import adapt
from ..decode.plans import check_plan
from ..facts import facts_of
from ..findings import Finding
from ..kind import Contents, Kind, write_metadata
from ..line import CaseLine
from .built import PrefillBuilt
from .lists import check_lists
from .result import affordable, check_result
from .step import MOST_WORKSPACE, PrefillStep, prefill_steps_of


class Prefill(Kind[PrefillStep, PrefillBuilt]):
    """Requests bring several rows; what is gathered from the cache, and plans of FP8."""

    name = "prefill"
    adapters: ClassVar = {"vllm": "mla_testbed.engines.vllm.prefill_adapter:VllmPrefill",
                          "sglang": "mla_testbed.engines.sglang.prefill_adapter:SglangPrefill"}
    fields = ("workspace",)
    steps = staticmethod(prefill_steps_of)
    affordable = staticmethod(affordable)
    attend = staticmethod(check_result)

    def adapt(self, line: CaseLine, arch: str | None = None) -> CaseLine:
        """What no engine can be asked is set aside, what every engine guarantees holds.

        Beside what holds for decode cases: the query is bf16, there are no graphs, each step has a
        request of several rows, and the workspace has a whole block for each request.

        Raises:
            UsageError: the case is of another kind, or a step has no request of several rows.
        """
        adapt.expect_kind(line, self.name)
        made = adapt.common(line, arch)
        steps = [made.requests(number) for number in range(len(made.steps))]
        if any(max(rows for rows, _ in step) < 2 for step in steps):  # noqa: PLR2004
            raise UsageError(f"a step of '{line}' has no request of 2 rows: an engine decodes them "
                             "all")
        block = int(made["block"])
        least = block * max(len(step) for step in steps)
        workspace = min(max(int(line["workspace"]), least), max(MOST_WORKSPACE, least))
        return CaseLine.parse(str(made.with_fields(
            kind=self.name, dtype=f"bf16/{line['dtype'].partition('/')[2]}", scale="1/1", pad="0",
            workspace=str(-(-workspace // block) * block))))

    def facts(self, step: PrefillStep, built: PrefillBuilt | None) -> dict[str, Any]:
        """`context` of the longest prefix, and `chunks` and `fp8` once built."""
        facts = {**facts_of(step), "kind": self.name,
                 "context": max(map(step.context, range(step.requests)))}
        if built is not None:
            facts.update(chunks=len(built.chunks), fp8=bool(built.plans))
        return facts

    def check(self, step: PrefillStep, built: PrefillBuilt) -> list[Finding]:
        """Lists, then plans."""
        return check_lists(step, built) or [
            finding for plan in built.plans for finding in check_plan(step, plan)]

    def opinions(self, engine: str, step: PrefillStep, built: PrefillBuilt) -> list[str]:
        """Where our core cuts the contexts into other chunks."""
        if built.whole:
            return []  # no chunks
        try:
            ours = plan_of(step.alone(built.order))["context_chunks"]
        except MlaError as e:
            return [f"{engine} builds what our core refuses: {e}"]
        if len(ours) != len(built.chunks):
            return [f"{engine} gathers contexts in {len(built.chunks)} chunks, our core in "
                    f"{len(ours)}"]
        for number, (a, b) in enumerate(zip(built.chunks, ours, strict=True)):
            theirs = a.first, a.starts.tolist(), (a.sums[1:] - a.sums[:-1]).tolist()
            if theirs != (b["first_request"], b["starts"], b["seq_lens"]):
                return [f"{engine} begins chunk {number} with request {theirs[0]} and has "
                        f"{theirs[2]} keys, our core {b['first_request']} and {b['seq_lens']}"]
        return []

    def contents(self, built: PrefillBuilt) -> Contents:
        """Numbers and arrays of the prefill part."""
        numbers = {"requests": list(built.order), "decodes": list(built.decodes),
                   "longest": built.longest, "chunks": len(built.chunks),
                   "plans": len(built.plans)}
        lists: dict[str, np.ndarray] = {"query_start_loc": built.starts}
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

    def save(self, folder: pathlib.Path, case: str, step: PrefillStep, built: PrefillBuilt) -> None:
        """Lists as JSON, plans as bundles that `check` reads."""
        for number, plan in enumerate(built.plans):
            plan.save(folder / f"step-{step.number}-plan-{number}")
        write_metadata(folder / f"step-{step.number}-prefill", case, self.contents(built))
