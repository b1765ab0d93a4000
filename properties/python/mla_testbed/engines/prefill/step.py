"""PrefillStep: a step whose requests bring rows over a cached prefix, taken from a case."""

from __future__ import annotations

import dataclasses

from ..line import CaseLine
from ..step import EngineStep, steps_of

#: Tokens of context that vLLM gathers at once in production, at most.
MOST_WORKSPACE = 64 * 1024


@dataclasses.dataclass(frozen=True)
class PrefillStep(EngineStep):
    """One step of MLA prefill: keys have 192 elements a head, values 128.

    Attributes:
        workspace: context tokens that are gathered together.
    """

    workspace: int


def prefill_steps_of(case: str) -> tuple[PrefillStep, ...]:
    """The steps of a case of kind prefill.

    Raises:
        UsageError: as steps_of.
    """
    workspace = int(CaseLine.parse(case)["workspace"])
    return tuple(PrefillStep(**vars(step), workspace=workspace) for step in steps_of(case))
