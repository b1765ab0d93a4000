"""Known defects of SGLang, and of SGLang with one AITER, shown by running them.

    python -m mla_testbed.engines.sglang.defects [--arch gfx942]

For each: SHOWN with the case and the sentence, OTHER where something else went wrong, "not here"
where this version does not have it, "not run" with a reason. Exit code: 0 none is shown, 1 one is,
3 SGLang or AITER cannot be imported.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..._options import COMPUTE_UNITS
from ..decode.kind import Decode
from ..engine import Machine
from ..findings import INCONCLUSIVE, REFUSED
from ..judge import judge
from ..line import CaseLine
from . import scenarios
from .adapter import SglangEngine
from .scenarios import NotRun, Shown


class Defect(NamedTuple):
    """A defect.

    Attributes:
        name: a report's number, or of the specification's list.
        what: what is wrong, in general.
        show: runs it; None where it does not happen.
    """

    name: str
    what: str
    show: Callable[[SglangEngine], Shown | None]


def of_case(case: str, text: str) -> Callable[[SglangEngine], Shown | None]:
    """A defect that judging one case shows, with `text` in the sentence."""
    arch = CaseLine.parse(case)["arch"]

    def show(engine: SglangEngine) -> Shown | None:
        if engine.machine.arch != arch:
            raise NotRun(f"its case is one of {arch}")
        found = judge(Decode(), engine, case, attend=True)
        if found.verdict in (REFUSED, INCONCLUSIVE):
            raise NotRun(found.reason)
        if not found.findings:
            return None
        first = found.findings[0]
        return Shown(found.case, f"{first.property} {first.what}", other=text not in first.what)

    return show


GFX942, GFX950 = "arch=gfx942;cu=304", "arch=gfx950;cu=256"
DEFECTS: tuple[Defect, ...] = (
    Defect("aiter#3496", "64 heads are missing in the gate of fast_mode",
           of_case(f"mla1:4q1s1000;heads=64;dtype=fp8/fp8;{GFX942}",
                   "the planner writes element")),
    Defect("sglang#24587", "a graph's kv_indices has room for pages and gets tokens",
           of_case(f"mla1:2q1s70;heads=16;block=64;dtype=fp8/fp8;{GFX942};pad=1",
                   "out-of-bounds in kernel 'create_flashinfer_kv_indices")),
    Defect("sglang#31221", "a graph's verification has the constructor's number of rows",
           of_case(f"mla1:2q4s70+2q3s70;heads=16;dtype=fp8/fp8;{GFX942};data=normal.2;pad=1",
                   "4 rows; expected 3")),
    Defect("sglang#38709", "with ranks the model unpacks an LSE that decode does not return",
           scenarios.result_of_a_rank),
    Defect("globals", "module globals of a constructor change later backends",
           scenarios.two_backends),
    Defect("reduce-table", "a copied table of head counts is older than AITER",
           scenarios.aged_table),
    Defect("moved-index-keys", "the pool of a model with an indexer moves pages where tokens move",
           scenarios.moved_index_keys),
    Defect("need_lse", "the prefill planner gets a parameter that AITER before #3606 lacks",
           of_case(f"mla1:1q40s40;heads=16;dtype=fp8/fp8;{GFX950}",
                   "expected at most 16 argument")),
    Defect("query-dtype", "the planner is told the cache's dtype for a bf16 query",
           of_case(f"mla1:1q1s40;heads=128;dtype=bf16/fp8;{GFX942}",
                   "out of request 0")),
    Defect("gluon-gfx942", "gfx942 is sent to mla_gluon, which asserts gfx950",
           of_case(f"mla1:1q5s33;heads=12;dtype=fp8/fp8;{GFX942};data=normal.2",
                   "requires gfx950")),
    Defect("short-requests", "planner v1.0 divides by 0 splits below 196 keys",
           of_case(f"mla1:1q1s40;heads=16;dtype=fp8/fp8;{GFX950}",
                   "gives it 0 splits")),
    Defect("lost-keys", "planner v1.0 drops the last 1 to 4 keys of a request just past a block",
           of_case(f"mla1:1q1s65;heads=16;block=64;dtype=fp8/fp8;{GFX942}",
                   "keys 64..65 of the request are covered by no work")),
    Defect("dp-splits", "with DP attention buffers are for fewer than the 16 splits of v1.0",
           of_case(f"mla1:21q1s256;heads=16;dtype=fp8/fp8;{GFX942};data=normal.5",
                   "the planner writes element")),
    Defect("more-heads", "48, 80, 96 and 112 heads are missing in the gate of fast_mode too",
           of_case(f"mla1:1q1s300;heads=80;dtype=bf16/bf16;{GFX950}",
                   "the planner writes element")),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Shows what this environment's SGLang has."""
    parser = argparse.ArgumentParser(prog="python -m mla_testbed.engines.sglang.defects")
    parser.add_argument("--arch", default="gfx942", choices=sorted(COMPUTE_UNITS))
    options = parser.parse_args(arguments)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what SGLang and AITER print
    try:
        engine = SglangEngine(Machine(options.arch, COMPUTE_UNITS[options.arch]))
    except ImportError as e:
        print(f"mla-testbed: {e}", file=sys.stderr)
        return 3
    of = f"engine=sglang {engine.version} aiter={engine.aiter} arch={options.arch}"
    return max(report(engine, defect, of, out) for defect in DEFECTS)


def report(engine: SglangEngine, defect: Defect, of: str, out: Any) -> int:
    """Prints what became of one defect; 1 if it, or something else in its place, is shown."""
    try:
        shown = defect.show(engine)
    except NotRun as e:
        print(f"not run {defect.name} {of}: {e}", file=out, flush=True)
        return 0
    if shown is None:
        print(f"not here {defect.name} {of}", file=out, flush=True)
        return 0
    what = "another finding than: " if shown.other else ""
    print(f"{'OTHER' if shown.other else 'SHOWN'} {defect.name} {shown.case} {of}\n"
          f"  {what}{defect.what}\n  {shown.what}", file=out, flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
