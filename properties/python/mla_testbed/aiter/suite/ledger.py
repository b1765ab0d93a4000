"""Known failures of AITER's tests: what is wrong, where, and whose defect it is."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
from typing import Any

FILE = pathlib.Path(__file__).with_name("known_failures.json")


class LedgerError(ValueError):
    """A ledger that is malformed."""


@dataclasses.dataclass(frozen=True)
class Known:
    """One known failure.

    tests, archs, backends: where it is seen. case: patterns for arguments of the benchmark.
    text: a pattern for the comparison's message or the error. always: a run that covers it and
    does not see it is an unexpected pass.
    """

    id: str
    tests: tuple[str, ...]
    archs: tuple[str, ...]
    backends: tuple[str, ...]
    case: dict[str, str]
    text: str
    why: str
    link: str
    always: bool

    def covers(self, test: str, arch: str, backend: str) -> bool:
        """Whether a run of this test could show it."""
        return test in self.tests and arch in self.archs and backend in self.backends

    def explains(self, case: dict[str, str], text: str) -> bool:
        """Whether it explains a failure of a run that it covers."""
        return re.search(self.text, text) is not None and all(
            re.fullmatch(pattern, case.get(name, "")) for name, pattern in self.case.items())


_ARCHS, _BACKENDS = ("gfx942", "gfx950"), ("cpu", "aiter")


def read(path: pathlib.Path = FILE) -> list[Known]:
    """The entries of a ledger file."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["known"]
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise LedgerError(f"'{path}' is no ledger: {e}") from e
    return [_entry(entry, path) for entry in entries]


def _entry(entry: dict[str, Any], path: pathlib.Path) -> Known:
    try:
        known = Known(
            id=entry["id"], tests=tuple(entry["tests"]), archs=tuple(entry.get("archs", _ARCHS)),
            backends=tuple(entry.get("backends", _BACKENDS)), case=dict(entry.get("case", {})),
            text=entry["text"], why=entry["why"], link=entry["link"],
            always=bool(entry.get("always", False)))
        for pattern in (known.text, *known.case.values()):
            re.compile(pattern)
    except (KeyError, TypeError, re.error) as e:
        raise LedgerError(f"'{path}', entry {entry.get('id', '?')}: {e}") from e
    return known
