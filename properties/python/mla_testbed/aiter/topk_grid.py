"""AITER's test_topk_per_row_stable on a small grid: its own main() sorts 512 rows of 40,000 keys.

    python -m mla_testbed.aiter.topk_grid op_tests/test_topk_per_row_stable.py
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .script import imported

TIES = ("none", "mild", "heavy")
#: (rows, keys of a row, k): more keys than k, fewer, long rows (a sort in place of scans), k above
#: what is sorted
PREFILL = ((2, 1100, 512), (2, 300, 512), (1, 33000, 512), (1, 3000, 2304))
#: (requests, keys, k, rows of a request)
DECODE = ((2, 1100, 512, 2), (1, 33000, 2048, 1))


def main(arguments: Sequence[str]) -> int:
    """Runs the grid; each case is one of AITER's benchmarks, with its verdict."""
    test = imported(arguments[0])
    from aiter.test_common import benchmark  # noqa: PLC0415 from the tree, as a script has it

    @benchmark()  # type: ignore[untyped-decorator, unused-ignore]
    def prefill(rows: int, keys: int, k: int, ties: str) -> dict[str, bool]:
        return {"all_close": test.check_prefill(rows, keys, k, ties)}

    @benchmark()  # type: ignore[untyped-decorator, unused-ignore]
    def decode(requests: int, keys: int, k: int, next_n: int, ties: str) -> dict[str, bool]:
        return {"all_close": test.check_decode(requests, keys, k, next_n, ties)}

    for ties in TIES:
        for shape in PREFILL:
            prefill(*shape, ties)
        for call in DECODE:
            decode(*call, ties)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
