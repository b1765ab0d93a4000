#!/usr/bin/env python3
"""docs/images/plan.svg shows the plan that the command makes, to scale.

    picture_test.py build/.../mla-testbed

Exit: 0 it does, 1 a piece or a merge differs (what was expected is printed).
"""
import json
import re
import subprocess
import sys

from documented import ROOT
from documents_test import CASE

PICTURE = ROOT / "docs/images/plan.svg"
LEFT, TOP, LANE, SCALE = 170, 234, 40, 0.5  # of the lanes; pixels a key
WORDS = 8  # of a record of work_info_set


def keys(first, last):
    return f"keys {first}–{last - 1}"


def pieces(plan):
    """The rectangle and the label of each work, and which letter wrote each partial row."""
    letters, rectangles, labels = {}, set(), set()
    for slot, begin in enumerate(plan["work_indptr"][:-1]):
        x, end = LEFT, plan["work_indptr"][slot + 1]
        for work in range(begin, end):
            request, partial, _, _, first, last = plan["work_info"][work * WORDS:work * WORDS + 6]
            start = plan["seqlens_kv_indptr"][request]
            letter = letters[partial] = "ABCDEFGH"[work]
            width = (last - first) * SCALE
            rectangles.add((f"r{request}", x, TOP + LANE * slot, width))
            narrow = width < 100 and work + 1 < end  # no room for all of the label
            labels.add(f"{letter}: {first - start}…" if narrow else
                       f"{letter}: request {request}, {keys(first - start, last - start)}")
            x += width
    return rectangles, labels, letters


def merges(plan, letters):
    labels = set()
    for entry, begin in enumerate(plan["reduce_indptr"][:-1]):
        rows = plan["reduce_partial_map"][begin:plan["reduce_indptr"][entry + 1]]
        first, last = plan["reduce_final_map"][2 * entry:2 * entry + 2]
        request = next(n for n, end in enumerate(plan["seqlens_qo_indptr"][1:]) if first < end)
        labels.add(" + ".join(letters[row] for row in rows))
        labels.add(f"rows {first}–{last - 1}, request {request}" if last - first > 1
                   else f"row {first}, request {request}")
    return labels


def main():
    done = subprocess.run([sys.argv[1], "plan", CASE, "--json"], capture_output=True, check=True)
    plan = json.loads(done.stdout)
    text = PICTURE.read_text()
    drawn = {(kind, float(x), float(y), float(width)) for kind, x, y, width in re.findall(
        r'<rect class="(r\d)" x="([\d.]+)" y="(\d+)" width="([\d.]+)" height="28"', text)}
    written = set(re.findall(r">([^<>\n]+)</text>", text))
    rectangles, labels, letters = pieces(plan)
    missing = [str(wanted) for wanted in rectangles ^ drawn]
    missing += [label for label in labels | merges(plan, letters) if label not in written]
    if CASE not in text:
        missing.append(CASE)
    for wanted in sorted(missing):
        print(f"{PICTURE.name} and the plan differ: {wanted}")
    print(f"{len(drawn)} pieces, {len(missing)} differences")
    return 1 if missing or len(drawn) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
