"""FaStep: a step of grouped-query attention that an engine is asked to run, taken from a case."""

from __future__ import annotations

import dataclasses

from ..line import CaseLine
from ..step import EngineStep, steps_of

#: Context tokens that a chunk holds in production.
WORKSPACE_TOKENS = 32 * 1024


@dataclasses.dataclass(frozen=True)
class FaStep(EngineStep):
    """One step, and the layer that attends it.

    Attributes:
        kv_heads, head_dim: of the layer; each KV head serves heads / kv_heads query heads.
        window: how many keys before its own a row sees; -1: all.
        draft: draft tokens of speculative decoding; a decode has up to draft + 1 rows.
        workspace: context tokens that a chunk holds.
    """

    kv_heads: int
    head_dim: int
    window: int
    draft: int
    workspace: int

    @property
    def threshold(self) -> int:
        """Rows that a decode has at most."""
        return self.draft + 1

    @property
    def drafts_only(self) -> bool:
        """Whether every request is short enough for a decode."""
        return max(self.query_lens) <= self.threshold

    def first_seen(self, request: int) -> int:
        """The first key that any row of a request sees."""
        return max(0, self.context(request) - self.window) if self.window >= 0 else 0


def fa_steps_of(case: str) -> tuple[FaStep, ...]:
    """The steps of a case of kind fa.

    Raises:
        UsageError: as steps_of.
    """
    line = CaseLine.parse(case)
    return tuple(FaStep(
        **vars(step), kv_heads=int(line["kvheads"]), head_dim=int(line["dim"]),
        window=int(line["window"]), draft=int(line["draft"]),
        workspace=min(int(line["workspace"]), WORKSPACE_TOKENS)) for step in steps_of(case))
