"""Prompts whose next tokens float32 chooses with a margin, and the noise floor of a model.

The floor is measured before an engine is asked: the same reference, with the roundings of the types
that the engine computes in, over the same tokens and more. With logits that are off by d at most,
another token is chosen only if its logit is less than 2 d below the best one: that is the margin.
"""

from __future__ import annotations

import dataclasses
import random

import torch

from ...errors import UsageError
from . import indexed
from .model import VOCABULARY, Model
from .reference import Reference, Traced, bf16, fp8
from .scenario import Scenario

#: How far the best logit has to be above the next one, at least. Logits have a deviation of 4.
LEAST_MARGIN = 0.25
#: Prompts that differ in their last token and are tried at a time, and how often.
_BATCH, _ROUNDS = 16, 150
#: Random sequences that the floor is measured over, beside those of the requests.
_MORE = 4
#: How much more than the floor a value of the engine may be off.
ALLOWED = 2.0


@dataclasses.dataclass(frozen=True)
class Floor:
    """Largest differences between the rounded reference and float32.

    Attributes:
        logits: of a logit. regret: by how much a chosen logit was below the best.
        tensors: of an element of a layer's query, key or attention output.
    """

    logits: float
    regret: float
    tensors: dict[str, float]

    @property
    def bound(self) -> float:
        """The largest regret that rounding explains."""
        return ALLOWED * self.regret

    def of(self, name: str) -> float:
        """The largest difference of a tensor's element, or of "logits", that rounding explains."""
        return ALLOWED * (self.logits if name == "logits" else self.tensors[name])


@dataclasses.dataclass(frozen=True)
class Asked:
    """What is asked of an engine, and what float32 answers.

    Attributes:
        prompts: tokens of each request. expected: what follows each.
        margin: smallest distance between the best and the next logit of a step; 0 if prompts were
            not chosen by it.
    """

    prompts: list[list[int]]
    expected: list[list[int]]
    margin: float
    floor: Floor


def ask(scenario: Scenario, model: Model) -> Asked:
    """Draws the prompts and measures the floor.

    Raises:
        UsageError: no prompt of a length has a margin.
    """
    reference = Reference(model)
    random_of = random.Random(scenario.seed)
    token = _Tokens(scenario, random_of)
    shared = [token(at) for at in range(scenario.longest * 2 // 3)]
    if not scenario.prefix:
        shared = []
    lengths = _lengths(scenario, random_of)
    prefixes = [[] if scenario.running and number % 3 == 2 else shared  # noqa: PLR2004
                for number in range(scenario.requests)]
    tokens = [scenario.tokens_of(number) for number in range(scenario.requests)]
    drawn = [[*prefix, *(token(at) for at in range(len(prefix), length))]
             for prefix, length in zip(prefixes, lengths, strict=True)]
    more = [[token(at) for at in range(scenario.longest + scenario.tokens)]
            for _ in range(_MORE)]
    floor = _floor(scenario, model, reference, more + [
        [*prompt, *_answer(reference, prompt, count)]
        for prompt, count in zip(drawn, tokens, strict=True)])
    if scenario.cache == "fp8":  # few prompts have a margin above this floor
        return Asked(drawn, [_answer(reference, prompt, count) for prompt, count in zip(
            drawn, tokens, strict=True)], 0.0, floor)
    margin = max(LEAST_MARGIN, 2 * floor.logits)
    answers = [_with_margin(reference, scenario.changed(tokens=count), prefix, length, margin,
                            random_of)
               for prefix, length, count in zip(prefixes, lengths, tokens, strict=True)]
    return Asked([a[0] for a in answers], [a[1] for a in answers], margin, floor)


class _Tokens:
    """Random tokens of prompts, by their position."""

    def __init__(self, scenario: Scenario, random_of: random.Random) -> None:
        self._any, self._random = scenario.model != "dsa", random_of

    def __call__(self, position: int) -> int:
        token = self._random.randrange(VOCABULARY)
        return token if self._any else indexed.at(position, token)


def _lengths(scenario: Scenario, random_of: random.Random) -> list[int]:
    """From 3 to the longest, which is there."""
    least = scenario.longest * 2 // 3 + 1 if scenario.prefix else min(3, scenario.longest)
    others = [random_of.randint(least, max(least, scenario.longest))
              for _ in range(scenario.requests - 1)]
    return [max(least, scenario.longest), *others]


def _with_margin(reference: Reference, scenario: Scenario, shared: list[int], length: int,
                 margin: float, random_of: random.Random) -> tuple[list[int], list[int]]:
    for _ in range(_ROUNDS):
        token = _Tokens(scenario, random_of)
        start = [*shared, *(token(at) for at in range(len(shared), length - 1))]
        lasts = random_of.sample(range(VOCABULARY), _BATCH)
        if scenario.model == "dsa":
            lasts = list(dict.fromkeys(indexed.at(length - 1, last) for last in lasts))
        for found in _greedy(reference, start, lasts, scenario.tokens, margin):
            if scenario.model != "dsa" or indexed.decided([*found[0], *found[1]]):
                return found
    raise UsageError(f"scenario '{scenario}': none of {_BATCH * _ROUNDS} prompts of {length} "
                     f"tokens has a margin of {margin:.2f} for {scenario.tokens} tokens; expected "
                     "fewer tokens, or another seed")


def _greedy(reference: Reference, start: list[int], lasts: list[int], tokens: int, margin: float
            ) -> list[tuple[list[int], list[int]]]:
    """Prompts that begin alike and end in one of `lasts`, with what follows: those that keep a
    margin all the way."""
    with torch.inference_mode():
        past = reference.forward(torch.tensor([start]), None)[1] if start else None
        if past is not None:
            past = [tuple(of.expand(len(lasts), -1, -1, -1) for of in layer) for layer in past]
        alive, out = torch.tensor(lasts), list[torch.Tensor]()
        logits, past = reference.forward(alive[:, None], past)
        for _ in range(tokens):
            best, which = torch.topk(logits[:, -1], 2)
            keep = (best[:, 0] - best[:, 1] >= margin).nonzero().flatten()
            if not keep.numel():
                return []
            alive, chosen = alive[keep], which[keep, 0]
            out = [column[keep] for column in out] + [chosen]
            if len(out) < tokens:
                past = [tuple(of[keep] for of in layer) for layer in past]
                logits, past = reference.forward(chosen[:, None], past)
        return [([*start, int(last)], [int(column[i]) for column in out])
                for i, last in enumerate(alive)]


def _answer(reference: Reference, prompt: list[int], tokens: int) -> list[int]:
    """What follows a prompt, with whatever margin."""
    return _greedy(reference, prompt[:-1], prompt[-1:], tokens, 0.0)[0][1]


def _floor(scenario: Scenario, model: Model, reference: Reference, sequences: list[list[int]]
           ) -> Floor:
    coded = indexed.rounding(fp8(scenario.arch))
    kinds = [Reference(model, bf16, indexer=coded)]
    if model.dsa:  # engines code what is rotated, or what is not
        kinds.append(Reference(model, bf16, indexer=indexed.rotated(coded),
                               turned=indexed.rotated(bf16)))
    if scenario.cache == "fp8":
        kinds.append(Reference(model, bf16, fp8(scenario.arch), coded))
    logits = regret = 0.0
    tensors: dict[str, float] = {}
    for tokens in sequences:
        traced = Traced()
        right = reference.logits(tokens, traced)
        for kind in kinds:
            other = Traced()
            found = kind.logits(tokens, other)
            logits = max(logits, float((found - right).abs().max()))
            regret = max(regret, float(regrets(right, found.argmax(-1)).max()))
            for ours, theirs in zip(traced.layers, other.layers, strict=True):
                for name, value in ours.items():
                    off = float((value - theirs[name]).abs().max())
                    tensors[name] = max(tensors.get(name, 0.0), off)
    return Floor(logits, regret, tensors)


def regrets(logits: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    """By how much the chosen logit of each row is below the best one."""
    best: torch.Tensor = logits.max(-1).values
    return best - logits.gather(-1, chosen[:, None].long())[:, 0]
