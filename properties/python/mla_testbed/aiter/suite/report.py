"""What the suite prints and writes: a line of progress, a table, JUnit."""

from __future__ import annotations

import functools
import pathlib
import sys
import xml.etree.ElementTree as ET

from .runner import FAIL, INCONCLUSIVE, PASS, SKIP, UNEXPECTED_PASS, Outcome

WIDTH = 24  # of the bar
NAME = 24  # of a test, at least


def progress(done: int, total: int, name: str) -> None:
    """One line that is written over, on a terminal only."""
    if not sys.stderr.isatty():
        return
    filled = WIDTH * done // max(total, 1)
    print(f"\r[{'#' * filled}{'.' * (WIDTH - filled)}] {done}/{total} {name:<28}", end="",
          file=sys.stderr, flush=True)
    if done == total:
        print(file=sys.stderr)


def table(outcomes: list[Outcome]) -> str:
    """One line a test: verdict, cases, comparisons, seconds, reason."""
    name = max([NAME, *(len(o.test) for o in outcomes)])
    lines = [f"{'test':<{name}} {'arch':<7} {'backend':<7} {'verdict':<15} {'cases':>5} "
             f"{'compared':>8} {'s':>6}  reason"]
    for o in outcomes:
        reason = " ".join(o.reason.split())
        reason = reason if len(reason) <= 100 else reason[:97] + "..."
        lines.append(f"{o.test:<{name}} {o.arch:<7} {o.backend:<7} {o.verdict:<15} {o.cases:>5} "
                     f"{o.comparisons:>8} {o.seconds:>6.1f}  {reason}")
    return "\n".join(line.rstrip() for line in lines)


def ported(outcomes: list[Outcome], *, accepted: bool) -> list[str]:
    """What ran in place of AITER's C++, of all tests together."""
    found = [o.ported for o in outcomes if o.ported is not None]
    if not found:
        return []
    whole = functools.reduce(lambda one, other: one.together(other), found)
    return whole.lines() + ([whole.advice("--ported")] if whole.changed and not accepted else [])


def write_junit(outcomes: list[Outcome], path: pathlib.Path) -> None:
    """JUnit: known failures pass, with a note; skips and inconclusive runs are skipped."""
    suite = ET.Element("testsuite", name="aiter op_tests", tests=str(len(outcomes)),
                       failures=str(sum(o.verdict in (FAIL, UNEXPECTED_PASS) for o in outcomes)))
    for o in outcomes:
        case = ET.SubElement(suite, "testcase", classname=f"aiter.{o.arch}.{o.backend}",
                             name=o.test, time=f"{o.seconds:.1f}")
        if o.verdict in (FAIL, UNEXPECTED_PASS):
            node = ET.SubElement(case, "failure", message=f"{o.verdict}: {o.reason}")
            node.text = "\n".join(o.failures) or o.log[-4000:]
        elif o.verdict in (SKIP, INCONCLUSIVE):
            ET.SubElement(case, "skipped", message=o.reason)
        elif o.verdict != PASS:
            ET.SubElement(case, "system-out").text = f"{o.verdict}: {o.reason}"
    path.write_bytes(ET.tostring(suite, encoding="utf-8", xml_declaration=True))


def exit_code(outcomes: list[Outcome]) -> int:
    """1 a failure, 5 a known one that passed, 4 nothing ran or something timed out, 0."""
    verdicts = {o.verdict for o in outcomes}
    if FAIL in verdicts:
        return 1
    if UNEXPECTED_PASS in verdicts:
        return 5
    if INCONCLUSIVE in verdicts or verdicts <= {SKIP}:
        return 4
    return 0
