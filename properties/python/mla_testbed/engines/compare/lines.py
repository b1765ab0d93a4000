"""Which of the lines that a commit changed no case ran."""

from __future__ import annotations

import dataclasses
import pathlib
import re
from collections.abc import Mapping, Sequence

from ...aiter_history import Commit, git
from ...module_use import function_lines

#: Of each file that was used: the lines that ran.
Ran = Mapping[str, set[int]]
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Unrun:
    """files: no case uses them, or runs a line of what changed. lines: "file:7-9", of other files.
    """

    files: list[str]
    lines: list[str]


def unrun(clone: pathlib.Path, base: Commit, head: Commit, files: Sequence[str],
          ran: tuple[Ran, Ran]) -> Unrun:
    """What was not judged of the files that differ.

    Args:
        ran: over base and over head.
    """
    not_used: list[str] = []
    missed: list[str] = []
    for file in files:
        some, left = _of_file(clone, (base, head), file, ran)
        if not some or not any(file in side for side in ran):
            not_used.append(file)
        else:
            missed += left
    return Unrun(not_used, missed)


def _of_file(clone: pathlib.Path, commits: tuple[Commit, Commit], file: str, ran: tuple[Ran, Ran]
             ) -> tuple[bool, list[str]]:
    """Whether a changed line of a function ran, or none was changed; and the hunks that did not.
    """
    functions = [_functions(clone, commit, file) for commit in commits]
    seen, left = False, []
    for hunk in _HUNK.finditer(git(clone, "diff", "--unified=0", "--no-renames", "--no-ext-diff",
                                   commits[0].id, commits[1].id, "--", file)):
        sides = [_range(hunk, 1), _range(hunk, 3)]
        changed = [functions[at].intersection(sides[at]) for at in (0, 1)]
        if not any(changed):
            continue
        if any(changed[at] & ran[at].get(file, set()) for at in (0, 1)):
            seen = True
        else:
            at = 1 if changed[1] else 0
            left.append(f"{file}:{_span(changed[at])}" + ("" if at else " (removed)"))
    return seen or not left, left


def _range(hunk: re.Match[str], group: int) -> range:
    first = int(hunk[group])
    return range(first, first + int(hunk[group + 1] or 1))


def _span(lines: set[int]) -> str:
    first, last = min(lines), max(lines)
    return str(first) if first == last else f"{first}-{last}"


def _functions(clone: pathlib.Path, commit: Commit, file: str) -> set[int]:
    """Lines inside functions; none of a file that the commit lacks, or that is no Python."""
    if not file.endswith(".py") or not git(clone, "ls-tree", commit.id, "--", file):
        return set()
    try:
        return function_lines(compile(git(clone, "show", f"{commit.id}:{file}"), file, "exec",
                                      dont_inherit=True))
    except (SyntaxError, ValueError):
        return set()
