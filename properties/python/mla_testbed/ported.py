"""The modules of AITER that ours took the place of in a run, and whether that leaves a change out.

aiter/sources.py compares; this needs no torch, so that any process can report it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

_SHOWN = 8
#: How the line of a report begins that names the modules of AITER's own that ran.
OWN_RAN = "AITER's own C++ ran: "


@dataclasses.dataclass(frozen=True)
class Ported:
    """What a run says of them.

    version: the AITER that ours follow. modules: those that were used. changed: files that
    differ from that version, with the used modules that are compiled from each. uncompared: why
    the sources could not be compared, or "".
    """

    version: str
    modules: tuple[str, ...] = ()
    changed: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    uncompared: str = ""

    def together(self, other: Ported) -> Ported:
        """Two processes of one run."""
        changed = {file: tuple(sorted({*self.changed.get(file, ()), *other.changed.get(file, ())}))
                   for file in {**self.changed, **other.changed}}
        return Ported(self.version, tuple(sorted({*self.modules, *other.modules})), changed,
                      self.uncompared or other.uncompared)

    def lines(self) -> list[str]:
        """What a report says beside its verdict; nothing where no module was used."""
        if not self.modules:
            return []
        said = [f"not AITER's C++ but mla-testbed's ports of AITER {self.version} ran: "
                f"{', '.join(self.modules)}"]
        if self.uncompared:
            said.append(f"whether this AITER's C++ is that of {self.version} is not known: "
                        f"{self.uncompared}")
        files = list(self.changed)
        said += [f"{file} differs from AITER {self.version}, and its change did not run: the port "
                 f"in place of {', '.join(self.changed[file])} does not contain it"
                 for file in files[:_SHOWN]]
        if len(files) > _SHOWN:
            said.append(f"{len(files) - _SHOWN} more files differ: {', '.join(files[_SHOWN:])}")
        return said

    def advice(self, option: str) -> str:
        """How to go on where files differ; `option` accepts the ports."""
        return ("nothing is said about changed C++: run it with `--modules own` "
                f"(docs/use/aiter-on-a-laptop.md, \"own\"), or accept the ports with {option}")

    def as_json(self) -> dict[str, Any]:
        """For files and between processes."""
        return {"version": self.version, "modules": list(self.modules),
                "changed": {file: list(modules) for file, modules in self.changed.items()},
                "uncompared": self.uncompared}

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> Ported:
        """The other direction."""
        return cls(found["version"], tuple(found["modules"]),
                   {file: tuple(modules) for file, modules in found["changed"].items()},
                   found["uncompared"])
