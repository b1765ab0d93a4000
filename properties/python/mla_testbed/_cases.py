"""Cases: lines of text that hold all of a run (docs/reference/cases.md), drawn and made smaller."""

from __future__ import annotations

import ctypes
import functools
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _library, _options

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

#: How often a case that Hypothesis shrinks may be replaced by a simpler one.
_STEPS = 10
#: Numbers of drawn cases: beyond, nothing new is to be expected.
_NUMBERS = 1 << 20
#: A drawn number up to which a step of shrinking is taken; larger ones leave the case as it is.
_STAY = (1 << 32) - 1


def _text(function: str, *arguments: object) -> str:
    """Calls a function that answers with a text."""
    out = ctypes.c_char_p()
    _library.check(getattr(_library.load(), function)(*arguments, ctypes.byref(out)))
    return (out.value or b"").decode("utf-8")


def canonical(case: str) -> str:
    """The case with every field, in canonical order.

    Raises:
        UsageError: the text is no case; the message names field and value.
    """
    return _text("mla_case_canonical", _options.text(case, "case"))


def draw(seed: int, number: int, *, production: bool = False) -> str:
    """Random case `number` of a seed; with `production` the one that `mla-testbed run` judges.

    Args:
        seed: 0 to 2**64 - 1.
        number: 0 or more; sizes grow with it and start again after 101.
        production: cases of production shapes as well, which cost more.
    """
    return _text("mla_case_draw", _options.number(seed, "seed", 0, (1 << 64) - 1),
                 _options.number(number, "number", 0), _options.flag(production, "production"))


def plan_of(case: str) -> dict[str, Any]:
    """What our core builds for a case of one step, as `mla-testbed plan --json` prints it.

    Raises:
        MlaError: it refuses the case.
    """
    made: dict[str, Any] = json.loads(_text("mla_case_plan", _options.text(case, "case"), 0))
    return made


def simpler(case: str) -> list[str]:
    """Simpler cases, the most daring first; empty for the simplest.

    No candidate is less simple in any respect, so every chain of them ends.
    """
    _options.text(case, "case")
    return list(_simpler(case))


@functools.lru_cache(maxsize=4096)
def _simpler(case: str) -> tuple[str, ...]:
    """Shrinking asks for the same cases again and again."""
    return tuple(_text("mla_case_simpler", _options.text(case, "case")).splitlines())


def minimise(case: str, fails: Callable[[str], bool], *, tries: int = 500) -> str:
    """A simplest case that still fails: the first simpler one that fails, again and again.

    Args:
        case: a case that fails.
        fails: whether a case fails; called at most `tries` times.
        tries: limit of calls.
    """
    smallest = canonical(case)
    again = True
    while again:
        again = False
        for candidate in simpler(smallest):
            tries -= 1
            if tries < 0:
                return smallest
            if fails(candidate):
                smallest, again = candidate, True
                break
    return smallest


def cases(*, production: bool = False) -> SearchStrategy[str]:
    """A Hypothesis strategy for cases: drawn by our generator, shrunk by our shrinker.

    Shrinking replaces a case by simpler ones of `simpler`. For the very smallest one, hand what
    Hypothesis reports to `minimise`.

    Args:
        production: cases of production shapes as well, which cost more.
    """
    from hypothesis import strategies as st  # noqa: PLC0415  (the extra `test`)

    # The number of drawn values is fixed, because Hypothesis takes a longer list for less simple.
    # Random values are far beyond the number of candidates and leave the case alone; the shrinker
    # lowers them, and so walks to simpler cases. What `composite` returns is printed as its value,
    # so that an example is a line that `@example` and the command take.
    def build(draws: DrawFn) -> str:
        seed = draws(st.integers(0, (1 << 63) - 1))
        case = draw(seed, draws(st.integers(0, _NUMBERS)), production=production)
        for value in draws(st.tuples(*[st.integers(0, _STAY) for _ in range(_STEPS)])):
            candidates = _simpler(case) if value < _STAY >> 8 else ()
            if value < len(candidates):
                case = candidates[value]
        return case

    strategy: SearchStrategy[str] = st.composite(build)()
    return strategy
