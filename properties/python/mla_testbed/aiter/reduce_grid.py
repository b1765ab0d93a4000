"""AITER's test_mla_reduce on a small grid: its own main() knows no short one.

    python -m mla_testbed.aiter.reduce_grid op_tests/test_mla_reduce.py
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .script import imported

#: (pieces of each tile, heads, values of a head, rows of a tile)
GRID = (
    ([2], 1, 128, 1), ([3, 2], 16, 128, 1), ([8, 5, 7], 48, 128, 1), ([33], 16, 128, 1),
    ([300], 1, 128, 1), ([2, 4, 16, 64], 8, 512, 1), ([6] * 40, 8, 512, 1), ([3, 2], 24, 512, 1),
    ([4], 128, 512, 1), ([8, 4], 16, 128, 3), ([8, 4], 16, 512, 3),
)


def main(arguments: Sequence[str]) -> int:
    """Runs the grid; 1 if AITER's own verdict on a case is a failure."""
    test = imported(arguments[0])
    failed = 0
    for pieces, heads, values, rows in GRID:
        held, _ = test.run_case(pieces, heads, values, test.dtypes.bf16, qo_len=rows)
        failed += not held
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
