#!/usr/bin/env python3
"""Writes fixtures/golden/answers.txt, which the program has built in: AITER's answers that P42 asks
for. They are those of the JSON files beside it, in few bytes: of a list the lower half of its FNV-1a
sum, and of the tables of sizes and splits every few rows.

    tests/core/plan/recorded_answers.py            # writes it
    tests/core/plan/recorded_answers.py --check    # exit 1: it is not what the JSON files say
"""
import json
import pathlib
import struct
import sys

GOLDEN = pathlib.Path(__file__).resolve().parents[3] / "fixtures" / "golden"
TABLE_STEPS = {"mla": 19, "ps": 7, "splits": 3}  # which rows: no column repeats as often
LISTS = ("work_indptr", "work_info", "reduce_indptr", "reduce_final_map", "reduce_partial_map")


def load(name):
    return json.loads((GOLDEN / f"{name}.json").read_text())


def fnv1a(words):
    total = 0xCBF29CE484222325
    for byte in struct.pack(f"<{len(words)}i", *words):
        total = (total ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{total:016x}"


def short(sums):
    return [s[-8:] for s in sums]


def line(*parts):
    words = []
    for part in parts:
        words += part if isinstance(part, list) else [part]
    return " ".join(str(int(w) if isinstance(w, bool) else w) for w in words)


def longest(indptr):
    return max((b - a for a, b in zip(indptr, indptr[1:])), default=0)


def plan(c):
    """The size query as properties/dump/calls.cpp makes it of a call."""
    rows, uniform, topk = longest(c["seqlens_qo_indptr"]), c["uni_seqlen_qo"], c.get("topk", -1)
    if topk < 0:
        rows = c["max_seqlen_qo"] if c["max_seqlen_qo"] > 0 else uniform if uniform > 0 else rows
    cap, intra = c.get("max_split_per_batch", -1), c.get("intra_batch_mode", False)
    version = 12 if c.get("fast_mode", True) else 10 if intra else 11
    return line("plan", c["name"], c["arch"], version, "serial" in c, c["num_cu"],
                c["num_heads_per_head_k"], c["num_heads_k"], c["dtype_q"], c["dtype_kv"], c["is_causal"],
                c.get("page_size", 1), c.get("kv_granularity", 16), c["max_seqlen_qo"], uniform, topk, cap,
                c.get("is_cp_round_robin", False), intra, rows, cap if cap > 0 else 32,
                len(c["kv_last_page_lens"]), c["seqlens_qo_indptr"], c["seqlens_kv_indptr"],
                c["kv_last_page_lens"], short(c["sums"]))


def prefill(c):
    """Every word of a buffer is written; the file cuts the zeros at the end."""
    expected, sizes = c["expected"], c["buffer_sizes"]
    sums = []
    for name in LISTS:
        size = 1
        for extent in sizes["work_info_set" if name == "work_info" else name]:
            size *= extent
        sums.append(fnv1a(expected[name] + [0] * (size - len(expected[name]))))
    return line("prefill", c["name"], c["num_cu"], c["num_heads_k"], c["qhead_granularity"],
                c["qlen_granularity"], c["kvlen_granularity"], c["block_size"], c["is_causal"],
                longest(c["seqlens_qo_indptr"]), len(c["context_lens"]), c["seqlens_qo_indptr"],
                c["pages_kv_indptr"], c["context_lens"], short(sums))


def answers():
    sizes, splits = load("sizes"), load("splits")["rows"]
    lines = [plan(c) for c in load("random")["cases"]]
    lines += [prefill(c) for c in load("ps_prefill")["cases"]]
    lines += [line("size", r) for r in sizes["mla"][::TABLE_STEPS["mla"]]]
    lines += [line("prefill_size", r[1:]) for r in sizes["ps"][::TABLE_STEPS["ps"]]]
    lines += [line("split", r) for r in splits[::TABLE_STEPS["splits"]]]
    return "\n".join(lines) + "\n"


def main():
    file = GOLDEN / "answers.txt"
    if sys.argv[1:] == ["--check"]:
        if file.read_text() == answers():
            print(f"{file.name} has what the JSON files say")
            return 0
        print(f"fixtures/golden/{file.name} is not what the JSON files say: run {__file__}",
              file=sys.stderr)
        return 1
    file.write_text(answers())
    return 0


if __name__ == "__main__":
    sys.exit(main())
