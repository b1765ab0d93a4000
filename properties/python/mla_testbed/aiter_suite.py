"""Runs AITER's own op_tests, unmodified, on a CPU.

    python -m mla_testbed.aiter_suite --aiter ~/aiter
    python -m mla_testbed.aiter_suite --aiter ~/aiter --arch gfx950 --test mla_persistent
    python -m mla_testbed.aiter_suite --aiter ~/aiter --triton
    python -m mla_testbed.aiter_suite --aiter ~/aiter --sparse --modules own
    python -m mla_testbed.aiter_suite --aiter ~/aiter --opus --modules own

Every test runs in a process of its own. Exit code: 0 all held or failed as the ledger says, 1 a
failure that the ledger does not explain, 2 usage, 3 no AITER, 4 nothing ran, a time-out, or C++
that differs from the version whose ports ran in its place, 5 a known failure was not seen.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
from collections.abc import Sequence

from .aiter.suite import ledger, report, runner
from .aiter.suite.opus_tests import OPUS_TESTS
from .aiter.suite.sparse_tests import SPARSE_TESTS
from .aiter.suite.tests import TESTS, AiterTest
from .aiter.suite.triton_tests import TRITON_TESTS

USAGE, ENVIRONMENT = 2, 3
#: Lists of tests in place of the usual one, by the option that chooses each.
_LISTS = {"triton": TRITON_TESTS, "sparse": SPARSE_TESTS, "opus": OPUS_TESTS}


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        prog="python -m mla_testbed.aiter_suite", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--aiter", metavar="DIR", default=os.environ.get("AITER_SRC"),
                      help="a source tree of AITER (AITER_SRC)")
    made.add_argument("--arch", action="append", choices=("gfx942", "gfx950"),
                      help="default: both")
    made.add_argument("--backend", action="append", choices=("cpu", "aiter"),
                      help="default: cpu; with --modules own: aiter")
    made.add_argument("--test", action="append", metavar="NAME", help="only these; see --list")
    made.add_argument("--triton", action="store_true",
                      help="tests of AITER's Triton kernels: of each function its smallest case")
    made.add_argument("--sparse", action="store_true",
                      help="tests of the stages around sparse MLA; they need --modules own")
    made.add_argument("--opus", action="store_true",
                      help="tests of AITER's OPUS kernels of gfx950; they need --modules own")
    made.add_argument("--grid", choices=("small", "original"), default="small",
                      help="the tests' own grids take hours")
    made.add_argument("--timeout", type=float, default=600, metavar="S",
                      help="seconds of one test; 600. One case of a Triton test may take a fifth")
    made.add_argument("--modules", default="auto", choices=("auto", "own", "ported"),
                      help="AITER's compiled modules: its own, our ports, or (auto) its own where "
                           "its C++ is not the one that the ports follow")
    made.add_argument("--ported", action="store_true",
                      help="accept that mla-testbed's ports run in place of C++ that was changed")
    made.add_argument("--ledger", metavar="FILE", type=pathlib.Path, default=ledger.FILE,
                      help="known failures; the shipped file")
    made.add_argument("--junit", metavar="FILE", type=pathlib.Path, help="write JUnit XML")
    made.add_argument("--logs", metavar="DIR", type=pathlib.Path, help="keep each test's output")
    made.add_argument("--list", action="store_true", help="print the tests and end")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    options = parser().parse_args(arguments)
    wrong = _of_lists(options)
    if wrong:
        print(f"aiter_suite: {wrong}", file=sys.stderr)
        return USAGE
    tests = next((tests for name, tests in _LISTS.items() if getattr(options, name)), TESTS)
    if options.list:
        for test in tests:
            print(f"{test.name:<{report.NAME}} op_tests/{test.file}  {' '.join(test.small)}")
        return 0
    chosen = [t for t in tests if options.test is None or t.name in options.test]
    unknown = set(options.test or ()) - {t.name for t in tests}
    if unknown:
        print(f"aiter_suite: no test {', '.join(sorted(unknown))}; see --list", file=sys.stderr)
        return USAGE
    if options.aiter is None or not (pathlib.Path(options.aiter) / "op_tests").is_dir():
        print(f"aiter_suite: '{options.aiter}' has no op_tests; --aiter or AITER_SRC names a "
              "source tree of AITER (a clone of https://github.com/ROCm/aiter)", file=sys.stderr)
        return ENVIRONMENT
    try:
        known = ledger.read(options.ledger)
    except ledger.LedgerError as e:
        print(f"aiter_suite: {e}", file=sys.stderr)
        return USAGE
    return _run(options, chosen, known)


def _of_lists(options: argparse.Namespace) -> str:
    """What is wrong with the choice of a list of tests; "" if nothing is."""
    chosen = [f"--{name}" for name in _LISTS if getattr(options, name)]
    if len(chosen) > 1:
        return f"{' and '.join(chosen)} are lists of tests; expected one of them"
    if chosen in (["--sparse"], ["--opus"]) and options.modules != "own" and not options.list:
        return (f"--modules is '{options.modules}'; expected own, since the tests of {chosen[0]} "
                "call C++ of AITER's that has no port")
    return ""


def _run(options: argparse.Namespace, chosen: Sequence[AiterTest],
         known: list[ledger.Known]) -> int:
    tree = pathlib.Path(options.aiter).resolve()
    # AITER's own dispatch launches AITER's code objects.
    usual = ["aiter"] if options.modules == "own" else ["cpu"]
    machines = [(arch, backend) for backend in options.backend or usual
                for arch in options.arch or ["gfx942", "gfx950"]]
    outcomes: list[runner.Outcome] = []
    for arch, backend in machines:
        plan = runner.Plan(tree, arch, backend, options.grid == "original", options.timeout,
                           ported=options.ported, modules=options.modules)
        for test in chosen:
            report.progress(len(outcomes), len(machines) * len(chosen), f"{test.name} {arch}")
            outcome = runner.run(test, plan, known)
            outcomes.append(outcome)
            if options.logs is not None:
                options.logs.mkdir(parents=True, exist_ok=True)
                name = test.name.replace("/", "-")
                log = options.logs / f"{name}-{arch}-{backend}.log"
                log.write_text(outcome.log, encoding="utf-8")
    report.progress(len(outcomes), len(outcomes), "")
    print(report.table(outcomes))
    for outcome in outcomes:
        for failure in outcome.failures:
            print(f"FAIL {outcome.test} {outcome.arch}: {failure}")
    ids = {id for outcome in outcomes for id in outcome.known}
    for entry in known:
        if entry.id in ids:
            print(f"{entry.id}: {entry.why} {entry.link}")
    for line in report.ported(outcomes, accepted=options.ported):
        print(line)
    if options.junit is not None:
        report.write_junit(outcomes, options.junit)
    return report.exit_code(outcomes)


if __name__ == "__main__":
    sys.exit(main())
