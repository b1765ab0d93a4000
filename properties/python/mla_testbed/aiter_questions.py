"""What is asked of each commit of AITER: a test of the suite, or a case. Answers are kept."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import tempfile

from .aiter.suite import ledger, runner
from .aiter.suite.tests import AiterTest
from .aiter_cases import CaseLine, case_verdict
from .aiter_history import PATHS, Commit, Verdict, take_out
from .aiter_kept import Kept


class Questions:
    """Judges tests of the suite, and cases, over the commits of a clone.

    What was inconclusive is asked again by the next Questions: a file may have stood in the way
    that was never used, or the time.
    """

    def __init__(self, clone: pathlib.Path, arch: str, timeout: float) -> None:
        self._clone, self._arch, self._timeout = clone, arch, timeout
        self._kept, self._known = Kept(clone), ledger.read()
        self._said: dict[tuple[Commit, AiterTest | CaseLine], Verdict] = {}

    def __call__(self, commit: Commit, asked: AiterTest | CaseLine) -> Verdict:
        """The verdict; an earlier one where all that was used is the same. A test is taken to use
        all that is taken out: its processes do not tell."""
        key = (commit, asked)
        if key not in self._said:
            told, used = ((("case", asked.name, asked.properties), ())
                          if isinstance(asked, CaseLine) else (("test", asked.name), PATHS))
            said, _ = self._kept.ask(commit, self._arch, told, lambda: self._judged(commit, asked),
                                     used, _is_conclusive)
            self._said[key] = Verdict(**json.loads(said))
        return self._said[key]

    def _judged(self, commit: Commit, asked: AiterTest | CaseLine) -> str:
        with tempfile.TemporaryDirectory(prefix="mla-testbed-history-") as folder:
            tree = pathlib.Path(folder)
            take_out(self._clone, commit, tree)
            if isinstance(asked, CaseLine):
                verdict = case_verdict(tree, self._arch, asked, self._timeout)
            else:
                plan = runner.Plan(tree, self._arch, "aiter", False, self._timeout, modules="own")
                outcome = runner.run(asked, plan, self._known)
                verdict = Verdict(outcome.verdict, " ".join(outcome.reason.split()))
        return json.dumps(dataclasses.asdict(verdict))


def _is_conclusive(said: str) -> bool:
    return Verdict(**json.loads(said)).verdict != runner.INCONCLUSIVE
