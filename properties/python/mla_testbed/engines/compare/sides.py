"""The workers of both commits: the same cases, each judged over one of them."""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import json
import os
import pathlib
import select
import subprocess
import time
from collections.abc import Sequence

from ...aiter.own import cache
from ...aiter_history import Commit, take_out
from ...aiter_kept import Kept
from ...errors import LibraryError
from ...ported import Ported
from .. import adapt
from ..client import EngineMissing, Setting, Tree, Worker, Workers
from ..findings import INCONCLUSIVE, Judgement
from ..kinds import KINDS
from ..line import CaseLine
from . import trees

#: A case, and whether it is executed.
Asked = tuple[str, bool]
_PREFIXES = ("VLLM_", "SGLANG_", "ATOM_", "AITER_", "TRITON_", "MLA_TESTBED_")


def machine_of(setting: Setting, case: str, arch: str | None) -> tuple[str, int]:
    """The machine that a case is judged on. UsageError: no engine can be asked for it."""
    return adapt.product(KINDS[setting.kind].adapt(CaseLine.parse(case), arch))


class Side:
    """One commit.

    Attributes:
        commit: which. ran: of the watched files that were used the lines that ran.
        version, aiter: what the engine said. ported: in whose place ports ran.
    """

    def __init__(self, commit: Commit, setting: Setting, arch: str | None, watch: Sequence[str],
                 kept: Kept) -> None:
        self.commit, self._setting, self._arch, self._kept = commit, setting, arch, kept
        self._watch, self._place = tuple(watch), pathlib.Path()
        self._workers: Workers | None = None
        self._missing: dict[tuple[str, int], str] = {}
        self.ran: dict[str, set[int]] = {}
        self.version = self.aiter = ""
        self.ported: Ported | None = None

    def judged(self, asked: Sequence[Asked], folder: pathlib.Path, same: Sequence[str] | None
               ) -> dict[str, Judgement]:
        """Each case; what was kept is not judged again.

        Args:
            folder: for the tree. same: what else an answer depends on; None: nothing is kept.
        """
        self._place = folder / self.commit.id
        layout = trees.layout_of(self._setting.engine)

        def make() -> str:
            found = self._all(asked)
            return json.dumps({
                "answers": {case: one.as_json() for case, one in found.items()},
                "version": self.version, "aiter": self.aiter,
                "ported": self.ported.as_json() if self.ported else None})

        if same is None:
            said = make()
        else:
            told = [*same, *self._watch, *(f"{case} {attend}" for case, attend in asked)]
            said, _ = self._kept.ask(self.commit, str(self._arch), told, make, layout.paths,
                                     lambda text: f'"verdict": "{INCONCLUSIVE}"' not in text)
        answer = json.loads(said)
        self.version, self.aiter = answer["version"], answer["aiter"]
        self.ported = Ported.of_json(answer["ported"]) if answer["ported"] else None
        found = {case: Judgement.of_json(one) for case, one in answer["answers"].items()}
        for one in found.values():
            for file, lines in one.ran.items():
                self.ran.setdefault(file, set()).update(lines)
        return found

    def judge(self, case: str, *, attend: bool) -> Judgement:
        """One case, anew."""
        return self._all([(case, attend)])[case]

    def _all(self, asked: Sequence[Asked]) -> dict[str, Judgement]:
        """A worker for each machine, all at once; what took too long is asked a second time."""
        queues: dict[tuple[str, int], collections.deque[Asked]] = {}
        for one in asked:
            machine = machine_of(self._setting, one[0], self._arch)
            queues.setdefault(machine, collections.deque()).append(one)
        found = self._served(queues)
        late = [one for one in asked if found[one[0]].reason.startswith("took longer than")]
        if late and len(asked) > 1:
            found |= {case: self.judge(case, attend=attend) for case, attend in late}
        return found

    def _served(self, queues: dict[tuple[str, int], collections.deque[Asked]]
                ) -> dict[str, Judgement]:
        found: dict[str, Judgement] = {}
        workers = {machine: self._worker(machine) for machine in queues}
        for worker in workers.values():
            worker.start()  # all import at the same time
        busy: dict[int, tuple[tuple[str, int], str, float]] = {}
        while busy or any(queues.values()):
            for machine, queue in queues.items():
                while queue and machine not in {place for place, _, _ in busy.values()}:
                    case, attend = queue.popleft()
                    posted = self._posted(machine, workers[machine], case, attend)
                    if isinstance(posted, Judgement):
                        found[case] = posted
                    else:
                        busy[posted] = (machine, case, time.monotonic())
            for at in self._ready(list(busy), busy):
                machine, case, _ = busy.pop(at)
                found[case] = self._told(workers[machine], workers[machine].collect(case))
        return found

    def _ready(self, places: list[int], busy: dict[int, tuple[tuple[str, int], str, float]]
               ) -> list[int]:
        """Those that have answered, else the one that was asked first and is late."""
        if not places:
            return []
        first = min(places, key=lambda at: busy[at][2])
        left = max(0.0, busy[first][2] + self._setting.one_case - time.monotonic())
        return select.select(places, [], [], left)[0] or [first]

    def _posted(self, machine: tuple[str, int], worker: Worker, case: str, attend: bool
                ) -> Judgement | int:
        if machine not in self._missing:
            try:
                return worker.post({"case": case, "attend": attend, "words": True,
                                    "watch": [str(self._place / file) for file in self._watch]})
            except EngineMissing as e:
                self._missing[machine] = str(e)
        return Judgement(case, INCONCLUSIVE, reason=self._missing[machine])

    def _told(self, worker: Worker, found: Judgement) -> Judgement:
        self.version, self.aiter = worker.version, worker.aiter
        if worker.ported is not None:
            self.ported = (worker.ported if self.ported is None
                           else worker.ported.together(self.ported))
        below = f"{self._place}{os.sep}"
        return dataclasses.replace(found, ran={
            file.removeprefix(below): lines for file, lines in found.ran.items()})

    def _worker(self, machine: tuple[str, int]) -> Worker:
        if self._workers is None:
            layout = trees.layout_of(self._setting.engine)
            take_out(self._kept.clone, self.commit, self._place, layout.paths)
            directory = trees.take_in(self._place, layout, trees.installed(self._setting))
            tree = Tree(directory, str(self._kept.clone), self.commit.id)
            self._workers = Workers(dataclasses.replace(self._setting, tree=tree), self._arch)
        return self._workers.of(machine)

    def close(self) -> None:
        """Ends its processes."""
        if self._workers is not None:
            self._workers.close()


def same_for(setting: Setting, here: trees.Installed) -> list[str] | None:
    """What answers depend on beside the commit: packages, settings, AITER. None: AITER cannot be
    told from another one."""
    aiter = _state_of_aiter(setting)
    try:
        cache.stand_in()
    except LibraryError:  # no part of an installation without HIP, and of what is asked for keeping
        return None
    if aiter is None:
        return None
    of_environment = sorted(f"{name}={value}" for name, value in os.environ.items()
                            if name.startswith(_PREFIXES))
    told = dataclasses.replace(setting, tree=None)
    return ["engines", repr(told), repr(here.packages), aiter, *of_environment]


def _state_of_aiter(setting: Setting) -> str | None:
    """The commit of AITER's tree, and what differs from it; "" where its version is enough. None:
    it is no clone, or has files of which git knows only the name."""
    tree = os.environ.get("AITER_SRC")
    if setting.without_aiter or not tree:
        return ""
    asked = [subprocess.run(["git", "-C", tree, *words], capture_output=True, check=False)
             for words in (("rev-parse", "HEAD"), ("diff", "HEAD"), ("status", "--porcelain"))]
    if any(one.returncode for one in asked):
        return None
    if any(line.startswith(b"??") for line in asked[-1].stdout.splitlines()):
        return None
    return hashlib.sha256(b"\0".join(one.stdout for one in asked)).hexdigest()
