"""Kernel: a function of another project, its stage, and how a case becomes a call of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ..case import Case
from ..findings import Finding
from ..inputs import Inputs

RIGHT, WRONG, REFUSED, NOT_RUN = "right", "wrong", "refused", "not run"


class NotTakenError(Exception):
    """The kernel does not take such a case, by its own contract. The text says why."""


@dataclasses.dataclass(frozen=True)
class Kernel:
    """One function.

    Attributes:
        name: of the function.
        stage: that it is judged as.
        judge: calls it for inputs on an architecture and gives the findings.
        fixed: fields of a case that it is drawn with.
        taken: raises NotTakenError for cases outside of its contract.
    """

    name: str
    stage: str
    judge: Callable[[Inputs, str], list[Finding]]
    fixed: dict[str, Any] = dataclasses.field(default_factory=dict)
    taken: Callable[[Case], None] = lambda case: None


def need(holds: bool, why: str) -> None:
    """NotTakenError where it does not hold."""
    if not holds:
        raise NotTakenError(why)
