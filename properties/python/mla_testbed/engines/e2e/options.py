"""The options of mla-testbed-engines e2e."""

from __future__ import annotations

import argparse

from .scenario import NAMED

#: Seconds for one scenario, with the import of the engine.
ONE_SCENARIO = 600.0
#: What runs in place of AITER's modules where AITER is not there.
WITHOUT = "none"


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's options."""
    made = commands.add_parser("e2e", help="serve a small model with the whole engine, and compare "
                                           "its tokens with float32")
    made.add_argument("scenarios", nargs="*", metavar="SCENARIO",
                      help=f"{', '.join(NAMED)}, or a line such as e2e1:heads=8;block=64")
    made.add_argument("--engine", required=True, choices=("vllm", "sglang"))
    made.add_argument("--python", metavar="PATH",
                      help="the engine's interpreter or virtual environment (MLA_TESTBED_VLLM, "
                           "MLA_TESTBED_SGLANG)")
    made.add_argument("--random", type=int, default=0, metavar="N", help="draw N scenarios as well")
    made.add_argument("--seed", type=int, default=1, help="of the drawn ones (1)")
    made.add_argument("--timeout", type=float, default=ONE_SCENARIO, metavar="SECONDS",
                      help=f"for one scenario ({ONE_SCENARIO:g})")
    made.add_argument("--bundles", metavar="DIR", help="save the decode launch of each fault")
    made.add_argument("--shrink", type=int, default=0, metavar="N",
                      help="make a failing scenario smaller, in at most N further runs")
    made.add_argument("--ledger", metavar="FILE",
                      help="known failures (those that ship with the package)")
    made.add_argument("--no-ledger", action="store_true", help="nothing is known")
    made.add_argument("--ported", action="store_true",
                      help="accept that ports run in place of C++ of AITER that was changed")
    made.add_argument("--modules", default="ported", choices=("auto", "own", "ported"),
                      help="AITER's compiled modules: our ports (default), its own, or its own "
                           "where its C++ is not the one that the ports follow")
    made.add_argument("--without-aiter", dest="modules", action="store_const", const=WITHOUT,
                      help="AITER is not needed: this project's planners, stage 1 and reduce "
                           "(model=mla, heads=16, bf16)")
    made.add_argument("--html", metavar="FILE", help="write a page of all scenarios")
    made.add_argument("--json", metavar="FILE", help="write what was found, one object a line")
