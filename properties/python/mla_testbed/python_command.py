"""mla-testbed-python: runs an unmodified script on a CPU as if it had one MI300X or MI355X.

    mla-testbed-python --arch gfx942 -- op_tests/test_mla_persistent.py -c 21 -b 1 -n 16,1

Of a script that AITER ships, failures that the suite's ledger explains are known ones.

Exit code: the script's own; 1 where a comparison of AITER's failed that AITER only logs and that is
no known failure; 2 for wrong options; 3 where something that is needed is not installed; 4 where
AITER's C++ differs from the version whose ports ran in its place, or a test of AITER's compared
nothing.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import runpy
import sys
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .aiter import Findings
    from .aiter.suite.ledger import Known

USAGE, ENVIRONMENT, UNDECIDED = 2, 3, 4


def parser() -> argparse.ArgumentParser:
    """The options in front of the script."""
    made = argparse.ArgumentParser(
        prog="mla-testbed-python",
        description="Run an unmodified Python script as on a machine with one AMD GPU.",
        epilog="The script finds `aiter` where Python finds it: installed, on PYTHONPATH, or in "
               "the tree that --aiter or AITER_SRC names.")
    made.add_argument("--arch", default="gfx942", help="gfx942 (MI300X) or gfx950 (MI355X)")
    made.add_argument("--cu", type=int, help="compute units; as many as the product has")
    made.add_argument("--backend", default="cpu",
                      help="what executes AITER's operations: cpu (the emulator) or aiter "
                           "(AITER's code objects in the gfx emulator)")
    made.add_argument("--late-copies", action="store_true",
                      help="copies that do not block happen as late as a stream allows")
    made.add_argument("--poison", action="store_true",
                      help="device memory of torch.empty is full of NaN and wrong indices")
    made.add_argument("--aiter", metavar="DIR", default=os.environ.get("AITER_SRC"),
                      help="a source tree of AITER (AITER_SRC)")
    made.add_argument("--keep-going", action="store_true",
                      help="go on after a case of AITER's benchmarks failed")
    made.add_argument("--as-written", action="store_true",
                      help="leave AITER's comparisons and its repeated runs as they are")
    made.add_argument("--modules", default="auto", choices=("auto", "own", "ported"),
                      help="AITER's compiled modules: its own, built by its own JIT for the "
                           "emulator; our ports of one version; auto: own where the C++ is not "
                           "the one that the ports follow")
    made.add_argument("--compare", action="store_true",
                      help="with own modules: call the port after each planner and reduce, and "
                           "fail where they differ")
    made.add_argument("--ported", action="store_true",
                      help="accept that mla-testbed's ports run in place of C++ that was changed; "
                           "without it that ends with 4")
    made.add_argument("--findings", metavar="FILE", help="write the comparisons as JSON")
    made.add_argument("-m", dest="module", metavar="MODULE", help="run a module, not a script")
    made.add_argument("script", nargs=argparse.REMAINDER, help="-- script.py arguments...")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    options = parser().parse_args(arguments)
    script = options.script[1:] if options.script[:1] == ["--"] else options.script
    if not script and options.module is None:
        parser().print_usage(sys.stderr)
        print("mla-testbed-python: no script named", file=sys.stderr)
        return USAGE
    if script and options.module is None and not pathlib.Path(script[0]).is_file():
        print(f"mla-testbed-python: no file '{script[0]}'", file=sys.stderr)
        return USAGE
    if options.findings is not None:
        options.findings = pathlib.Path(options.findings).absolute()  # the script may go elsewhere
        if not _writable(options.findings):
            print(f"mla-testbed-python: findings cannot be written to '{options.findings}'",
                  file=sys.stderr)
            return USAGE
    try:
        return _run(options, script)
    except ImportError as e:
        traceback.print_exc()
        print(f"mla-testbed-python: {e}", file=sys.stderr)
        return ENVIRONMENT


def _run(options: argparse.Namespace, script: list[str]) -> int:
    from . import world  # noqa: PLC0415 needs torch, and says so
    from .aiter import ComparisonError, Findings, Stage  # noqa: PLC0415
    from .aiter.suite import ledger, shipped  # noqa: PLC0415
    from .errors import LibraryError  # noqa: PLC0415
    from .world.operations import inside_operations  # noqa: PLC0415

    try:
        machine = world.machine(
            options.arch, options.cu, late_copies=options.late_copies, backend=options.backend,
            poison=options.poison)
    except ValueError as e:
        print(f"mla-testbed-python: {e}", file=sys.stderr)
        return USAGE
    entries = ledger.read()
    shown = pathlib.Path(script[0]) if options.module is None else pathlib.Path()
    findings = None if options.as_written else Findings(
        keep_going=options.keep_going,
        explain=shipped.explain(entries, shown, options.arch,
                                "aiter" if options.modules == "own" else options.backend))
    try:
        stage = Stage(machine, findings, tree=options.aiter, modules=options.modules,
                      compare=options.compare)
    except (FileNotFoundError, LibraryError) as e:
        print(f"mla-testbed-python: {e}", file=sys.stderr)
        return ENVIRONMENT
    if stage.choice.why:
        print(f"mla-testbed-python: {stage.choice.why}", file=sys.stderr)
    leave_operations = inside_operations(stage.world)
    try:
        code = _script(options.module, script)
    except ComparisonError:
        code = 1  # said below
    finally:
        ported, lines, differences = stage.ported(), stage.lines(), stage.differences()
        leave_operations()
        stage.leave()
        if findings is not None and options.findings is not None:
            findings.write(options.findings, ported)
        for line in lines:
            print(f"mla-testbed-python: {line}", file=sys.stderr)
    if findings is not None:
        code = _judge(findings, code, entries, compares=shipped.compares(shown))
    code = code or _of_differences(options, differences)
    if ported.changed and not options.ported:
        print(f"mla-testbed-python: {ported.advice('--ported')}", file=sys.stderr)
        return code or UNDECIDED
    return code


def _of_differences(options: argparse.Namespace, differences: Any) -> int:
    """The exit code that --compare asks for."""
    if not options.compare:
        return 0
    if differences is None or not differences.compared:
        print("mla-testbed-python: --compare compared nothing: no planner or reduce of AITER's own "
              "was called (--modules own)", file=sys.stderr)
        return UNDECIDED
    return 1 if differences.failures else 0


def _judge(findings: Findings, code: int, entries: list[Known], *, compares: bool) -> int:
    """Prints what the comparisons came to; the exit code that follows from the script's own."""
    failures, known = findings.failures(), findings.known()
    for failure in failures:
        print(f"FAIL {failure}", file=sys.stderr)
    for entry in entries:
        if entry.id in known:
            print(f"known {entry.id} ({known[entry.id]}): {entry.why} {entry.link}",
                  file=sys.stderr)
    if findings.found or compares:
        print(f"mla-testbed-python: {findings.summary()}", file=sys.stderr)
    if code == 0 and failures:
        return 1
    if code == 0 and compares and not findings.found and not known:
        print("mla-testbed-python: nothing was compared: no case of this test has these arguments",
              file=sys.stderr)
        return UNDECIDED
    return code


def _writable(path: pathlib.Path) -> bool:
    """Whether a file can be written there, which it is after the run: a long one would be lost."""
    try:
        if path.exists():
            return not path.is_dir() and os.access(path, os.W_OK)
        return path.parent.is_dir() and os.access(path.parent, os.W_OK)
    except OSError:  # a name that is too long, or a folder that may not be read
        return False


def _script(module: str | None, script: list[str]) -> int:
    """Runs a script or module as `python` does; its exit code."""
    try:
        if module is not None:
            sys.argv = [module, *script]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        else:
            sys.argv = list(script)
            sys.path.insert(0, str(pathlib.Path(script[0]).resolve().parent))
            runpy.run_path(script[0], run_name="__main__")
    except SystemExit as e:
        if e.code is None:
            return 0
        if isinstance(e.code, int):
            return e.code
        print(e.code, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
