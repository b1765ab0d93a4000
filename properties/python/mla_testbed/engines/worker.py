r"""The process in which one engine runs on one machine: cases as JSON lines in, judgements out.

    python -m mla_testbed.engines.worker ENGINE ARCH COMPUTE_UNITS [late] [without-aiter] \
        [OPTION=VALUE ...] [KIND]

Engines keep state in modules, and their imports depend on the architecture: one configuration is
one process. The first line out is {"engine", "version", "aiter", "attends"} or {"error"}. Whatever
else the engine prints goes to standard error.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sys
import traceback
from collections.abc import Sequence
from typing import IO, Any

from ..errors import MlaError
from ..module_use import compiled, counts, function_lines
from .coverage import Coverage
from .engine import Machine
from .findings import INCONCLUSIVE, Judgement
from .judge import judge
from .kind import Kind
from .kinds import KINDS, load
from .raised import place

#: Characters of a foreign error that are told.
_MOST_SAID = 400


def main(arguments: list[str]) -> int:
    """Serves until its input ends; 3 if the engine cannot be loaded."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    name, arch, units, *more = arguments
    options = tuple((n, v) for n, equals, v in (text.partition("=") for text in more) if equals)
    kind = KINDS[next((known for known in KINDS if known in more), "decode")]
    machine = Machine(arch, int(units), "late" in more, "without-aiter" in more, options, kind.name)
    try:
        engine = load(name, machine)
    except (ImportError, MlaError, OSError) as e:
        _say(out, {"error": f"{type(e).__name__}: {e}"})
        return 3
    except Exception as e:  # what an engine raises at its import, in one line
        traceback.print_exc()
        said = " ".join(str(e).split())[:_MOST_SAID]
        _say(out, {"error": f"{type(e).__name__}: {said} {place(e)}".strip()})
        return 3
    _say(out, {"engine": engine.name, "version": engine.version, "aiter": engine.aiter,
               "attends": getattr(engine, "attends", True), "file": _file_of(name)})
    coverage = Coverage(getattr(engine, "sources", ()))
    for text in sys.stdin:
        asked: dict[str, Any] = json.loads(text)
        watching = Coverage(asked["watch"]) if asked.get("watch") else coverage
        with (watching.watched() if asked.get("cover") or asked.get("watch")
              else contextlib.nullcontext()):
            found = _judged(kind, engine, arch, asked)
        if asked.get("cover"):
            found = dataclasses.replace(found, fresh_lines=coverage.fresh,
                                        covered=len(coverage.lines))
        if watching is not coverage:
            found = dataclasses.replace(found, ran=_ran(watching, asked["watch"]))
        ported = engine.ported().as_json() if hasattr(engine, "ported") else None
        _say(out, {**found.as_json(), "ported": ported})
    return 0


def _judged(kind: Kind[Any, Any], engine: Any, arch: str, asked: dict[str, Any]) -> Judgement:
    """What the engine raises is a finding; what is raised beside it says nothing about it."""
    try:
        return judge(kind, engine, asked["case"], arch=arch, attend=asked.get("attend", False),
                     bundles=asked.get("bundles"), words=asked.get("words", False))
    except Exception as e:
        traceback.print_exc()
        at = traceback.extract_tb(e.__traceback__)[-1]
        return Judgement(asked["case"], INCONCLUSIVE, reason=(
            f"the judge itself, or an adapter of another kind: {type(e).__name__}: {e} "
            f"({os.path.basename(at.filename)}:{at.lineno} in {at.name})"))


def _file_of(name: str) -> str:
    """Where the engine was imported from."""
    module = sys.modules.get(name.partition(":")[0].partition(".")[0])
    return str(getattr(module, "__file__", "") or "")


def _ran(watching: Coverage, watched: Sequence[str]) -> dict[str, list[int]]:
    """Lines that ran, and those of Triton functions that were compiled, by file. A file without one
    has an entry if its module has constants only."""
    ran: dict[str, set[int]] = {}
    for file, line in watching.lines:
        ran.setdefault(file, set()).add(line)
    for module in tuple(sys.modules.values()):
        file = str(getattr(module, "__file__", None))
        if file in watched and counts(module):
            lines = (function_lines(value.fn.__code__) for value in compiled(module))
            ran.setdefault(file, set()).update(*lines)
    return {file: sorted(lines) for file, lines in ran.items()}


def _say(out: IO[str], what: dict[str, Any]) -> None:
    out.write(json.dumps(what) + "\n")
    out.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
