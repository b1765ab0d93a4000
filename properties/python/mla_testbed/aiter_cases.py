"""Cases over trees of AITER: what `run --aiter` says of each, and what the trees plan."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from .aiter.tree.client import Tree
from .aiter.tree.lists import LISTS
from .aiter_history import Commit, Verdict, kept_verdict, take_out
from .errors import MlaError, UsageError

PASS, FAIL, INCONCLUSIVE, REFUSED = "pass", "fail", "inconclusive", "refused"
_ENDED = {0: PASS, 1: FAIL, 10: REFUSED}


@dataclasses.dataclass(frozen=True)
class CaseLine:
    """A case as a question to commits."""

    name: str


@dataclasses.dataclass(frozen=True)
class Failure:
    """case: the smallest that was found."""

    case: str
    message: str


@dataclasses.dataclass(frozen=True)
class Judged:
    """One case over one tree. failures: by property. plan: its lists, {} on a route without a plan.
    planless: why the tree made no plan; ""."""

    failures: dict[str, Failure]
    plan: dict[str, list[int]]
    planless: str = ""


def read_judged(told: dict[str, Any]) -> Judged:
    """What dataclasses.asdict made of one."""
    failures = {name: Failure(**one) for name, one in told["failures"].items()}
    return Judged(failures, told["plan"], told["planless"])


def command() -> str:
    """The command line of this project (MLA_TESTBED_COMMAND)."""
    return os.environ.get("MLA_TESTBED_COMMAND", "mla-testbed")


def _environment() -> dict[str, str]:
    """The tree's process is this Python."""
    return {"MLA_TESTBED_PYTHON": sys.executable, **os.environ}


def _ask(words: Sequence[str], timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run([command(), *words], capture_output=True, text=True, check=False,
                              env=_environment(), timeout=timeout)
    except FileNotFoundError as e:
        raise UsageError(f"there is no command '{command()}': MLA_TESTBED_COMMAND names it") from e


def planner_call(case: str) -> dict[str, Any]:
    """What a planner is asked for a case, and what was decided about it.

    Raises:
        UsageError: the case is malformed or refused.
    """
    done = _ask(["plan", case, "--json"])
    if done.returncode != 0:
        raise UsageError(done.stderr.strip() or f"mla-testbed plan ended with {done.returncode}")
    told: dict[str, Any] = json.loads(done.stdout)
    return told


class Cases:
    """Judges one case over commits."""

    def __init__(self, clone: pathlib.Path, arch: str, timeout: float) -> None:
        self._clone, self._arch, self._timeout = clone, arch, timeout

    def __call__(self, commit: Commit, case: CaseLine) -> Verdict:
        """The verdict, from the cache if the same files were judged before."""
        return kept_verdict((commit.key, case.name, self._arch), lambda: self._run(commit, case))

    def _run(self, commit: Commit, case: CaseLine) -> Verdict:
        with tempfile.TemporaryDirectory(prefix="mla-testbed-history-") as folder:
            tree = pathlib.Path(folder)
            take_out(self._clone, commit, tree)
            try:
                done = _ask(["replay", case.name, "--backend", "aiter", "--device",
                             f"emulated:{self._arch}", "--aiter", str(tree)], self._timeout)
            except subprocess.TimeoutExpired:
                return Verdict(INCONCLUSIVE, f"time-out: {self._timeout:.0f} s")
        lines = done.stdout.splitlines()
        if done.returncode == 1:
            return Verdict(FAIL, _first_failure(lines))
        return Verdict(_ENDED.get(done.returncode, INCONCLUSIVE), _last(done.stderr))


def _first_failure(lines: Sequence[str]) -> str:
    """The properties that failed, and what the first of them says."""
    named = [n for n, line in enumerate(lines) if line.startswith("FAIL ")]
    if not named:
        return "a property failed"
    at = named[0]
    return f"{lines[at].split()[1]}: {lines[min(at + 2, len(lines) - 1)].strip()}"


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith("mla-testbed ")]
    return lines[-1] if lines else ""


def judge_tree(tree: pathlib.Path, arch: str, cases: Sequence[str]) -> dict[str, Judged]:
    """Each case, written with all its fields, over one tree: one process plans them all, one run
    judges them all.

    Raises:
        MlaError: the tree cannot be imported, or the run came to no report.
    """
    with Tree(tree, arch, dict(os.environ)) as process:
        plans = {case: _plan(process, case) for case in cases}
    failures: dict[str, dict[str, Failure]] = {case: {} for case in cases}
    for told in _run(tree, arch, cases)["failures"]:
        original = told.get("original") or told["case"]
        failures[original][told["property"]] = Failure(told["case"], told["message"])
    return {case: Judged(failures[case], *plans[case]) for case in cases}


def _plan(process: Tree, case: str) -> tuple[dict[str, list[int]], str]:
    call = planner_call(case)
    if call["decisions"]["route"] == "split":
        return {}, ""
    try:
        lists = process.plan(call)
    except MlaError as e:
        return {}, str(e)
    return {name: np.asarray(lists[name]).reshape(-1).tolist() for name in LISTS}, ""


def _run(tree: pathlib.Path, arch: str, cases: Sequence[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="mla-testbed-cases-") as folder:
        file = pathlib.Path(folder) / "cases.txt"
        file.write_text("\n".join(cases) + "\n", encoding="utf-8")
        done = _ask(["run", "--backend", "aiter", "--device", f"emulated:{arch}", "--aiter",
                     str(tree), "--cases-file", str(file), "--json", "--no-progress"])
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except ValueError as e:
        raise UsageError(_last(done.stderr) or f"mla-testbed run ended with {done.returncode}") \
            from e
    backend: dict[str, Any] = report["backends"][0]
    return backend
