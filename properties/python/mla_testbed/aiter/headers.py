"""Enumerations of an AITER source tree, read from its C++ headers.

AITER's Python takes its enumerations from a compiled module. Ours reads the same headers that this
module is compiled from, so that the values are those of the tree that is under test.
"""

from __future__ import annotations

import enum
import pathlib
import re

_ENUM = r"enum\s+class\s+{name}\s*(?::\s*\w+)?\s*\{{([^}}]*)\}}"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class HeaderError(ImportError):
    """A header of AITER is missing, or does not define what is looked for."""


def include_directory(tree: pathlib.Path) -> pathlib.Path:
    """csrc/include of a checkout, or of an installed package beside it."""
    for directory in (tree / "csrc" / "include", tree / "aiter_meta" / "csrc" / "include"):
        if directory.is_dir():
            return directory
    raise HeaderError(f"no csrc/include under '{tree}': expected a source tree of AITER")


def enumeration(include: pathlib.Path, file: str, name: str) -> type[enum.IntEnum]:
    """The C++ `enum class` of this name as an IntEnum, with the doc that pybind11 gives it."""
    found = _found(include, file, name)
    if found is None:
        raise HeaderError(f"'{include / file}' defines no enum class {name}")
    return found


def later(include: pathlib.Path) -> dict[str, object]:
    """What AITER's core module got in the course of 2026, as far as this tree has it.

    An older tree's Python asks for no more than it has."""
    made: dict[str, object] = {}
    for file, name in (("aiter_enum.h", "MlaVersion"), ("mx_quant_utils.h", "MxScaleRoundMode"),
                       ("mx_quant_utils.h", "MxDtype")):
        found = _found(include, file, name) if (include / file).exists() else None
        if found is None:
            continue
        made[name] = found
        if name == "MxScaleRoundMode":
            rounding = "kDefaultMxScaleRoundMode"
            made[rounding] = constant(include, file, rounding, found)
    return made


def _found(include: pathlib.Path, file: str, name: str) -> type[enum.IntEnum] | None:
    text = _COMMENT.sub("", _read(include / file))
    found = re.search(_ENUM.format(name=name), text)
    if found is None:
        return None
    members: dict[str, int] = {}
    value = -1
    for entry in found.group(1).split(","):
        member, _, given = entry.strip().partition("=")
        if member.strip():
            value = int(given, 0) if given else value + 1
            members[member.strip()] = value
    made = enum.IntEnum(name, members)  # type: ignore[misc]
    made.__doc__ = "Members:\n\n" + "\n\n".join(f"  {member}" for member in members)
    return made


def constant(include: pathlib.Path, file: str, name: str, of: type[enum.IntEnum]) -> int | None:
    """The value of a constant that is set to a member of an enumeration; None without it."""
    text = _COMMENT.sub("", _read(include / file))
    found = re.search(rf"\b{name}\s*=\s*{of.__name__}::(\w+)", text)
    return None if found is None else int(of[found.group(1)])


def _read(path: pathlib.Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as e:
        raise HeaderError(f"cannot read '{path}': {e.strerror}") from e
