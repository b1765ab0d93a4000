"""Known failures of engines: which steps show them, in which versions, and why.

    {"format": "mla-testbed engines ledger 1", "entries": [
      {"id": "ENG-001", "link": "https://...", "why": "gfx942 is sent to a kernel of gfx950",
       "engine": "vllm", "versions": ["0.27.*"], "properties": ["P28"],
       "where": {"arch": "gfx942", "heads": {"max": 15}}, "text": "requires gfx950",
       "witness": "mla1:1q1s1;heads=8"}]}
"""

from __future__ import annotations

import dataclasses
import fnmatch
import json
import pathlib
import re
from typing import Any

from ..errors import UsageError
from .client import Setting
from .e2e.scenario import Scenario
from .findings import Finding
from .kinds import KINDS
from .line import CaseLine

FORMAT = "mla-testbed engines ledger 1"
#: The kind of entries about whole engines: `where` is about fields of the scenario.
WHOLE = "e2e"
#: What ships with the package: a file for each engine.
SHIPPED = pathlib.Path(__file__).with_name("known")
_KEYS = {"id", "link", "why", "engine", "versions", "aiter", "properties", "where", "text",
         "witness", "kind", "options"}


@dataclasses.dataclass(frozen=True)
class Known:
    """One known failure.

    Attributes:
        versions, aiter: patterns (fnmatch) of the engine's and of AITER's versions that have it.
        properties: ids of what fails; empty: any.
        where: facts of the step (facts.py): a value, a list of values, or {"min", "max"}.
        text: a regular expression that the finding's sentence or a detail contains.
        witness: a case that shows it, of WHOLE a scenario, or "".
        kind: of steps that show it (kinds.KINDS), or WHOLE.
        options: of the adapter: name -> values with which a run can show it, "" for a run that does
            not name it. Options that are not here may have any value.
    """

    id: str
    link: str
    why: str
    engine: str
    versions: tuple[str, ...] = ("*",)
    aiter: tuple[str, ...] = ("*",)
    properties: tuple[str, ...] = ()
    where: dict[str, Any] = dataclasses.field(default_factory=dict)
    text: str = ""
    witness: str = ""
    kind: str = "decode"
    options: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    def judges(self, setting: Setting) -> bool:
        """Whether a run with this setting can show it."""
        given = dict(option.partition("=")[::2] for option in setting.options)
        return (self.engine, self.kind) == (setting.engine, setting.kind) and all(
            given.get(name, "") in values for name, values in self.options.items())

    def concerns(self, engine: str, version: str, aiter: str) -> bool:
        """Whether an engine has it."""
        return self.engine == engine and any(
            fnmatch.fnmatchcase(version, pattern) for pattern in self.versions) and any(
            fnmatch.fnmatchcase(aiter, pattern) for pattern in self.aiter)

    def explains(self, finding: Finding, facts: dict[str, Any]) -> bool:
        """Whether a finding of a step with these facts is this failure."""
        if self.properties and finding.property not in self.properties:
            return False
        return all(_meets(facts.get(name), wanted) for name, wanted in self.where.items()) and (
            any(re.search(self.text, text) for text in (finding.what, *finding.details)))


def read(path: pathlib.Path) -> list[Known]:
    """The entries of a file, or of all .json files in a folder.

    Raises:
        UsageError: it cannot be read, or is malformed; the message names file and entry.
    """
    if path.is_dir():
        files = sorted(path.glob("*.json"))
        if not files:
            raise UsageError(f"ledger '{path}' is a folder without a .json file")
        return [known for file in files for known in read(file)]
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as e:
        raise UsageError(f"ledger '{path}' cannot be read: {e}") from e
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UsageError(f"ledger '{path}' has no format '{FORMAT}'")
    listed = document.get("entries", [])
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        raise UsageError(f"ledger '{path}': entries is no list of objects")
    entries = [_entry(entry, path) for entry in listed]
    twice = {a.id for i, a in enumerate(entries) for b in entries[:i] if a.id == b.id}
    if twice:
        raise UsageError(f"ledger '{path}' has entry {sorted(twice)[0]} twice")
    return entries


def _entry(entry: dict[str, Any], path: pathlib.Path) -> Known:
    name = entry.get("id", "?")
    unknown = set(entry) - _KEYS
    if unknown:
        raise UsageError(f"ledger '{path}', entry {name}: unknown key {sorted(unknown)[0]}; "
                         f"expected {', '.join(sorted(_KEYS))}")
    try:
        kinds = (*KINDS, WHOLE)
        if entry.get("kind", "decode") not in kinds:
            raise ValueError(f"kind '{entry['kind']}' is unknown; expected {' or '.join(kinds)}")
        values: dict[str, Any] = {key: _value(key, value) for key, value in entry.items()}
        for key in ("id", "link", "why", "engine"):
            if key not in values:
                raise ValueError(f"it has no {key}")
        re.compile(values.get("text", ""))
        if values.get("witness"):
            (Scenario if entry.get("kind") == WHOLE else CaseLine).parse(values["witness"])
        return Known(**values)
    except (UsageError, ValueError, re.error) as e:
        raise UsageError(f"ledger '{path}', entry {name}: {e}") from e


def _value(key: str, value: Any) -> Any:
    """A key's value, of the type that it must have."""
    if key == "where":
        if not isinstance(value, dict):
            raise ValueError(f"where is {value!r}; expected an object")
        for name, wanted in value.items():
            if isinstance(wanted, dict) and not (set(wanted) <= {"min", "max"} and all(
                    isinstance(bound, int) for bound in wanted.values())):
                raise ValueError(f"where {name} is {wanted}; expected numbers as min and max")
        return value
    if key == "options":
        if not isinstance(value, dict):
            raise ValueError(f"options is {value!r}; expected an object")
        return {name: _value(f"options {name}", values) for name, values in value.items()}
    if key in ("versions", "aiter", "properties") or key.startswith("options "):
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise ValueError(f"{key} is {value!r}; expected a list of texts")
        return tuple(value)
    if not isinstance(value, str):
        raise ValueError(f"{key} is {value!r}; expected a text")
    return value


def _meets(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(value, int) and (
            wanted.get("min", value) <= value <= wanted.get("max", value))
    if isinstance(wanted, list):
        return value in wanted
    return bool(value == wanted)
