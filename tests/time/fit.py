#!/usr/bin/env python3
"""fit.py TESTBED TIMINGS: fits core/time/time_constants.cpp to published times, and reports errors.

TIMINGS is a folder of CSV files with the columns heads, q_rows, batch, ctx, splits, time_us (their
sources: docs/findings/time.md). `TESTBED time CASE --json --this-only` says what the model reads of
each shape; the formula is that of core/time/predict.hpp, once more.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.stats import spearmanr

Vector = NDArray[np.float64]
FLOPS = 2 * (576 + 512)
CLASSES = (16, 32, 64, 128)


@dataclass
class Point:
    source: str
    case: str
    heads: int
    rows: int
    batch: int
    ctx: int
    us: float
    slots: Vector  # pieces, workgroups without keys, keys, and keys of all slots until then
    numbers: dict[str, float]
    predicted_us: float


def published(folder: Path) -> Iterator[tuple[str, int, int, int, int, float, str]]:
    """Source, heads, rows, batch, keys, microseconds, case."""

    def rows(name: str) -> Iterator[dict[str, str]]:
        with (folder / name).open() as file:
            yield from csv.DictReader(file)

    def line(batch: int, q: int, ctx: int, heads: int, dtype: str, rest: str) -> str:
        return f"mla1:{batch}q{q}s{ctx};heads={heads};arch=gfx950;dtype={dtype}/{dtype}{rest}"

    # Folded to 16 heads: two requests of 16 heads in place of one of 32.
    for r in rows("01_tree_gfx950_fp8_h32_native_vs_fold.csv"):
        b, ctx, rest = int(r["batch"]), int(r["ctx"]), f";split={r['splits'].strip('<=')}"
        case = line(2 * b, 1, ctx, 16, "fp8", rest + ";planner=v12serial")
        yield "01", 16, 1, b, ctx, float(r["time_us"]), case
    for r in rows("10_aiter4899_split_count_gfx950_fp8.csv"):
        h, q, ctx = int(r["heads"]), int(r["q_rows"]), int(r["ctx"])
        rest = "" if r["planner"].startswith("old") else f";split={r['splits']}"
        yield "10", h, q, 1, ctx, float(r["time_us"]), line(1, q, ctx, h, "fp8", rest)
    for r in rows("15_aiter5456_dense_decode_sweep_gfx950.csv"):
        h, q, b, ctx = (int(r[k]) for k in ("heads", "q_rows", "batch", "ctx"))
        name = "15" if r["dtype_q"] == "fp8" else "15 bf16"
        yield name, h, q, b, ctx, float(r["time_us"]), line(b, q, ctx, h, r["dtype_q"], "")
    for r in rows("30_other_points.csv"):
        if r["kernel_family"] != "asm_ps" or r["batch"] != "256" or r["arch"] != "gfx950":
            continue
        h, q = int(r["heads"]), int(r["q_rows"])
        us = float(r["time_us"].strip("~"))
        yield "30", h, q, 256, int(r["ctx"]), us, line(256, q, int(r["ctx"]), h, "fp8", "")
    for r in rows("02_tree_bf16_h16_nps_split_sweep.csv"):
        b, ctx = int(r["batch"]), int(r["ctx"])
        rest = "" if r["splits"] == "auto" else f";splits={r['splits']}"
        case = line(b, 1, ctx, 16, "bf16", ";planner=none" + rest)
        yield "02", 16, 1, b, ctx, float(r["time_us"]), case


def slot_rows(slots: Sequence[Sequence[int]]) -> Vector:
    count, pieces, idle, keys = np.array(sorted(slots, key=lambda slot: slot[3]), float).T
    after = count.sum() - np.cumsum(count) + count
    until = np.concatenate([[0], np.cumsum(count * keys)[:-1]]) + keys * after
    return np.array([pieces, idle, keys, until])


def read_points(testbed: str, folder: Path) -> list[Point]:
    found = list(published(folder))

    def ask(case: str) -> dict[str, object]:
        command = [testbed, "time", case, "--json", "--this-only"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{case}: {done.stderr or done.stdout}")
        answer: dict[str, object] = json.loads(done.stdout)
        return answer

    cases = sorted({f[-1] for f in found})
    with ThreadPoolExecutor(2) as pool:
        answers = dict(zip(cases, pool.map(ask, cases), strict=True))
    points = []
    for source, h, q, b, ctx, us, case in found:
        load, predicted = answers[case]["load"], answers[case]["predicted"]
        assert isinstance(load, dict) and isinstance(predicted, dict)
        numbers = {k: float(v) for k, v in load.items() if isinstance(v, int)}
        slots = slot_rows(load["slots"])
        points.append(Point(source, case, h, q, b, ctx, us, slots, numbers, predicted["total_us"]))
    return points


@dataclass
class Family:
    """Which parameters a family has: the logarithms of its constants."""

    name: str
    sources: tuple[str, ...]
    size: int  # bytes of an element
    classes: tuple[int, ...]  # of packed rows
    start: dict[str, float]
    limits: dict[str, tuple[float, float]]
    fixed: dict[str, float]

    def constants(self, p: Vector) -> dict[str, float]:
        return self.fixed | {k: float(np.exp(v)) for k, v in zip(self.start, p, strict=True)}


def stage1(c: dict[str, float], family: Family, point: Point) -> float:
    pieces, idle, keys, until = point.slots
    rows = point.numbers["tile_rows"]
    held = next(k for k in family.classes if k >= rows)
    moved = point.numbers["moved_rows"] * (576 * family.size + 2048)
    memory = (until * 576 * family.size + moved * until / until[-1]) / c["memory"]
    matrix = until * rows * FLOPS / c["matrix"] if held == 128 else 0 * until
    own = keys * c[f"key{held}"] / 1000
    fixed = pieces * c[f"piece{held}"] + idle * c["idle"]
    return float((fixed + np.sqrt(own**2 + memory**2 + matrix**2)).max())


def total(c: dict[str, float], family: Family, point: Point) -> float:
    merge, partial = point.numbers["longest_merge"], point.numbers["partial_rows"]
    reduce = c["start"] + merge * c["merge"] + partial * 2048 / c["reduce"] if merge else 0
    source = "10" if point.source == "30" else point.source  # a single command line, no sweep
    return c[f"launch{source}"] + stage1(c, family, point) + reduce


def fit(family: Family, points: Sequence[Point]) -> dict[str, float]:
    weights = np.array([2.0 if p.source in ("15", "30") else 1.0 for p in points])

    def residuals(p: Vector) -> Vector:
        c = family.constants(p)
        errors = np.array([np.log(total(c, family, one) / one.us) for one in points]) * weights
        # ATOM's reduce alone: 64 packed rows, 16 and 256 pieces.
        reduce = [
            np.log((c["start"] + n * c["merge"] + n * 64 * 2048 / c["reduce"]) / us)
            for n, us in ((16, 7.8), (256, 41.0))
            if family.sources[0] == "01"
        ]
        # Neighbouring kernels differ smoothly where no point says otherwise.
        logs = [np.log([c[f"{k}{n}"] for n in family.classes]) for k in ("piece", "key")]
        bends = [0.05 * np.diff(np.diff(one)) for one in logs]
        return np.concatenate([errors, reduce, *bends])

    low, high = zip(*(family.limits.get(k, (1e-4, 1e10)) for k in family.start), strict=True)
    start = np.log(list(family.start.values()))
    found = least_squares(
        residuals, start, loss="soft_l1", f_scale=0.05, bounds=(np.log(low), np.log(high))
    )
    return family.constants(found.x)


def spread(c: dict[str, float], family: Family, points: Sequence[Point]) -> str:
    errors = np.abs([total(c, family, p) / p.us - 1 for p in points])
    return (
        f"{len(points):5} points  median {np.median(errors):6.1%}  p90 "
        f"{np.quantile(errors, 0.9):6.1%}  worst {errors.max():6.1%}"
    )


def grouped(
    points: Sequence[Point], key: Callable[[Point], tuple[object, ...]]
) -> dict[tuple[object, ...], list[Point]]:
    out: dict[tuple[object, ...], list[Point]] = defaultdict(list)
    for p in points:
        out[key(p)].append(p)
    return out


def held_out(family: Family, rest: Sequence[Point]) -> dict[str, float]:
    """A fit without some points: a source that is gone gets the mean launch of the others."""
    c = fit(family, rest)
    kept = {p.source for p in rest} - {"30"}
    launches = [c[f"launch{s}"] for s in kept]
    gone = [s for s in family.sources if s not in kept and s != "30"]
    return c | {f"launch{s}": float(np.mean(launches)) for s in gone}


def left_out(family: Family, points: Sequence[Point], part: Callable[[Point], int]) -> str:
    """Errors of all points, each by a fit without those that share its part."""
    errors = []
    for value in {part(p) for p in points}:
        rest = [p for p in points if part(p) != value]
        c = held_out(family, rest)
        errors += [abs(total(c, family, p) / p.us - 1) for p in points if part(p) == value]
    return (
        f"{len(errors):5} points  median {np.median(errors):6.1%}  p90 "
        f"{np.quantile(errors, 0.9):6.1%}  worst {max(errors):6.1%}"
    )


def rank_report(c: dict[str, float], family: Family, points: Sequence[Point]) -> None:
    """Order of split counts, where the slowest takes 1.2 times as long as the fastest."""
    shapes = grouped(points, lambda p: (p.heads, p.rows, p.batch, p.ctx, p.source)).values()
    ranks, regrets = [], []
    for one in shapes:
        if len(one) < 3 or max(p.us for p in one) < 1.2 * min(p.us for p in one):
            continue
        mine = [total(c, family, p) for p in one]
        ranks.append(float(spearmanr(mine, [p.us for p in one]).statistic))
        regrets.append(one[int(np.argmin(mine))].us / min(p.us for p in one) - 1)
    if ranks:
        print(
            f"  rank correlation over splits: {len(ranks)} shapes, median {np.median(ranks):.2f}, "
            f"a tenth below {np.quantile(ranks, 0.1):.2f}; the predicted best costs "
            f"{np.median(regrets):.1%} more than the published best (p90 "
            f"{np.quantile(regrets, 0.9):.1%})"
        )


def report(family: Family, points: Sequence[Point]) -> None:
    print(f"\n{family.name}")
    c = fit(family, points)
    for key, value in c.items():
        print(f"  {key:10} {value:12.4g}")
    print("  fitted                ", spread(c, family, points))
    sweeps = grouped(points, lambda p: (p.source, p.heads, p.rows))
    for swept, some in sorted(sweeps.items(), key=str):
        label = f"source {swept[0]}, {swept[1]} x {swept[2]}"
        print(f"    {label:20}", spread(c, family, some))
    for shape, some in sorted(grouped(points, lambda p: (p.heads, p.rows)).items(), key=str):
        rest = [p for p in points if (p.heads, p.rows) != shape]
        if rest:
            left = f"without {shape[0]} x {shape[1]}"
            print(f"    {left:20}", spread(held_out(family, rest), family, some))
    for source in family.sources if len(family.sources) > 1 else ():
        some, rest = ([p for p in points if (p.source == source) == own] for own in (True, False))
        print(f"    without source {source:5}", spread(held_out(family, rest), family, some))
    for label, part in (("requests", lambda p: p.batch), ("keys", lambda p: p.ctx)):
        print(f"    one number of {label} at a time left out", left_out(family, points, part))
    rank_report(c, family, points)
    errors = np.abs([p.predicted_us / p.us - 1 for p in points])
    print(
        f"  as committed           {len(points):5} points  median {np.median(errors):6.1%}  "
        f"p90 {np.quantile(errors, 0.9):6.1%}  worst {errors.max():6.1%}"
    )


def families() -> list[Family]:
    fp8: dict[str, float] = {f"piece{n}": 5.0 for n in CLASSES}
    fp8 |= {"key16": 14.0, "key32": 20.0, "key64": 20.0, "key128": 37.0, "memory": 6e6}
    fp8 |= {"matrix": 1.5e9, "start": 5.0, "merge": 0.14, "reduce": 1e7}
    fp8 |= {f"launch{s}": 2.0 for s in ("01", "10", "15")}
    # HBM gives 8 TB/s at most; comments in AITER call 5.4 to 6.3 the rates of real access.
    bounds = {"memory": (4e6, 6.8e6), "reduce": (1e6, 2e7)}
    bounds |= {f"launch{s}": (1.0, 20.0) for s in ("01", "10", "15")}
    nps = {"piece16": 4.0, "key16": 25.0, "memory": 6e6, "idle": 0.3, "merge": 0.3, "reduce": 8e6}
    return [
        Family("gfx950 fp8 with a plan", ("01", "10", "15", "30"), 1, CLASSES, fp8, bounds,
               {"idle": 0.0}),
        Family("gfx950 bf16 with a plan", ("15 bf16",), 2, (32,),
               {"piece32": 6.0, "key32": 30.0, "memory": 6e6},
               {"memory": (4e6, 6.8e6)},
               {"idle": 0.0, "start": 5.38, "merge": 0.135, "reduce": 2e7, "launch15 bf16": 1.5}),
        Family("gfx950 bf16 without a plan", ("02",), 2, (16,), nps | {"launch02": 7.0},
               {"memory": (4e6, 6.8e6)}, {"start": 0.0}),
    ]  # fmt: skip


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    points = read_points(sys.argv[1], Path(sys.argv[2]))
    for family in families():
        report(family, [p for p in points if p.source in family.sources])


if __name__ == "__main__":
    main()
