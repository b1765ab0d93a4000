"""mla-testbed-engines: judges the metadata builders of serving engines (docs/use/engines.md)."""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import LibraryError, MlaError, UsageError
from ..interrupts import sigterm_interrupts
from . import ledger, report
from .client import ONE_CASE, EngineMissing, Setting, Workers
from .compare import options as compare_options
from .compare import trees
from .e2e import options as e2e_options
from .findings import FAIL, PASS, REFUSED
from .kinds import CASE_KINDS, KINDS
from .line import CaseLine
from .run import Plan, Run, bundles_in, drawn, judge_all, lines_of

_NAME = "mla-testbed-engines"


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    made = argparse.ArgumentParser(
        prog=_NAME, description="Judge the metadata builder of a serving engine, unmodified.",
        epilog="Exit codes: 0 held, 1 a failure, 2 usage, 3 an engine is not installed, "
               "4 inconclusive, or changed C++ of AITER did not run, 5 a known failure passed, "
               "10 the case is refused.")
    commands = made.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="judge random cases")
    _common(run)
    _kind(run)
    run.add_argument("--cases", type=_count, default=200, help="how many are drawn (200)")
    run.add_argument("--seed", type=_count, default=1)
    run.add_argument("--cases-file", metavar="FILE", action="append", default=[],
                     help="judge the cases of this file instead of random ones")
    run.add_argument("--attend", type=_count, default=0, metavar="N",
                     help="execute N of the cases as well, and compare with the reference")
    _reporting(run)
    replay = commands.add_parser("replay", help="judge one case")
    replay.add_argument("case")
    _common(replay)
    replay.add_argument("--bundles", metavar="DIR", help="save the bundle of a step that fails")
    replay.add_argument("--kind", choices=tuple(KINDS), help="of steps; the case's own")
    _ported(replay)
    replay.add_argument("--no-attend", action="store_true", help="lists and plans only")
    replay.add_argument("--src", metavar="DIR",
                        help="a source tree or git clone of the engine: judge its package, over "
                             "the packages that are installed")
    replay.add_argument("--rev", metavar="A", help="a commit of --src in place of what lies there")
    fuzz = commands.add_parser("fuzz", help="search for failures, guided by what was found")
    _common(fuzz)
    _kind(fuzz)
    fuzz.add_argument("--for", dest="seconds", type=_seconds, default=60.0, metavar="TIME",
                      help="such as 90s, 30m or 8h (60s)")
    fuzz.add_argument("--database", metavar="DIR", default=".mla-testbed-fuzz",
                      help="what is kept between runs (.mla-testbed-fuzz)")
    fuzz.add_argument("--seed", type=_count, default=1)
    fuzz.add_argument("--attend", action="store_true", help="execute affordable steps too")
    _reporting(fuzz)
    table = commands.add_parser("table", help="a row of the tables in docs/findings")
    _common(table)
    _kind(table)
    table.add_argument("--cases", type=_count, default=200)
    table.add_argument("--attend", type=_count, default=40)
    table.add_argument("--ledger", metavar="FILE")
    e2e_options.add(commands)
    beside = commands.add_parser("compare", help="what a pull request of the engine changes")
    _common(beside)
    _kind(beside)
    compare_options.add(beside, _count)
    return made


def _common(made: argparse.ArgumentParser) -> None:
    made.add_argument("--engine", required=True,
                      help="vllm, sglang, atom, or module:class of an adapter")
    made.add_argument("--arch", choices=("gfx942", "gfx950"), help="instead of the cases' own")
    made.add_argument("--python", metavar="PATH",
                      help="the engine's interpreter or virtual environment (MLA_TESTBED_VLLM, "
                           "MLA_TESTBED_SGLANG, MLA_TESTBED_ATOM)")
    made.add_argument("--late-copies", action="store_true",
                      help="copies that do not block happen as late as a stream allows")
    made.add_argument("--without-aiter", action="store_true",
                      help="builders only, over this project's planners under AITER's names")
    made.add_argument("--option", metavar="NAME=VALUE", action="append", default=[], type=_option,
                      help="of the adapter, such as speculation=eagle3 for vllm "
                           "(docs/use/engines.md)")
    made.add_argument("--timeout", type=_seconds, default=ONE_CASE, help="for one case (120s)")


def _kind(made: argparse.ArgumentParser) -> None:
    made.add_argument("--kind", choices=tuple(KINDS), default="decode",
                      help="of steps: decode, prefill of MLA, sparse for decode over chosen keys, "
                           "ranks for decode of several that share contexts, "
                           "or fa for AITER's flash attention backend (decode)")


def _ported(made: argparse.ArgumentParser) -> None:
    made.add_argument("--ported", action="store_true",
                      help="accept that ports run in place of C++ of AITER that was changed")


def _reporting(made: argparse.ArgumentParser) -> None:
    _ported(made)
    made.add_argument("--ledger", metavar="FILE",
                      help="known failures; the one that ships with the package")
    made.add_argument("--no-ledger", action="store_true", help="nothing is known")
    made.add_argument("--bundles", metavar="DIR", help="save the bundle of each failure")
    made.add_argument("--junit", metavar="FILE")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"'{text}' is no number; expected 0 or more")
    if int(text) >= 1 << 64:
        raise argparse.ArgumentTypeError(f"'{text}' is too large; expected less than 2**64")
    return int(text)


def _option(text: str) -> str:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"'{text}' is no option; expected NAME=VALUE")
    return text


def _seconds(text: str) -> float:
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    number = text[:-1] if text[-1:] in units else text
    try:
        value = float(number) * units.get(text[-1:], 1.0)
    except ValueError:
        value = -1.0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"'{text}' is no time; expected such as 90s, 30m or 8h")
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    try:
        options = parser().parse_args(arguments)
    except SystemExit as e:
        return int(e.code or 0)
    try:
        with sigterm_interrupts():
            return _COMMANDS[options.command](options)
    except UsageError as e:
        return _error(e, report.USAGE)
    except (EngineMissing, LibraryError, OSError) as e:
        return _error(e, report.ENVIRONMENT)
    except MlaError as e:
        return _error(e, report.ENVIRONMENT)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return report.UNDECIDED


def _error(error: BaseException, code: int) -> int:
    print(f"{_NAME}: {error}", file=sys.stderr)
    return code


def _setting(options: argparse.Namespace) -> Setting:
    kind = getattr(options, "kind", None) or _kind_of(options.case)
    if kind == "decode" and any(option.startswith("dcp=") for option in options.option):
        kind = "ranks"
    return Setting(options.engine, options.python, options.late_copies, options.without_aiter,
                   options.timeout, tuple(options.option), kind)


def _kind_of(case: str) -> str:
    """The kind that a case is replayed as: its own, if engines are judged by it."""
    kind = CaseLine.parse(case)["kind"]
    return kind if kind in CASE_KINDS else "decode"


def _plan(options: argparse.Namespace) -> Plan:
    known = []
    if not options.no_ledger:
        known = ledger.read(pathlib.Path(options.ledger) if options.ledger else ledger.SHIPPED)
    bundles = _folder(options.bundles)
    if options.junit:
        junit = pathlib.Path(options.junit).resolve()
        if junit.is_dir() or not os.access(junit.parent, os.W_OK):
            raise UsageError(f"--junit '{options.junit}' cannot be written; expected a file")
    return Plan(_setting(options), options.arch, ledger=known, bundles=bundles, seed=options.seed,
                accepts_ports=options.ported)


def _folder(bundles: str | None) -> pathlib.Path | None:
    """The folder of --bundles, made."""
    if not bundles:
        return None
    try:
        pathlib.Path(bundles).mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise UsageError(f"--bundles '{bundles}' is no folder, and none can be made there: "
                         f"{e.strerror}") from e
    if not os.access(bundles, os.W_OK):
        raise UsageError(f"--bundles '{bundles}' cannot be written")
    return pathlib.Path(bundles)


def _reported(run: Run, options: argparse.Namespace) -> int:
    print(report.summary(run.tally, run.plan.ledger), flush=True)
    if options.junit:
        report.write_junit(run.tally, pathlib.Path(options.junit))
    return run.tally.exit_code()


def _run(options: argparse.Namespace) -> int:
    plan = _plan(options)
    plan.attend = options.attend
    cases: Any = drawn(options.seed, options.cases, options.kind)
    count = options.cases
    if options.cases_file:
        cases = [case for file in options.cases_file for case in lines_of(file)]
        count = len(cases)
    with Workers(plan.setting, plan.arch) as workers:
        run = Run(plan, workers)
        with _told(run, options):
            judge_all(run, cases, count)
        return _reported(run, options)


@contextlib.contextmanager
def _told(run: Run, options: argparse.Namespace) -> Iterator[None]:
    """What ends a run, such as an engine that is missing for one machine, follows its report."""
    try:
        yield
    except (MlaError, OSError):
        run.tally.interrupted = True
        if run.tally.cases:
            _reported(run, options)
        raise


def _replay(options: argparse.Namespace) -> int:
    _folder(options.bundles)
    with trees.given(_setting(options), options.src, options.rev) as setting:
        return _replayed(Plan(setting, options.arch, accepts_ports=options.ported), options)


def _replayed(plan: Plan, options: argparse.Namespace) -> int:
    with Workers(plan.setting, plan.arch) as workers:
        run = Run(plan, workers)
        found = run.judge(options.case, attend=not options.no_attend, bundles=options.bundles)
        engine = f"{options.engine} {run.tally.version}".strip()
        aiter = run.tally.aiter or "not asked"
        if found.verdict == FAIL:
            folder = pathlib.Path(options.bundles) if options.bundles else None
            print(report.Block(found, options.case, engine, aiter, plan.options(),
                               bundles=bundles_in(folder) if folder else (),
                               saved=f"{folder} has none that check reads" if folder else ""))
        print(f"case {found.case}\nengine {engine}, aiter {aiter}\n{found.verdict}"
              + (f": {found.reason}" if found.reason else ""))
        for change in found.adapted:
            print(f"changed for the engine: {change}")
        print(f"steps {found.built} built, {found.planned} planned, {found.replayed} for graphs, "
              f"{found.attended} attended")
        for opinion in found.opinions:
            print(f"decided differently by our core: {opinion}")
        for line in run.tally.of_ports():
            print(line)
    if found.verdict == PASS and run.tally.left_out:
        return report.UNDECIDED
    codes = {PASS: report.HELD, FAIL: report.FAILED, REFUSED: report.SKIPPED}
    return codes.get(found.verdict, report.UNDECIDED)


def _fuzz(options: argparse.Namespace) -> int:
    from .fuzz import fuzz

    plan = _plan(options)
    with Workers(plan.setting, plan.arch) as workers:
        run = Run(plan, workers)
        with _told(run, options):
            fuzz(run, options.seconds, pathlib.Path(options.database), options.seed,
                 attend=options.attend)
        return _reported(run, options)


def _table(options: argparse.Namespace) -> int:
    from .table import rows

    path = pathlib.Path(options.ledger) if options.ledger else ledger.SHIPPED
    archs = [options.arch] if options.arch else ["gfx942", "gfx950"]
    for line in rows(_setting(options), archs, ledger.read(path), options.cases, options.attend):
        print(line, flush=True)
    return report.HELD


def _compare(options: argparse.Namespace) -> int:
    from .compare.command import run

    return run(options, _setting(options))


def _e2e(options: argparse.Namespace) -> int:
    from .e2e.command import run

    return run(options)


_COMMANDS = {"run": _run, "replay": _replay, "fuzz": _fuzz, "table": _table,
             "e2e": _e2e, "compare": _compare}

if __name__ == "__main__":
    sys.exit(main())
