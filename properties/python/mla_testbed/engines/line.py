"""A case's line as groups and fields (docs/reference/cases.md), to change or read single fields."""

from __future__ import annotations

import dataclasses
import itertools

from .._cases import canonical

Group = tuple[int, int, int]

#: Fields that a canonical line leaves out where they have this value.
DEFAULTS: dict[str, str] = {
    "page": "1", "planner": "auto", "pad": "0", "spare": "0.minus1", "scale": "1/1", "lse": "0",
    "origin": "0", "sched": "0", "qpad": "0", "splits": "0", "kind": "decode",
    "workspace": "65536", "kvheads": "1", "dim": "128", "window": "-1", "draft": "0",
}


@dataclasses.dataclass(frozen=True)
class CaseLine:
    """A case, read.

    Attributes:
        steps: of each step its groups (count, rows, keys).
        fields: every field of the line by name, in canonical order.
    """

    steps: tuple[tuple[Group, ...], ...]
    fields: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, case: str) -> CaseLine:
        """Reads a case.

        Raises:
            UsageError: the text is no case.
        """
        head, *fields = canonical(case).split(";")
        steps = tuple(tuple(_group(group) for group in step.split("_"))
                      for step in head.partition(":")[2].split("+"))
        return cls(steps, tuple((name, value) for name, _, value in
                                (field.partition("=") for field in fields)))

    def __getitem__(self, name: str) -> str:
        """A field's value, or its default."""
        return dict(self.fields).get(name) or DEFAULTS[name]

    def requests(self, step: int) -> list[tuple[int, int]]:
        """Rows and keys of each request of a step."""
        return [(rows, keys) for count, rows, keys in self.steps[step] for _ in range(count)]

    def with_fields(self, **values: str) -> CaseLine:
        """The same line with other values; its text leaves defaults out."""
        return dataclasses.replace(self, fields=tuple({**dict(self.fields), **values}.items()))

    def with_requests(self, steps: list[list[tuple[int, int]]]) -> CaseLine:
        """The same line with other requests: rows and keys of each, for each step."""
        return dataclasses.replace(self, steps=tuple(
            tuple((len(list(same)), *pair) for pair, same in itertools.groupby(step))
            for step in steps))

    def __str__(self) -> str:
        head = "+".join("_".join(f"{count}q{rows}s{keys}" for count, rows, keys in step)
                        for step in self.steps)
        return canonical(f"mla1:{head}" + "".join(f";{n}={v}" for n, v in self.fields))


def _group(text: str) -> Group:
    count, _, lengths = text.partition("q")
    rows, _, keys = lengths.partition("s")
    number = int(keys[:-1]) * 1024 if keys.endswith("k") else int(keys)
    return int(count or "1"), int(rows), number
