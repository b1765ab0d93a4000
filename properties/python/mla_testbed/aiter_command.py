"""mla-testbed aiter: AITER's commits judged, halved, and compared.

    mla-testbed aiter judge --rev A..B          the suite's tests over each commit of the MLA
    mla-testbed aiter bisect --good A --bad B CASE      the commit that changed a case's verdict
    mla-testbed aiter compare --base A --head B         what a pull request changes
    mla-testbed aiter report CASE                       a failure, as an issue's text

DIR (--aiter, or AITER_SRC) is a git clone of AITER with its history. AITER's own modules and
code objects run; each is built once and kept. Exit code: 0; 1 where something became worse, or
bisect found a commit; 2 for wrong options; 3 where something is missing; 4 where nothing that
differs was judged, a commit came to no answer, bisect has none, or an interrupt came.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import tempfile
import traceback
from collections.abc import Sequence

from .aiter.suite.tests import TESTS, AiterTest
from .aiter_cases import CaseLine, field_of, full_case, is_decode, planner_call
from .aiter_compare import CASES, compare
from .aiter_history import (
    Commit,
    HistoryError,
    commit_of,
    commits,
    first_changed,
    take_out,
    walk,
)
from .aiter_questions import Questions
from .aiter_report import Shown, show
from .errors import LibraryError, MlaError, UsageError
from .interrupts import sigterm_interrupts

USAGE, ENVIRONMENT, UNDECIDED = 2, 3, 4
_ARCHS = ("gfx942", "gfx950")


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(prog="mla-testbed aiter", description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    of = made.add_subparsers(dest="action", required=True)
    judge = of.add_parser("judge", help="the suite's tests over commits")
    judge.add_argument("--rev", metavar="A..B", required=True,
                       help="commits, tags or branches of the clone")
    judge.add_argument("--test", action="append", metavar="NAME",
                       help="of aiter_suite --list; default: mla_persistent and mla_reduce")
    judge.add_argument("--case", action="append", metavar="CASE", default=[],
                       help="judge this case too")
    halve = of.add_parser("bisect", help="the first commit with another verdict than A")
    halve.add_argument("case", metavar="CASE", nargs="?")
    halve.add_argument("--test", metavar="NAME", help="a test of the suite in place of a case")
    halve.add_argument("--property", metavar="LIST", default="",
                       help="of the case, ask only these (P05,P31)")
    halve.add_argument("--good", metavar="A", required=True)
    halve.add_argument("--bad", metavar="B", required=True)
    beside = of.add_parser("compare", help="cases and plans of two commits")
    beside.add_argument("--base", metavar="A", required=True)
    beside.add_argument("--head", metavar="B", required=True)
    beside.add_argument("--cases", metavar="FILE", help="a case on each line, in place of ours")
    beside.add_argument("--report-md", metavar="FILE", help="also write Markdown")
    told = of.add_parser("report", help="a case over a commit, as text that can be pasted into an "
                         "issue, with a script of AITER's own API")
    told.add_argument("case", metavar="CASE")
    told.add_argument("--rev", metavar="A", default="HEAD", help="the commit (HEAD)")
    told.add_argument("--report-md", metavar="FILE", help="write it there, not to standard output")
    for one in (judge, halve, beside, told):
        one.add_argument("--aiter", metavar="DIR", default=os.environ.get("AITER_SRC"),
                         help="a git clone of AITER (AITER_SRC)")
        if one is not told:
            one.add_argument("--arch", default="gfx942" if one is judge else None, choices=_ARCHS)
        one.add_argument("--timeout", type=float, default=1500, metavar="S",
                         help="seconds of one test or case, with what is compiled for it")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    options = parser().parse_args(arguments)
    if options.aiter is None:
        return _say_error("--aiter or AITER_SRC names a git clone of AITER", ENVIRONMENT)
    try:
        with sigterm_interrupts():
            return {"judge": _judge, "bisect": _bisect, "compare": _compare, "report": _report}[
                options.action](options, pathlib.Path(options.aiter))
    except (HistoryError, LibraryError) as e:
        why, code = str(e), ENVIRONMENT
    except (UsageError, OSError) as e:
        why, code = str(e), USAGE
    except MlaError as e:
        why, code = str(e), UNDECIDED
    except KeyboardInterrupt:
        why, code = "interrupted; a commit that was judged whole is kept", UNDECIDED
    except Exception:  # not 1, which says that something became worse
        traceback.print_exc()
        why, code = "this is a defect of mla-testbed", ENVIRONMENT
    return _say_error(why, code)


_Asked = AiterTest | CaseLine


def _tests(names: Sequence[str]) -> list[_Asked]:
    found = [test for test in TESTS if test.name in names]
    missing = sorted(set(names) - {test.name for test in found})
    if missing:
        raise UsageError(f"no test '{missing[0]}': python -m mla_testbed.aiter_suite --list has "
                         "them")
    return list(found)


def _judge(options: argparse.Namespace, clone: pathlib.Path) -> int:
    cases = [CaseLine(_full(case, options.arch)) for case in options.case]
    names = options.test or ([] if cases else ["mla_persistent", "mla_reduce"])
    judge = Questions(clone, options.arch, options.timeout)
    asked: list[_Asked] = [*_tests(names), *cases]
    return 1 if walk(commits(clone, options.rev), asked, judge, _say) else 0


def _bisect(options: argparse.Namespace, clone: pathlib.Path) -> int:
    if (options.case is None) == (options.test is None):
        raise UsageError("bisect takes a case or --test NAME")
    if options.test and options.property:
        raise UsageError("--property is of a case, and --test names a test of AITER's")
    arch = options.arch or (field_of(planner_call(options.case)["name"], "arch") if options.case
                            else _ARCHS[0])
    asked = (_tests([options.test])[0] if options.test
             else CaseLine(_full(options.case, arch), options.property))
    judge = Questions(clone, arch, options.timeout)
    found = first_changed(clone, f"{options.good}..{options.bad}", asked, judge, _say)
    if not found:
        _say("one verdict at both ends")
        return 0
    if len(found) > 1:
        _say("first changed: one of these, since only the last has a verdict")
    for commit in found:
        _say(f"{'' if len(found) > 1 else 'first changed: '}{commit.id} {commit.date} "
             f"{commit.title}")
    return 1 if len(found) == 1 else UNDECIDED


def _cases(file: pathlib.Path) -> tuple[str, ...]:
    """The lines of a file that are cases."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as e:
        raise UsageError(f"'{file}' is no text in UTF-8: byte {e.start} is "
                         f"{e.object[e.start]:#04x}") from e
    told = tuple(line for line in map(str.strip, text.splitlines())
                 if line and not line.startswith("#"))
    if not told:
        raise UsageError(f"'{file}' has no case")
    return told


def _compare(options: argparse.Namespace, clone: pathlib.Path) -> int:
    archs = _ARCHS if options.arch is None else (options.arch,)
    lines: dict[str, Sequence[str]] = {arch: CASES[arch] for arch in archs}
    if options.cases is not None:
        told = _cases(pathlib.Path(options.cases))
        lines = {arch: told for arch in archs}
    if options.report_md is not None and not pathlib.Path(options.report_md).parent.is_dir():
        raise UsageError(f"--report-md: there is no folder for '{options.report_md}'")
    found = compare(clone, commit_of(clone, options.base), commit_of(clone, options.head), lines)
    if found.cases == 0:
        raise UsageError(f"no case is of {' or '.join(archs)}")
    _say(found.text())
    if options.report_md is not None:
        page = found.markdown()
        worse = next((change for change in found.changes
                      if change.kind.worse and is_decode(change.case)), None)
        if worse is not None:
            page += "\n" + _shown(clone, found.head, worse.case, found.base).markdown()
        pathlib.Path(options.report_md).write_text(page, encoding="utf-8")
    if found.worse:
        return 1
    return 0 if found.judged else UNDECIDED


def _report(options: argparse.Namespace, clone: pathlib.Path) -> int:
    found = _shown(clone, commit_of(clone, options.rev), options.case)
    if options.report_md is None:
        _say(found.markdown())
    else:
        pathlib.Path(options.report_md).write_text(found.markdown(), encoding="utf-8")
    return 1 if found.wrong else 0


def _shown(clone: pathlib.Path, commit: Commit, case: str, base: Commit | None = None) -> Shown:
    call = planner_call(case)
    if not is_decode(call["name"]):
        raise UsageError(f"a report is about a decode step, and '{case}' is of kind "
                         f"{field_of(call['name'], 'kind')}: mla-testbed replay judges it")
    with tempfile.TemporaryDirectory(prefix="mla-testbed-report-") as folder:
        trees = {one.id: pathlib.Path(folder) / one.id for one in (commit, base) if one}
        for one in (commit, base):
            if one and not trees[one.id].exists():
                take_out(clone, one, trees[one.id])
        return show(trees[commit.id], commit, call, trees[base.id] if base else None)


def _full(case: str, arch: str) -> str:
    found = full_case(case, arch)
    if found is None:
        raise UsageError(f"the case names another architecture, and --arch is {arch}")
    return found


def _say(line: str) -> None:
    print(line, flush=True)


def _say_error(sentence: str, code: int) -> int:
    print(f"mla-testbed aiter: {sentence}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
