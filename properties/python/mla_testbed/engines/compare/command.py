"""mla-testbed-engines compare: what a pull request of an engine changes."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import os
import pathlib

from ..._options import COMPUTE_UNITS
from ...aiter_history import commit_of
from ...errors import UsageError
from .. import report
from ..client import Setting, Tree
from ..line import CaseLine
from ..run import Plan, drawn, lines_of
from . import trees
from .compare import Compared
from .comparison import EngineComparison
from .sides import Asked, machine_of

#: Numbers of drawn cases that are looked at.
_MOST_DRAWN = 1 << 16


def run(options: argparse.Namespace, setting: Setting) -> int:
    """Runs the command; returns its exit code.

    Raises:
        MlaError: something is asked wrongly, or missing.
    """
    for name, path in (("report-md", options.report_md), ("json", options.json)):
        if path is not None:
            _writable(name, pathlib.Path(path))
    clone = pathlib.Path(options.src).resolve()
    asked = _asked(options, setting)
    told = dataclasses.replace(setting, tree=Tree("", str(clone)))
    with trees.told_by_git():
        base, head = (commit_of(clone, name) for name in (options.base, options.head))
        compared = Compared(clone, base, head, setting, options.arch)
        found = compared.judge(asked, Plan(told, options.arch).options())
    print(found.text(), flush=True)
    if options.report_md is not None:
        pathlib.Path(options.report_md).write_text(found.markdown(), encoding="utf-8")
    if options.json is not None:
        pathlib.Path(options.json).write_text(found.as_json(), encoding="utf-8")
    return exit_code(found)


def exit_code(found: EngineComparison) -> int:
    """1 something is worse, 4 what differs was not judged, or no case was, 0."""
    if found.worse:
        return report.FAILED
    if not found.judged or len(found.refused) == found.cases:
        return report.UNDECIDED
    return report.HELD


def _writable(name: str, path: pathlib.Path) -> None:
    if path.is_dir() or not os.access(path.resolve().parent, os.W_OK):
        raise UsageError(f"--{name} '{path}' cannot be written; expected a file")


def _asked(options: argparse.Namespace, setting: Setting) -> list[Asked]:
    """The cases, each once, and which of them are executed: spread over all."""
    if options.cases_file:
        cases = [case for file in options.cases_file for case in lines_of(file)]
        for case in cases:
            machine_of(setting, case, options.arch)
    else:
        found = (_on_a_product(setting, case, options.arch)
                 for case in drawn(options.seed, _MOST_DRAWN, setting.kind))
        cases = list(itertools.islice((case for case in found if case), options.cases))
    cases = list(dict.fromkeys(cases))
    if not cases:
        raise UsageError("there is no case to judge; expected 1 or more")
    due = [(number + 1) * options.attend // len(cases) > number * options.attend // len(cases)
           for number in range(len(cases))]
    return list(zip(cases, due, strict=True))


def _on_a_product(setting: Setting, case: str, arch: str | None) -> str:
    """A drawn case on the product of its architecture, since each machine is another import of the
    engine; "" if no engine can be asked for it."""
    line = CaseLine.parse(case)
    made = str(line.with_fields(cu=str(COMPUTE_UNITS[line["arch"]])))
    try:
        machine_of(setting, made, arch)
    except UsageError:
        return ""
    return made
