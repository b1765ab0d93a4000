"""Two commits of AITER beside each other: which cases, plans and code objects changed."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import tempfile
from collections.abc import Callable, Sequence

from .aiter.suite.runner import FAIL
from .aiter_cases import (
    Judged,
    full_case,
    judge_tree,
    read_judged,
    replayed,
    smallest,
)
from .aiter_changes import differences, refused
from .aiter_comparison import Change, Comparison, Refused
from .aiter_history import SOURCES, Commit, git, notes_on, take_out
from .aiter_kept import Kept
from .errors import MlaError

#: Shapes that meet each family of kernels: heads, rows, dtypes, cut and whole, with a plan and
#: without, prefill steps and chunks of their context.
CASES = {
    "gfx942": (
        "mla1:2q1s600;heads=16;cu=8;gran=1", "mla1:1q2s64_2q2s300;heads=16;cu=8;gran=1",
        "mla1:1q4s300;heads=16;cu=4;gran=1", "mla1:2q1s90;heads=128;cu=8;gran=1",
        "mla1:2q1s300;heads=16;cu=8;gran=1;dtype=fp8/fp8",
        "mla1:1q2s200;heads=16;cu=8;gran=1;dtype=fp8/fp8",
        "mla1:1q1s200;heads=128;cu=8;gran=1;dtype=fp8/fp8", "mla1:2q1s300;heads=16;planner=none"),
    "gfx950": (
        "mla1:2q1s600;heads=16;cu=8;gran=1", "mla1:1q4s300;heads=16;cu=4;gran=1",
        "mla1:2q1s90;heads=128;cu=8;gran=1", "mla1:1q2s200;heads=32;cu=8;gran=1;dtype=fp8/fp8",
        "mla1:2q1s300;heads=16;cu=8;gran=1;dtype=fp8/fp8",
        "mla1:1q1s200;heads=128;cu=8;gran=1;dtype=fp8/fp8", "mla1:2q1s300;heads=16;planner=none",
        "mla1:1q300s300_1q40s40;heads=16;cu=64;dtype=bf16/fp8;kind=prefill",
        "mla1:1q40s100;heads=16;cu=32;block=16;dtype=bf16/fp8;kind=prefill;planner=v12;workspace=64"),
}


def compare(clone: pathlib.Path, base: Commit, head: Commit, cases: dict[str, Sequence[str]]) \
        -> Comparison:
    """Judges the cases of each architecture over both commits.

    Raises:
        MlaError: both are one commit, a tree cannot be imported, or a case is no case.
    """
    if base == head:
        raise MlaError(f"base and head are one commit, {base.id[:10]}: nothing is compared")
    files = git(clone, "diff", "--name-only", "-z", base.id, head.id, "--",
                *SOURCES).split("\0")[:-1]
    changes: list[Change] = []
    not_taken: list[Refused] = []
    count = 0
    with tempfile.TemporaryDirectory(prefix="mla-testbed-compare-",
                                     ignore_cleanup_errors=True) as folder:
        sides = _Sides(clone, base, head, pathlib.Path(folder))
        for arch, lines in cases.items():
            full = list(dict.fromkeys(
                case for line in lines if (case := full_case(line, arch)) is not None))
            if not full:
                continue
            before, after = (sides.judged(commit, arch, full) for commit in (base, head))
            count += len(full)
            for case in full:
                changes += [Change(arch, sides.smallest(arch, case, one.name) if one.name else case,
                                   one.what, one.kind)
                            for one in differences(before[case], after[case])]
                if why := refused(after[case]):
                    not_taken.append(Refused(arch, case, why, lost=not refused(before[case])))
    return Comparison(base, head, files, [name for name in files if not _used(name, sides.read)],
                      count, changes, not_taken, notes_on(clone, base, head, SOURCES))


def _used(name: str, read: set[str]) -> bool:
    """A file that was read, or one of a folder of which any may have been."""
    return name in read or any(str(parent) in read for parent in pathlib.PurePath(name).parents)


class _Sides:
    """Both trees, taken out when a question has no answer yet. read: what they used."""

    def __init__(self, clone: pathlib.Path, base: Commit, head: Commit,
                 folder: pathlib.Path) -> None:
        self._clone, self._base, self._head, self._folder = clone, base, head, folder
        self._kept = Kept(clone)
        self.read: set[str] = set()

    def judged(self, commit: Commit, arch: str, cases: Sequence[str]) -> dict[str, Judged]:
        """What is said of each case over a commit."""

        def make() -> str:
            try:
                found = judge_tree(self._tree(commit), arch, cases)
            except MlaError as e:  # the cases were read before: it is the tree
                raise MlaError(f"{commit.id[:10]} comes to no answer: {e}") from e
            return json.dumps({case: dataclasses.asdict(one) for case, one in found.items()})

        told = json.loads(self._ask(commit, arch, cases, make, _conclusive))
        return {case: read_judged(one) for case, one in told.items()}

    def smallest(self, arch: str, case: str, name: str) -> str:
        """The smallest case on which a property fails over the head, and does not over the base."""
        found = self._ask(self._head, arch, ("smallest", case, name), lambda: smallest(
            self._tree(self._head), arch, case, name))
        if not found or found == case:
            return case
        over_base = self._ask(self._base, arch, ("property", found, name), lambda: next(
            one["verdict"] for one in replayed(self._tree(self._base), arch, found,
                                               ["--property", name])))
        return case if over_base == FAIL else found

    def _ask(self, commit: Commit, arch: str, told: Sequence[str], make: Callable[[], str],
             keep: Callable[[str], bool] = lambda _: True) -> str:
        said, names = self._kept.ask(commit, arch, told, make, keep=keep)
        self.read |= names
        return said

    def _tree(self, commit: Commit) -> pathlib.Path:
        tree = self._folder / commit.id
        if not tree.exists():
            take_out(self._clone, commit, tree)
        return tree


def _conclusive(said: str) -> bool:
    """Whether no case may have another answer another time, as with more memory."""
    return not any(one["inconclusive"] for one in json.loads(said).values())
