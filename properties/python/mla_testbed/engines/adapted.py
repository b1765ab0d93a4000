"""What a case became before an engine was asked: a verdict is on what ran, and says so."""

from __future__ import annotations

import dataclasses

from .._options import COMPUTE_UNITS
from .line import DEFAULTS, CaseLine


@dataclasses.dataclass(frozen=True)
class Change:
    """One difference between the case that was given and the one that ran.

    Attributes:
        what: name of a field, or "requests of step 0".
        given, ran: its values; of requests the first ones that differ, as a case has them.
    """

    what: str
    given: str
    ran: str

    def __str__(self) -> str:
        equals = ": " if " " in self.what else "="
        return f"{self.what}{equals}{self.given} became {self.ran}"

    @property
    def kind(self) -> str:
        """The name of the field, or "requests": the same for all steps, for counts."""
        return self.what.partition(" ")[0]


def on(line: CaseLine, arch: str | None) -> CaseLine:
    """A case on another architecture, which --arch asks for: as many compute units as its product
    has.
    """
    if arch is None or arch == line["arch"]:
        return line
    return line.with_fields(arch=arch, cu=str(COMPUTE_UNITS[arch]))


def changes(given: CaseLine, ran: CaseLine, arch: str | None) -> tuple[Change, ...]:
    """Requests first, then fields in the order of the line.

    Args:
        arch: replaces the architecture of what was given, and is no change.
    """
    given = on(given, arch)
    found = []
    if len(given.steps) != len(ran.steps):
        found.append(Change("steps", str(len(given.steps)), str(len(ran.steps))))
    else:
        for number in range(len(given.steps)):
            found += _requests(number, given.requests(number), ran.requests(number))
    before, after = dict(given.fields), dict(ran.fields)
    for name in {**before, **after}:
        old, new = (line.get(name) or DEFAULTS.get(name, "") for line in (before, after))
        if old != new:
            found.append(Change(name, old, new))
    return tuple(found)


def _requests(
    number: int, given: list[tuple[int, int]], ran: list[tuple[int, int]]
) -> list[Change]:
    if given == ran:
        return []
    what = f"requests of step {number}"
    if len(given) != len(ran):
        return [Change(what, f"{len(given)} of them", str(len(ran)))]
    if sorted(given) == sorted(ran):
        return [Change(what, "the given order", "a scheduler's")]
    wrong = [i for i, pair in enumerate(given) if pair != ran[i]]
    texts = [f"1q{rows}s{keys}" for rows, keys in (given[wrong[0]], ran[wrong[0]])]
    return [Change(f"{what} ({len(wrong)} of {len(given)})", *texts)]
