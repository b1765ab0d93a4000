"""The options of mla-testbed-engines compare."""

from __future__ import annotations

import argparse
from collections.abc import Callable

#: Cases that are drawn, and how many of them are executed.
CASES, ATTEND = 60, 20


def add(made: argparse.ArgumentParser, count: Callable[[str], int]) -> None:
    """Those that other commands do not have."""
    made.add_argument("--src", metavar="DIR", required=True, help="a git clone of the engine")
    made.add_argument("--base", metavar="A", required=True, help="the commit before the change")
    made.add_argument("--head", metavar="B", default="HEAD", help="the commit with it (HEAD)")
    made.add_argument("--cases", type=count, default=CASES, metavar="N",
                      help=f"how many are drawn ({CASES})")
    made.add_argument("--seed", type=count, default=1)
    made.add_argument("--cases-file", metavar="FILE", action="append", default=[],
                      help="judge the cases of this file instead of random ones")
    made.add_argument("--attend", type=count, default=ATTEND, metavar="N",
                      help=f"execute N of the cases as well, over both commits ({ATTEND})")
    made.add_argument("--report-md", metavar="FILE", help="also write Markdown")
    made.add_argument("--json", metavar="FILE", help="also write JSON")
