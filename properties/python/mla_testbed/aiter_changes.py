"""What changed between two answers to one case, and what is worse.

The answers to a property are in an order: it fails, it is not judged, it holds. Worse is what goes
down, and what fails that was not judged before. A property that failed and is not judged now is no
worse, and no repair either: it is a kind of its own. Most properties run variations of a case, a
longer request for example, so that a tree that takes fewer of them is not wrong for it. A case that
is refused itself was not judged, whatever its variations say: see `refused`.
"""

from __future__ import annotations

import dataclasses
import enum

from .aiter_cases import OF_THE_STEP, Judged


class Kind(enum.Enum):
    """How a terminal marks a change. The first two are for the worse."""

    WORSE = "WORSE"
    NEW_FAILURE = "NEW FAILURE"  # not judged before
    NOT_JUDGED = "NOT JUDGED"  # failed before
    OTHER = "other"

    @property
    def worse(self) -> bool:
        """Whether a comparison with such a change is red."""
        return self in (Kind.WORSE, Kind.NEW_FAILURE)


@dataclasses.dataclass(frozen=True)
class Difference:
    """what: a sentence. name: the property that fails now and that is to be made smaller, or "":
    of those that fail with one message, as where a tree does not compile, the first."""

    kind: Kind
    what: str
    name: str = ""


def differences(before: Judged, after: Judged) -> list[Difference]:
    """What changed between two answers to one case."""
    out: list[Difference] = []
    said: set[str] = set()
    for name in sorted(before.failures.keys() | before.skipped.keys() | after.failures.keys()
                       | after.skipped.keys()):
        for one in _of_property(name, before, after):
            message = after.failures[name].message if one.name else ""
            out.append(dataclasses.replace(one, name="") if message in said else one)
            said |= {message} if message else set()
    if bool(before.planless) != bool(after.planless):
        out.append(Difference(Kind.WORSE, f"no plan: {after.planless}") if after.planless else
                   Difference(Kind.OTHER, f"is planned, and was not: {before.planless}"))
    elif before.plan != after.plan:
        out.append(Difference(Kind.OTHER, f"another plan: {first_word(before.plan, after.plan)}"))
    return out


def _of_property(name: str, before: Judged, after: Judged) -> list[Difference]:
    failed, passed_over = name in before.failures, name in before.skipped
    if name in after.failures:
        now = after.failures[name].message
        if passed_over:
            return [Difference(Kind.NEW_FAILURE, f"{name} fails, and was not judged before "
                               f"({before.skipped[name]}): {now}", name)]
        return [] if failed else [Difference(Kind.WORSE, f"{name} fails: {now}", name)]
    if name in after.skipped:
        if passed_over:
            return []
        kind, was = (Kind.NOT_JUDGED, "failed") if failed else (Kind.WORSE, "held")
        return [Difference(kind, f"{name} {was}, and is not judged now: {after.skipped[name]}")]
    was = "did not" if failed else "was not judged"
    return [Difference(Kind.OTHER, f"{name} holds, and {was}")]


def refused(judged: Judged) -> str:
    """Why a case itself was not judged; "": it was. What its variations say is no answer to it."""
    return judged.skipped.get(OF_THE_STEP, "")


def first_word(before: dict[str, list[int]], after: dict[str, list[int]]) -> str:
    """Where two plans that differ differ first."""
    for name, words in after.items():
        old = before.get(name, [])
        if len(old) != len(words):
            return f"{name} has {len(words)} words, of {len(old)} before"
        for at, (was, now) in enumerate(zip(old, words, strict=True)):
            if was != now:
                count = sum(a != b for a, b in zip(old, words, strict=True))
                return f"{name}[{at}] is {now}, was {was} ({count} of {len(words)} differ)"
    return "a list is missing"
