"""Judges the cases over both commits, groups what changed, and makes what is worse smaller."""

from __future__ import annotations

import contextlib
import pathlib
import re
import tempfile
import time
from collections.abc import Iterator, Sequence

from ..._cases import minimise
from ...aiter_changes import Difference
from ...aiter_comparison import Change, Refused
from ...aiter_history import Commit, git, notes_on
from ...aiter_kept import Kept
from ...errors import UsageError
from ..client import Setting
from ..findings import INCONCLUSIVE, REFUSED, Judgement
from ..line import CaseLine
from . import trees
from .comparison import EngineChange, EngineComparison
from .lines import unrun
from .sides import Asked, Side, machine_of, same_for
from .told import changed

#: Cases tried to make one change smaller, seconds for it, and for all of them.
_TRIES, _SECONDS, _ALL_SECONDS = 100, 30.0, 120.0


class Compared:
    """Both commits while they are judged."""

    def __init__(self, clone: pathlib.Path, base: Commit, head: Commit, setting: Setting,
                 arch: str | None) -> None:
        self._clone, self._setting, self._arch = clone, setting, arch
        layout = trees.layout_of(setting.engine)
        names = ("diff", "--name-only", "--no-renames", base.id, head.id, "--")
        self._differ = git(clone, *names, *layout.paths).splitlines()
        self._of_mla = set(git(clone, *names, *layout.of_mla).splitlines())
        kept = Kept(clone)
        self._sides = [Side(commit, setting, arch, self._differ, kept) for commit in (base, head)]
        self._until = 0.0

    def judge(self, asked: Sequence[Asked], options: str) -> EngineComparison:
        """The whole comparison. options: of replay, for a command."""
        same = same_for(self._setting, trees.installed(self._setting))
        with tempfile.TemporaryDirectory(prefix="mla-testbed-compare-",
                                         ignore_cleanup_errors=True) as folder, self._closed():
            before, after = (side.judged(asked, pathlib.Path(folder).resolve(), same)
                             for side in self._sides)
            changes = self._changes(asked, before, after)
        base, head = self._sides
        used = base.ran.keys() | head.ran.keys()
        files = [file for file in self._differ if file in self._of_mla or file in used]
        left = unrun(self._clone, base.commit, head.commit, files, (base.ran, head.ran))
        refused = [Refused(self._arch_of(case), after[case].case, _why(after[case]),
                           lost=not _why(before[case])) for case, _ in asked if _why(after[case])]
        said = base if not head.version else head
        ports = head.ported.lines() if head.ported else []
        return EngineComparison(
            base.commit, head.commit, files, left.files, len(asked), changes, refused,
            notes_on(self._clone, base.commit, head.commit,
                     trees.layout_of(self._setting.engine).paths),
            f"{self._setting.engine} {said.version}".strip(), said.aiter or "not asked", left.lines,
            options, ports, len(self._differ) - len(files))

    @contextlib.contextmanager
    def _closed(self) -> Iterator[None]:
        try:
            yield
        finally:
            for side in self._sides:
                side.close()

    def _on(self, machine: tuple[str, int], case: str) -> bool:
        """Whether a case is judged on that machine: another one is another import of the engine."""
        try:
            return machine_of(self._setting, case, self._arch) == machine
        except UsageError:
            return False

    def _arch_of(self, case: str) -> str:
        return machine_of(self._setting, case, self._arch)[0]

    def _changes(self, asked: Sequence[Asked], before: dict[str, Judgement],
                 after: dict[str, Judgement]) -> list[Change]:
        """Those alike are one; what is worse comes first."""
        groups: dict[tuple[str, str], list[tuple[Asked, Difference]]] = {}
        for one in asked:
            for found in changed(before[one[0]], after[one[0]]):
                key = (self._arch_of(one[0]), _alike(found))
                groups.setdefault(key, []).append((one, found))
        order = sorted(groups.items(), key=lambda group: not group[1][0][1].kind.worse)
        self._until = time.monotonic() + _ALL_SECONDS
        return [self._change(arch, group, after) for (arch, _), group in order]

    def _change(self, arch: str, group: list[tuple[Asked, Difference]],
                after: dict[str, Judgement]) -> EngineChange:
        (case, attend), found = group[0]
        small, what = after[case].case, found.what
        if found.kind.worse:
            small, what = self._smaller(small, attend, found)
        return EngineChange(arch, small, what, found.kind, len(group), case,
                            self._sides[1].commit.id[:12])

    def _smaller(self, case: str, attend: bool, first: Difference) -> tuple[str, str]:
        """The smallest case that was found on which the same is worse, and how it is told there."""
        best, machine = (case, first.what), machine_of(self._setting, case, self._arch)
        until = min(self._until, time.monotonic() + _SECONDS)

        def worse(candidate: str) -> bool:
            nonlocal best
            if time.monotonic() > until or not self._on(machine, candidate):
                return False
            before, after = (side.judge(candidate, attend=attend) for side in self._sides)
            for found in changed(before, after):
                if found.kind.worse and _alike(found) == _alike(first):
                    best = (after.case, found.what)
                    return True
            return False

        minimise(str(CaseLine.parse(case)), worse, tries=_TRIES)
        return best


def _alike(found: Difference) -> str:
    """Equal for changes that are probably one: their sentences without numbers and cases."""
    text = re.sub(r"mla1:\S+", "CASE", found.what)
    return f"{found.kind.name} {re.sub(r'-?[0-9]+', '#', text)}"


def _why(found: Judgement) -> str:
    """Why a case was not judged; "": it was."""
    if found.verdict in (REFUSED, INCONCLUSIVE):
        return f"{found.verdict}: {found.reason}"
    return ""
