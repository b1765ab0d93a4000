"""One project on one architecture: each kernel over drawn cases."""

from __future__ import annotations

import dataclasses
import pathlib
import time
from collections import Counter
from collections.abc import Iterable, Iterator

from ...errors import UsageError
from ..case import Case
from ..draw import drawn
from ..inputs import inputs_of
from .kernel import NOT_RUN, REFUSED, RIGHT, WRONG, Kernel, NotTakenError, need

PROJECTS = ("vllm", "sglang", "aiter")
#: How often a case is drawn anew that the kernel does not take.
_TRIES = 400


@dataclasses.dataclass(frozen=True)
class Judged:
    """A kernel on a case. what: the first finding, or why it was refused."""

    project: str
    kernel: str
    stage: str
    arch: str
    case: str
    verdict: str
    property: str = ""
    what: str = ""
    seconds: float = 0.0


def kernels_of(project: str, tree: pathlib.Path) -> tuple[Kernel, ...]:
    """To be called inside `device.entered`.

    Raises:
        UsageError: the tree lacks a function.
    """
    if project == "vllm":
        from .vllm import kernels  # noqa: PLC0415
    elif project == "sglang":
        from .sglang import kernels  # noqa: PLC0415
    elif project == "aiter":
        from .aiter import kernels  # noqa: PLC0415
    else:
        raise UsageError(f"project is '{project}'; expected one of {', '.join(PROJECTS)}")
    return kernels(tree)


def judged(project: str, kernel: Kernel, arch: str, case: Case) -> Judged:
    """The verdict on a case.

    A kernel that Triton does not compile for it, or that says so itself, refuses it. A fault of the
    emulator is wrong. A module of AITER that cannot be built, or is not served, did not run.
    """
    from ... import errors  # noqa: PLC0415
    from ...aiter.imports import NotServedError  # noqa: PLC0415
    from ...triton import KernelFault  # noqa: PLC0415

    verdict, property_id, what, begin = RIGHT, "", "", time.monotonic()
    try:
        _taken(kernel, case)
        found = kernel.judge(inputs_of(case), arch)
        if found:
            verdict, property_id, what = WRONG, found[0].property, found[0].what
    except (KernelFault, errors.FaultError) as e:
        verdict, property_id, what = WRONG, "fault", _line(e)
    except NotServedError as e:
        verdict, what = NOT_RUN, _line(e)
    except NotTakenError as e:
        verdict, what = REFUSED, str(e)
    except (UsageError, NameError):  # a name that the extraction left out
        raise
    except Exception as e:  # noqa: BLE001 whatever the other project raises is its refusal
        if _ours(e):
            raise
        verdict, what = REFUSED, f"{type(e).__name__}: {_line(e)}"
    return Judged(project, kernel.name, kernel.stage, arch, str(case), verdict, property_id, what,
                  time.monotonic() - begin)


def run(project: str, tree: pathlib.Path, arch: str, seed: int, cases: int,
        names: Iterable[str] = ()) -> Iterator[Judged]:
    """Every kernel, or those that are named, over so many cases that it takes."""
    wanted = set(names)
    for kernel in kernels_of(project, tree):
        if wanted and kernel.name not in wanted:
            continue
        for number in _numbers(kernel, arch, seed, cases):
            yield judged(project, kernel, arch, _drawn(kernel, arch, seed, number))


def _drawn(kernel: Kernel, arch: str, seed: int, number: int) -> Case:
    """Rows of the cache are bf16 where the kernel does not say otherwise."""
    return drawn(seed, number, arch, **{"cache": "bf16", **kernel.fixed})


def _taken(kernel: Kernel, case: Case) -> None:
    cache = kernel.fixed.get("cache", "bf16")
    need(case.cache == cache, f"rows of the cache that is attended are '{cache}'")
    kernel.taken(case)


def _numbers(kernel: Kernel, arch: str, seed: int, cases: int) -> list[int]:
    """Of cases that the kernel takes."""
    made: list[int] = []
    for number in range(_TRIES):
        if len(made) == cases:
            break
        try:
            _taken(kernel, _drawn(kernel, arch, seed, number))
        except NotTakenError:
            continue
        made.append(number)
    return made


def table(found: list[Judged]) -> str:
    """Markdown: function, stage, and for each architecture how many cases are right, wrong,
    refused, with the first finding or reason."""
    archs = sorted({one.arch for one in found})
    lines = [f"| project | function | stage | {' | '.join(archs)} |",
             f"| --- | --- | --- |{' --- |' * len(archs)}"]
    for project, kernel, stage in dict.fromkeys((j.project, j.kernel, j.stage) for j in found):
        cells = [_cell([j for j in found if (j.project, j.kernel, j.arch) ==
                        (project, kernel, arch)]) for arch in archs]
        lines.append(f"| {project} | `{kernel}` | {stage} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(found: list[Judged]) -> str:
    counts = Counter(one.verdict for one in found)
    said = ", ".join(f"{counts[verdict]} {verdict}" for verdict in (RIGHT, WRONG, REFUSED, NOT_RUN)
                     if counts[verdict])
    properties = sorted({one.property for one in found if one.property})
    return said + (f" ({', '.join(properties)})" if properties else "")


def _ours(error: Exception) -> bool:
    """Whether it was raised in this package, which is a mistake of ours."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is not None and "mla_testbed/sparse/" in at.tb_frame.f_code.co_filename


def _line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "")[:300]
