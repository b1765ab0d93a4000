"""Runs one test of AITER in a fresh process and judges what it found."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from typing import Any

from ...ported import OWN_RAN, Ported
from . import smallest
from .ledger import Known
from .tests import AiterTest

PASS, FAIL, KNOWN_FAIL = "pass", "fail", "known-fail"
UNEXPECTED_PASS, SKIP, INCONCLUSIVE = "unexpected-pass", "skip", "inconclusive"

#: Of the seconds of a test, those that one case may take.
CASE_SHARE = 0.2


@dataclasses.dataclass
class Outcome:
    """What one run of one test came to.

    cases: benchmark calls or pytest tests. comparisons: of checkAllclose. failures: unexplained
    ones, as text. known: ids of the ledger with the failures that each explains. slow: cases that
    took too long, which the ledger does not explain. skipped: AITER's reasons for skipped cases,
    and how many have each. ported: what ran in place of AITER's C++.
    """

    test: str
    arch: str
    backend: str
    verdict: str
    reason: str = ""
    cases: int = 0
    comparisons: int = 0
    failures: list[str] = dataclasses.field(default_factory=list)
    known: dict[str, int] = dataclasses.field(default_factory=dict)
    slow: int = 0
    skipped: dict[str, int] = dataclasses.field(default_factory=dict)
    seconds: float = 0
    log: str = ""
    ported: Ported | None = None


@dataclasses.dataclass(frozen=True)
class Plan:
    """How tests are run: source tree, machine, grid, seconds of a test, folder for logs.

    ported: changed C++ in whose place ports ran is accepted. modules: see own.choice.choose.
    """

    tree: pathlib.Path
    arch: str
    backend: str
    original_grid: bool
    timeout: float
    logs: pathlib.Path | None = None
    ported: bool = False
    modules: str = "auto"


def why_not(test: AiterTest, plan: Plan) -> str | None:
    """Why a test is not run; None if it is."""
    if not test.path(plan.tree).is_file():
        return f"this AITER has no op_tests/{test.file}"
    if plan.arch not in test.archs:
        return f"AITER has it for {' and '.join(test.archs)} only"
    if plan.backend == "aiter" and test.small_aiter is None and plan.modules != "own":
        return "nothing of it runs in AITER's decode kernels on a small grid"
    if test.triton and not _has_triton_driver():
        return "it launches Triton kernels, and mla_testbed.triton cannot be used here"
    return None


def run(test: AiterTest, plan: Plan, ledger: list[Known]) -> Outcome:
    """Runs a test; everything that goes wrong becomes a verdict."""
    outcome = Outcome(test.name, plan.arch, plan.backend, INCONCLUSIVE)
    reason = why_not(test, plan)
    if reason is not None:
        outcome.verdict, outcome.reason = SKIP, reason
        return outcome
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mla-testbed-suite-") as folder:
        found = pathlib.Path(folder) / "findings.json"
        junit = pathlib.Path(folder) / "junit.xml"
        code, text = _process(_command(test, plan, found, junit), folder, test, plan)
        outcome.seconds = time.monotonic() - start
        outcome.log = text
        findings = json.loads(found.read_text(encoding="utf-8")) if found.is_file() else None
        failures = _failures(findings)
        if findings is not None:
            outcome.ported = Ported.of_json(findings["ported"])
        if test.pytest and junit.is_file():
            outcome.cases, outcome.skipped, more = _of_pytest(junit)
            failures += more
            if outcome.cases == sum(outcome.skipped.values()):
                outcome.verdict, outcome.reason = SKIP, f"the test skips itself{_reasons(outcome)}"
                return outcome
        elif findings is not None:
            outcome.comparisons = len(findings["comparisons"])
            outcome.cases = findings["cases"] or outcome.comparisons
    _explain(outcome, failures, ledger)
    _judge(outcome, code, ledger)
    _of_what_did_not_run(outcome, test)
    if not plan.ported:
        _of_changed_sources(outcome)
    return outcome


def _command(
    test: AiterTest, plan: Plan, findings: pathlib.Path, junit: pathlib.Path
) -> list[str]:
    command = [sys.executable, "-m", "mla_testbed.python_command", "--arch", plan.arch,
               "--backend", plan.backend, "--aiter", str(plan.tree), "--keep-going",
               "--modules", plan.modules, "--ported", "--findings", str(findings)]
    file = str(test.path(plan.tree))
    if test.pytest:
        command += ["-m", "pytest", "--", file, "-q", "-p", "no:cacheprovider",
                    f"--junitxml={junit}"]
        if test.keyword is not None:
            command += ["-k", test.keyword]
        if test.smallest and not plan.original_grid:
            command += ["-p", smallest.__name__,
                        f"{smallest.OPTION}={plan.timeout * CASE_SHARE:g}"]
        return command
    if plan.original_grid:
        return [*command, "--", file]
    if test.driver is not None:
        return [*command, "-m", test.driver, "--", file]
    small = plan.backend == "aiter" and test.small_aiter or test.small
    return [*command, "--", file, *(small or ())]


def _process(
    command: list[str], folder: str, test: AiterTest, plan: Plan
) -> tuple[int | None, str]:
    """Exit code, None after a time-out; and the output.

    folder: an empty one to run in, because Python imports modules from where it starts.
    """
    environment = dict(os.environ) | dict(test.environment)
    if test.always_persistent:
        environment["AITER_MLA_DECODE_PERSISTENT_MAX_BATCH"] = "0"
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True,
                              timeout=plan.timeout, env=environment, cwd=folder)
    except subprocess.TimeoutExpired as e:
        output = e.stdout or b""
        return None, output.decode("utf-8", "replace") if isinstance(output, bytes) else output
    return done.returncode, done.stdout + done.stderr


def _failures(findings: dict[str, Any] | None) -> list[tuple[dict[str, str], str]]:
    """(case, text) of every failed comparison and every case that raised."""
    if findings is None:
        return []
    failed = [(c["case"], f"{c['message']} ({c['share']:.1%} outside the tolerance)")
              for c in findings["comparisons"] if c["failed"]]
    return failed + [(r["case"], f"{r['error']}: {r['text']}") for r in findings["refused"]]


def _of_pytest(
    junit: pathlib.Path
) -> tuple[int, dict[str, int], list[tuple[dict[str, str], str]]]:
    """Tests, reasons of skipped ones, failures."""
    cases = ET.parse(junit).getroot().findall(".//testcase")
    skipped: dict[str, int] = {}
    failures = []
    for case in cases:
        node = case.find("skipped")
        if node is not None:
            reason = node.get("message") or "no reason"
            skipped[reason] = skipped.get(reason, 0) + 1
        for kind in ("failure", "error"):
            node = case.find(kind)
            if node is not None:
                failures.append(({"test": case.get("name", "")}, _message(node)))
    return len(cases), skipped, failures


def _message(node: ET.Element) -> str:
    """Of a failure; with what was raised where pytest says that elsewhere or cuts it off."""
    message = node.get("message", "")
    raised = [line[1:].strip() for line in (node.text or "").splitlines() if line.startswith("E ")]
    if message == "collection failure" and raised:
        return f"{message}: {raised[0]}"
    if "full report in element text" in message and raised:
        return f"{message.splitlines()[0]} ... {raised[-1]}"
    return message


def _reasons(outcome: Outcome) -> str:
    """AITER's own, for the table."""
    return "".join(f"; {n} skipped: {reason}" for reason, n in sorted(outcome.skipped.items()))


def _explain(
    outcome: Outcome, failures: list[tuple[dict[str, str], str]], ledger: list[Known]
) -> None:
    covering = [k for k in ledger if k.covers(outcome.test, outcome.arch, outcome.backend)]
    for case, text in failures:
        known = next((k for k in covering if k.explains(case, text)), None)
        if known is None and smallest.TOO_LONG in text:
            outcome.slow += 1
        elif known is None:
            named = " ".join(f"{name}={value}" for name, value in case.items())
            outcome.failures.append(f"{text} [{named}]")
        else:
            outcome.known[known.id] = outcome.known.get(known.id, 0) + 1


def _judge(outcome: Outcome, code: int | None, ledger: list[Known]) -> None:
    missing = [k.id for k in ledger if k.always and k.id not in outcome.known
               and k.covers(outcome.test, outcome.arch, outcome.backend)]
    if outcome.failures:
        outcome.verdict = FAIL
        outcome.reason = outcome.failures[0]
    elif code is None:
        outcome.reason = "time-out"
    elif outcome.slow:
        outcome.reason = f"time-out of {outcome.slow} cases{_reasons(outcome)}"
    elif outcome.cases == 0:
        said = [line for line in outcome.log.splitlines()
                if line.startswith("mla-testbed-python: ") and "does not compile" in line]
        outcome.reason = said[0].partition(": ")[2] if said else f"no case ran; exit code {code}"
    elif code != 0 and not outcome.known:
        outcome.verdict, outcome.reason = FAIL, f"exit code {code}"
    elif missing:
        outcome.verdict, outcome.reason = UNEXPECTED_PASS, f"not seen: {', '.join(missing)}"
    elif outcome.known:
        outcome.verdict = KNOWN_FAIL
        outcome.reason = ", ".join(f"{id} ({n})" for id, n in sorted(outcome.known.items()))
        outcome.reason += _reasons(outcome)
    else:
        outcome.verdict, outcome.reason = PASS, _reasons(outcome).removeprefix("; ")


def _of_what_did_not_run(outcome: Outcome, test: AiterTest) -> None:
    """A test of a module that AITER did not choose says nothing of it."""
    ran = " ".join(line for line in outcome.log.splitlines() if OWN_RAN in line)
    missing = [name for name in test.modules if name not in ran]
    if missing and outcome.verdict in (PASS, KNOWN_FAIL):
        outcome.reason = f"did not run: {', '.join(missing)}"
        outcome.verdict = INCONCLUSIVE


def _of_changed_sources(outcome: Outcome) -> None:
    """Tests that hold over ports say nothing about C++ that the ports do not contain."""
    changed = outcome.ported.changed if outcome.ported is not None else {}
    if changed and outcome.verdict in (PASS, KNOWN_FAIL):
        outcome.reason = f"changed C++ did not run: {', '.join(changed)}"
        outcome.verdict = INCONCLUSIVE


def _has_triton_driver() -> bool:
    import importlib.util  # noqa: PLC0415

    return all(importlib.util.find_spec(name) is not None
               for name in ("triton", "mla_testbed.triton"))
