"""Drafts of a model that computes nearly what its target does, without a request's first token.

An engine verifies drafts, so a defect in how it drafts costs speed and no token. Here each draft is
held against what the draft model has to draft, where that is ahead by more than rounding explains.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import torch

from . import eagle
from .model import VOCABULARY, Model, drafting
from .prompts import Floor
from .reference import Reference
from .traced import Served, Step

#: What a draft model gets in place of a request's first tokens: nothing, or one zero embedding.
LEFT_OUT, MASKED = 1, 2


@dataclasses.dataclass
class Drafts:
    """Judges drafts.

    Attributes:
        first: LEFT_OUT or MASKED. prompts: lengths. sequences: all tokens of each request.
        judged: drafts that were ahead. wrong: sentences about those that are others.
    """

    model: Model
    floor: Floor
    first: int
    prompts: list[int]
    sequences: list[list[int]]
    judged: int = 0
    wrong: list[str] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        name = "model.embed_tokens.weight"
        weights = (drafting(self.model.weights) if self.model.draft is None
                   else eagle.echoed(self.model))
        table = weights[name]
        weights = {**weights, name: torch.cat([table, torch.zeros_like(table[:1])])}
        self._reference = Reference(dataclasses.replace(self.model, weights=weights))
        self._known: dict[int, torch.Tensor] = {}

    def judge(self, steps: Iterable[Step]) -> None:
        """All drafts that the target got in these steps."""
        for step in steps:
            if step.tokens is None or step.positions is None:
                continue
            for one in step.served:
                start = int(step.positions[one.first])
                if one.rows > 1 and self.prompts[one.request] <= start < len(
                        self.sequences[one.request]):
                    self._judge(step, one, start, step.tokens.tolist())

    def _judge(self, step: Step, one: Served, start: int, tokens: list[int]) -> None:
        given = tokens[one.first:one.first + one.rows]
        logits = self._logits(one.request, start, given)
        for row in range(one.rows - 1):
            # Its inputs begin with a request's second token: no row is of the first one.
            best, which = torch.topk(logits[start + row - 1], 2)
            ahead = float(best[0] - best[1])
            if ahead < 2 * self.floor.of("logits"):
                continue
            self.judged += 1
            if given[row + 1] != int(which[0]):
                self.wrong.append(
                    f"step {step.number}, request {one.request}: draft {row + 1} at position "
                    f"{start + row + 1} is token {given[row + 1]}; the draft model has token "
                    f"{int(which[0])} ahead by {ahead:.2f}")

    def _logits(self, request: int, start: int, given: list[int]) -> torch.Tensor:
        """Of the draft model, after each token from the second one on."""
        whole = self.sequences[request]
        if given == whole[start:start + len(given)]:
            if request not in self._known:
                self._known[request] = self._reference.logits(self._inputs(whole))
            return self._known[request]
        return self._reference.logits(self._inputs([*whole[:start], *given]))

    def _inputs(self, tokens: list[int]) -> list[int]:
        return tokens[1:] if self.first == LEFT_OUT else [VOCABULARY, *tokens[2:]]
