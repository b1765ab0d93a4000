"""Which of the lines that a commit changed no case ran."""

from __future__ import annotations

import dataclasses
import itertools
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
    """Whether a changed line of a function ran, or none was changed; and those that did not run, of
    the head where a hunk has lines there."""
    functions = [_functions(clone, commit, file) for commit in commits]
    seen, left = False, []
    for hunk in _HUNK.finditer(git(clone, "diff", "--unified=0", "--no-renames", "--no-ext-diff",
                                   commits[0].id, commits[1].id, "--", file)):
        sides = [_range(hunk, 1), _range(hunk, 3)]
        changed = [functions[at].intersection(sides[at]) for at in (0, 1)]
        if not any(changed):
            continue
        ran_of = [changed[at] & ran[at].get(file, set()) for at in (0, 1)]
        seen = seen or any(ran_of)
        at = 1 if changed[1] else 0
        if at or not ran_of[0]:
            left += [f"{file}:{span}" + ("" if at else " (removed)")
                     for span in _spans(functions[at], changed[at] - ran_of[at])]
    return seen or not left, left


def _range(hunk: re.Match[str], group: int) -> range:
    first = int(hunk[group])
    return range(first, first + int(hunk[group + 1] or 1))


def _spans(all_lines: set[int], lines: set[int]) -> list[str]:
    """Lines as "7" and "9-12": those that follow each other among all that do something."""
    order = {line: place for place, line in enumerate(sorted(all_lines))}
    groups = itertools.groupby(enumerate(sorted(lines)), lambda at: order[at[1]] - at[0])
    ends = [[line for _, line in group] for _, group in groups]
    return [str(one[0]) if len(one) == 1 else f"{one[0]}-{one[-1]}" for one in ends]


def _functions(clone: pathlib.Path, commit: Commit, file: str) -> set[int]:
    """Lines inside functions; none of a file that the commit lacks, or that is no Python."""
    if not file.endswith(".py") or not git(clone, "ls-tree", commit.id, "--", file):
        return set()
    try:
        return function_lines(compile(git(clone, "show", f"{commit.id}:{file}"), file, "exec",
                                      dont_inherit=True))
    except (SyntaxError, ValueError):
        return set()
