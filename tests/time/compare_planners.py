#!/usr/bin/env python3
"""compare_planners.py TESTBED: AITER's planners, searched plans and the bound on serving batches.

Prints the table of docs/findings/time.md: predicted microseconds, none of them measured. Lengths of
the ragged batches are drawn from a fixed seed.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from typing import Any


def equal(count: int, keys: int, rows: int = 1) -> str:
    return f"{count}q{rows}s{keys}"


def ragged(count: int, low: int, high: int, rows: int = 1) -> str:
    """Lengths of which every factor is as likely as every other."""
    draw = random.Random(f"{count} {low} {high} {rows}")
    return "_".join(f"1q{rows}s{round(low * (high / low) ** draw.random())}" for _ in range(count))


def long_tail(count: int, keys: int, tail: int, longest: int, rows: int = 1) -> str:
    return f"{count - tail}q{rows}s{keys}_{tail}q{rows}s{longest}"


SERVING = [
    ("1 request of 8k", equal(1, 8192), 16, "fp8"),
    ("1 of 128k", equal(1, 131072), 16, "fp8"),
    ("4 of 32k, 2 rows", equal(4, 32768, 2), 64, "fp8"),
    ("16 of 4k", equal(16, 4096), 32, "fp8"),
    ("16 of 4k, 4 rows", equal(16, 4096, 4), 16, "fp8"),
    ("64 of 8k", equal(64, 8192), 128, "fp8"),
    ("128 of 4k", equal(128, 4096), 32, "fp8"),
    ("256 of 1k", equal(256, 1024), 16, "fp8"),
    ("512 of 2k", equal(512, 2048), 16, "fp8"),
    ("16 ragged, 500 to 32k", ragged(16, 500, 32768), 16, "fp8"),
    ("64 ragged, 100 to 64k", ragged(64, 100, 65536), 64, "fp8"),
    ("256 ragged, 200 to 16k", ragged(256, 200, 16384), 16, "fp8"),
    ("512 ragged, 100 to 8k", ragged(512, 100, 8192), 32, "fp8"),
    ("32 ragged, 200 to 16k, 3 rows", ragged(32, 200, 16384, 3), 32, "fp8"),
    ("128 ragged, 200 to 16k, 2 rows", ragged(128, 200, 16384, 2), 128, "fp8"),
    ("8, one of 128k", long_tail(8, 1024, 1, 131072), 16, "fp8"),
    ("64, one of 128k", long_tail(64, 1024, 1, 131072), 16, "fp8"),
    ("256, one of 64k", long_tail(256, 1024, 1, 65536), 16, "fp8"),
    ("512, four of 64k", long_tail(512, 700, 4, 65536), 32, "fp8"),
    ("64, two of 64k, 4 rows", long_tail(64, 900, 2, 65536, 4), 16, "fp8"),
    ("32 of 8k, bf16", equal(32, 8192), 32, "bf16"),
    ("64 ragged, 100 to 64k, bf16", ragged(64, 100, 65536), 32, "bf16"),
    ("256 ragged, 200 to 16k, bf16", ragged(256, 200, 16384), 32, "bf16"),
]


def cell(predicted: dict[str, Any]) -> str:
    return "refused" if "none" in predicted else f"{predicted['total_us']:.1f}"


def main(testbed: str) -> int:
    print("| batch | heads | v1.0 | v1.1 | v1.2 | searched | less than v1.2 | bound |")
    print("|---|---|---|---|---|---|---|---|")
    shares = []
    for name, requests, heads, dtype in SERVING:
        case = f"mla1:{requests};heads={heads};arch=gfx950;dtype={dtype}/{dtype};planner=v12"
        done = subprocess.run([testbed, "time", case, "--better", "--this-only", "--json"],
                              capture_output=True, text=True, check=False)
        if done.returncode not in (0, 10) or not done.stdout:
            print(f"{name}: {done.stderr}", file=sys.stderr)
            return 1
        answer = json.loads(done.stdout)
        now = answer["predicted"]
        best = answer["predicted_better"] or now
        planners = answer["predicted_by_planner"]
        # The bound is of stage 1; every plan pays the launch as well.
        bound = answer["predicted_stage1_bound_us"] + now["launch_us"]
        share = 1 - best["total_us"] / now["total_us"]
        shares.append(share)
        print(f"| {name} | {heads} | {cell(planners['v10'])} | {cell(planners['v11'])} "
              f"| {cell(now)} | {cell(best)} | {share:.1%} | {bound:.1f} |")
    shares.sort()
    print(f"\nLess than v1.2, predicted: {shares[len(shares) // 2]:.1%} in the median, "
          f"{shares[-1]:.1%} at most; none found for {sum(s == 0 for s in shares)} of "
          f"{len(shares)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
