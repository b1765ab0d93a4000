"""Judges the real kernels of the sparse chain, on the emulated GPUs.

    python -m mla_testbed.sparse.real --vllm DIR --sglang DIR --aiter DIR --cases 5
    python -m mla_testbed.sparse.real --vllm DIR --arch gfx942 --kernel NAME --case 'sparse1:...'

Each project and architecture runs in a process of its own. Exit code: 0 all are right or refused,
1 one is wrong, 2 usage, 3 something that is needed is not there, 4 nothing was right, or a kernel
could not be built.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence

from ...errors import UsageError
from ..case import Case
from ..draw import FP8
from .judged import PROJECTS, Judged, judged, kernels_of, run, table
from .kernel import NOT_RUN, RIGHT, WRONG

USAGE, ENVIRONMENT, UNDECIDED = 2, 3, 4
ARCHS = ("gfx942", "gfx950")


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        prog="python -m mla_testbed.sparse.real", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    for project in PROJECTS:
        made.add_argument(f"--{project}", metavar="DIR", type=pathlib.Path,
                          help=f"a source tree of {project}")
    made.add_argument("--arch", action="append", choices=ARCHS, help="default: both")
    made.add_argument("--cases", type=int, default=5, help="of each kernel; 5")
    made.add_argument("--seed", type=int, default=1, help="of the cases; 1")
    made.add_argument("--kernel", action="append", default=[], metavar="NAME", help="only these")
    made.add_argument("--case", help="judge this one case, sparse1:..., instead of drawn ones")
    made.add_argument("--inner", help=argparse.SUPPRESS)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    options = parser().parse_args(arguments)
    try:
        if options.case is not None:
            Case.parse(options.case)
        if options.inner:
            return _inner(options)
        chosen = [p for p in PROJECTS if getattr(options, p) is not None]
        if not chosen:
            raise UsageError("no source tree; expected --vllm, --sglang or --aiter DIR")
        for project in chosen:
            if not getattr(options, project).is_dir():
                raise UsageError(f"--{project} is '{getattr(options, project)}'; expected a folder")
    except UsageError as e:
        print(f"sparse.real: {e}", file=sys.stderr)
        return USAGE
    return _outer(options, chosen)


def _outer(options: argparse.Namespace, chosen: list[str]) -> int:
    found: list[Judged] = []
    failed = 0
    for project in chosen:
        for arch in options.arch or ARCHS:
            code = _child(options, project, arch, found)
            failed = failed or code
    if found:
        print(table(found))
    if failed:
        return failed
    if any(one.verdict == WRONG for one in found):
        return 1
    ran = {one.verdict for one in found}
    return 0 if RIGHT in ran and NOT_RUN not in ran else UNDECIDED


def _child(options: argparse.Namespace, project: str, arch: str, found: list[Judged]) -> int:
    """A process for a project and an architecture; its lines are verdicts."""
    command = [sys.executable, "-m", "mla_testbed.sparse.real", "--inner", project, "--arch", arch,
               f"--{project}", str(getattr(options, project)), "--cases", str(options.cases),
               "--seed", str(options.seed)]
    command += [part for name in options.kernel for part in ("--kernel", name)]
    command += ["--case", options.case] if options.case else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if not line.startswith("{"):
                continue
            one = Judged(**json.loads(line))
            found.append(one)
            _say(one)
    return child.returncode


def _say(one: Judged) -> None:
    """A line for what is wrong, as it is found; the first line is greppable."""
    if one.verdict == WRONG:
        print(f"FAIL {one.property} {one.case} {one.project} {one.kernel} {one.arch}")
        print(f"  {one.what}")
        print(f"REPRO: python -m mla_testbed.sparse.real --{one.project} DIR --arch {one.arch} "
              f"--kernel {shlex.quote(one.kernel)} --case '{one.case}'", flush=True)
    elif one.verdict != RIGHT:
        print(f"{one.verdict} {one.kernel} {one.arch} {one.case}: {one.what}", flush=True)


def case_on(arch: str, line: str) -> Case:
    """The case of a line, in the encoding of the architecture where the line names none."""
    case = Case.parse(line)
    return case if ";fp8=" in line else dataclasses.replace(case, fp8=FP8[arch])


def _inner(options: argparse.Namespace) -> int:
    try:
        from .device import entered  # noqa: PLC0415 needs torch, and says so
    except ImportError as e:
        print(f"sparse.real: {e}", file=sys.stderr)
        return ENVIRONMENT
    project, arch = options.inner, options.arch[0]
    tree = getattr(options, project).resolve()
    with entered(arch, tree if project == "aiter" else None):
        if options.case is not None:
            case = case_on(arch, options.case)
            verdicts: Iterator[Judged] = (judged(project, kernel, arch, case)
                        for kernel in kernels_of(project, tree)
                        if not options.kernel or kernel.name in options.kernel)
        else:
            verdicts = run(project, tree, arch, options.seed, options.cases, options.kernel)
        for one in verdicts:
            print(json.dumps(dataclasses.asdict(one)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
