"""Sparse MLA decode: each row attends to the keys that an indexer selected for it."""

from __future__ import annotations

import dataclasses
import random
from typing import Any, ClassVar

import numpy as np

from ...errors import UsageError
from .. import adapt
from ..decode.built import PADDING, Built
from ..decode.opinion import opinions_of
from ..decode.plans import OfPlans
from ..decode.result import Part
from ..findings import Finding
from ..line import CaseLine
from .indexer import check_indexed, selecting
from .lists import check_lists, check_taken
from .step import SparseStep, model_of, sparse_steps_of

#: Rows of a step. Each has a list of up to 2,048 keys.
MOST_ROWS = 1 << 12
#: Requests of a drawn step whose contexts may be made longer.
_MOST_LONGER = 32


class Sparse(OfPlans[SparseStep]):
    """Decode in which a row of a list is a row of the query, and its keys are selected ones.

    `Built.requests` is, for each row, the request that the engine takes it for. A case is one of
    kind decode; its seed says how many keys a row selects.
    """

    name = "sparse"
    adapters: ClassVar = {"vllm": "mla_testbed.engines.vllm.sparse_adapter:VllmSparse",
                          "sglang": "mla_testbed.engines.sglang.sparse_adapter:SglangSparse"}
    in_cases = False
    steps = staticmethod(sparse_steps_of)

    def lists(self, step: SparseStep, built: Built) -> list[Finding]:
        """The stages of the engine's indexer, if it ran; then the lists of the keys it selected."""
        if built.indexed is not None:
            found = check_indexed(step, built.indexed)
            if found:
                return found
            step = selecting(step, built.indexed)
        return check_lists(step, built) or check_taken(step, built)

    def drawn(self, case: str) -> str:
        """The case, or one with contexts about as long as a row selects, and longer: half of them.

        Drawn contexts are mostly shorter, and there a row has all of its keys.
        """
        line, source = CaseLine.parse(case), random.Random(case)
        topk, _ = model_of(line)
        steps = [line.requests(number) for number in range(len(line.steps))]
        if source.random() < 0.5 or max(map(len, steps)) > _MOST_LONGER:  # noqa: PLR2004
            return case
        return str(line.with_requests([
            [(rows, max(keys, _about(topk, rows, source))) for rows, keys in step]
            for step in steps]))

    def adapt(self, line: CaseLine, arch: str | None = None) -> CaseLine:
        """As for decode.

        Raises:
            UsageError: no request of a step has a row, or a step has more rows than MOST_ROWS.
        """
        made = adapt.common(line, arch)
        rows = max(sum(rows for rows, _ in made.requests(number))
                   for number in range(len(made.steps)))
        if rows > MOST_ROWS:
            raise UsageError(f"a step of '{line}' has {rows} rows; at most {MOST_ROWS} are judged "
                             "here")
        return made

    def facts(self, step: SparseStep, built: Built | None) -> dict[str, Any]:
        """Those of decode, and what a row selects."""
        return {**super().facts(step, built), "kind": self.name, "topk": step.topk,
                "layers": step.layers, "selects": int(step.visible.max()) > step.topk,
                **_indexed(step, built)}

    def opinions(self, engine: str, step: SparseStep, built: Built) -> list[str]:
        """What our core would have asked of the planner for requests of a row each."""
        rows, live = len(built.requests), len(built.live)
        if built.last_pages_are_sums:
            return [f"{engine} hands the sum of rows to the kernel for the lengths of last pages; "
                    "with pages of one token nobody reads them"]
        requests = (*range(live), *[PADDING] * (rows - live))
        return opinions_of(engine, step.as_rows(), dataclasses.replace(built, requests=requests))

    def part(self, step: SparseStep, built: Built) -> Part:
        """Each row alone, over the keys that were selected for it."""
        step = selecting(step, built.indexed)
        slots = [step.token_slots(request)[step.selected[row]]
                 for row, request in enumerate(built.live)]
        return Part(tuple(dict.fromkeys(built.live)), np.arange(len(slots) + 1), slots)


def _indexed(step: SparseStep, built: Built | None) -> dict[str, bool]:
    """Whether the engine's indexer ran, and whether its logits end within a block."""
    found = None if built is None else built.indexed
    return {"indexed": found is not None,
            "ragged_columns": found is not None and found.columns % step.block_size != 0}


def _about(topk: int, rows: int, source: random.Random) -> int:
    return source.choice((0, topk - 1, topk, topk + 1, topk + rows - 1, topk + rows,
                          source.randint(topk, 3 * topk)))
