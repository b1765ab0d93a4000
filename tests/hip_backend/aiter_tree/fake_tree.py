#!/usr/bin/env python3
"""Stands for `python -m mla_testbed.aiter.tree --aiter DIR --arch ARCH`, without AITER.

The last part of DIR says how it answers; what it was asked is kept in DIR/asked.json.
"""
import array
import json
import os
import pathlib
import subprocess
import sys

SIZES = {"int32": 4, "uint8": 1, "float32": 4, "uint16": 2}
CODES = {"int32": "i", "float32": "f", "uint16": "H"}
POISON = -0x5EADBEEF
# By the last words of a process that aborts while it is asked.
SAID = {"checks": b"building\n[AITER] asm_mla.cu:9 no kernel for nhead=17\n",
        "checks-late": b"[AITER] asm_mla.cu:9 no kernel for nhead=17",
        "heap": b"[AITER] asm_mla.cu:9 tuned for nhead=17\ndouble free or corruption (out)\n",
        "no-module": b"[AITER] hip.h:9 fail to call hipModuleLoad(a) ---> [HIP error](no file)\n",
        "flood": b"x" * 200000 + b"\n[AITER] asm_mla.cu:9 no kernel for nhead=17\n",
        "silent": b""}


def read():
    line = sys.stdin.buffer.readline()
    if not line:
        return None
    head = json.loads(line)
    found = {}
    for name, dtype, shape in head.pop("arrays"):
        count = SIZES[dtype]
        for extent in shape:
            count *= extent
        data = sys.stdin.buffer.read(count)
        found[name] = list(array.array(CODES[dtype], data)) if dtype in CODES else len(data)
    return head, found


def write(head, **arrays):
    named = [[name, dtype, [len(values)]] for name, (dtype, values) in arrays.items()]
    sys.stdout.buffer.write(json.dumps({**head, "arrays": named}).encode() + b"\n")
    for dtype, values in arrays.values():
        sys.stdout.buffer.write(array.array(CODES[dtype], values).tobytes())
    sys.stdout.buffer.flush()


def far_ahead(head):
    """Whether a wave runs to its barrier, while memory answers late."""
    return head["run"]["schedule"].startswith("slice=0") and head["run"]["arrival"] == "late"


def plan(head, found, last=0):
    """One work for each request, written whole; the last word of each is `last`."""
    requests = len(found["kv_indptr"]) - 1
    words = dict(zip(("indptr", "info", "reduce", "final", "partial"), head["words"]))
    info = []
    for r in range(requests):
        info += [r, -1, found["qo_indptr"][r], found["qo_indptr"][r + 1], found["kv_indptr"][r],
                 found["kv_indptr"][r + 1], 0, last]
    slots = words["indptr"] - 1
    write({}, work_indptr=("int32", [min(s, requests) for s in range(slots + 1)]),
          work_info_set=("int32", info + [POISON] * (words["info"] - len(info))),
          reduce_indptr=("int32", [0] * words["reduce"]),
          reduce_final_map=("int32", [POISON] * words["final"]),
          reduce_partial_map=("int32", [POISON] * words["partial"]))


def prefill_sizes(head):
    """Room for works of every tile of 256 rows and head; one partial tile for each unit."""
    tiles, units = head["batch"] * -(-head["max_qo_len"] // 256), head["compute_units"]
    return [2, units + 1, 8 * tiles * head["kv_heads"], tiles + 1, 2 * tiles, units]


def prefill_plan(head, found, how):
    """One work for each tile and head, written whole, all of them in the first slot."""
    words = dict(zip(("indptr", "info", "reduce", "final", "partial"), head["words"]))
    info, qo, kv = [], found["qo_indptr"], found["kv_indptr"]
    for r in range(len(qo) - 1):
        for first in range(qo[r], qo[r + 1], 256):
            last = min(first + 256, qo[r + 1])
            end = kv[r + 1] - (qo[r + 1] - last if head["causal"] else 0)
            for h in range(head["kv_heads"]):
                info += [r, -1, first, last, kv[r], end, 0, (h + 1) << 16 | h]
    count = len(info) // 8
    if how == "misses-a-key":
        info[5] -= 1
    if how == "other-request":
        info[0] = 1000
    ends = {"too-many-works": count + words["info"], "fewer-works-than-none": -1}
    reduce = [0] * (words["reduce"] - 1) + [words["partial"] + 1 if how == "too-many-tiles" else 0]
    write({}, work_indptr=("int32", [0] + [count] * (words["indptr"] - 2) + [ends.get(how, count)]),
          work_info_set=("int32", info + [0] * (words["info"] - len(info))),
          reduce_indptr=("int32", reduce),
          reduce_final_map=("int32", [0] * words["final"]),
          reduce_partial_map=("int32", [0] * words["partial"]))


def prefill(head, element=0x3F80):
    """As decode()."""
    pairs = head["rows"] * head["heads"]
    write({"launched": ["aiter::prefill", "merge"]}, out=("uint16", [element] * (pairs * 128)),
          lse=("float32", [float(i % head["heads"]) for i in range(pairs)]))


def decode(head, element=0x3F80):
    """Every element of out is 1, every LSE the head's number; there are no partial rows."""
    pairs = head["rows"] * head["heads"]
    out = ("uint16", [element] * (pairs * 512))
    lse = ("float32", [float(i % head["heads"]) for i in range(pairs)])
    stages = {"partial_out": ("float32", []), "partial_lse": ("float32", []), "stage1_out": out,
              "stage1_lse": lse} if head["record_stages"] else {}
    write({"launched": ["aiter::stage1", "merge"]}, out=out, lse=lse, **stages)


def main():
    place = pathlib.Path(sys.argv[sys.argv.index("--aiter") + 1])
    how = place.name
    if how == "no-torch":
        sys.exit(1)
    if how == "broken":
        write({"error": "SyntaxError: invalid syntax (mla.py:7)"})
        sys.exit(3)
    idle = ["csrc/kernels/cache_kernels.cu"] if how == "changed-cache" else []
    write({"version": "0.1.99", "sum": "0123456789abcdef", "not_run": idle})
    while (asked := read()) is not None:
        (place / "asked.json").write_text(json.dumps(asked))
        if how == "dies":
            sys.stdout.buffer.write(b'{"arrays": [["out", "uint16", [512]]]}\n12')
            sys.stdout.buffer.flush()
            sys.exit(0)
        if how == "aborts-once" and not (place / "aborted").exists():
            (place / "aborted").touch()
            os.abort()
        if how == "told-before":  # of an earlier question
            if (place / "told").exists():
                os.abort()
            (place / "told").touch()
            sys.stderr.buffer.write(SAID["checks"])
            sys.stderr.buffer.flush()
        if how.startswith("copy-"):  # the copy of a process that answers has ended
            sys.stderr.buffer.write(SAID[how[5:]])
            sys.stderr.buffer.flush()
            write({"ended": 6})
            continue
        if how in SAID:  # as AITER's checks do, or a damaged heap
            if how == "checks-late":  # a compiler that outlives it holds standard error
                subprocess.Popen(["sleep", "200"], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL)
            sys.stderr.buffer.write(SAID[how])
            sys.stderr.buffer.flush()
            os.abort()
        if how == "lies":
            write({"words": [2, 5, 16]}, out=("int32", [1]))
        elif how == "refuses" or (how == "takes-no-step" and asked[0]["call"] in (
                "decode", "prefill")):
            write({"error": "AssertionError: nhead=17 (mla.py:9)"})
        elif how == "breaks-twice" and asked[0]["call"] == "prefill":
            write({"error": "AssertionError: the first"} if asked[0]["causal"] else
                  {"fault": "the second"})
        elif how == "faults" or (how == "faults-at-launch" and asked[0]["call"] == "prefill"):
            write({"fault": "module_mla_asm: out-of-bounds"})
        elif asked[0]["call"] == "sizes":
            units, batch = asked[0]["compute_units"], asked[0]["batch"]
            write({"words": [2, units + 1, 8 * (batch + units), batch + 1, 2 * batch, units]})
        elif asked[0]["call"] == "prefill_sizes":
            words = prefill_sizes(asked[0])
            write({"words": [*words[:3], -1, *words[4:]] if how == "odd-size" else words})
        elif asked[0]["call"] == "prefill_plan":
            prefill_plan(*asked, how)
        elif asked[0]["call"] == "prefill":
            changed = how == "decodes-by-timing" and far_ahead(asked[0])
            prefill(asked[0], element=0x3F81 if changed else 0x3F80)
        elif asked[0]["call"] == "plan":
            plan(*asked, last=int(how == "plans-by-timing" and far_ahead(asked[0])))
        elif asked[0]["call"] == "support":
            heads = asked[0]["heads"]
            if how == "takes-sixteens" and heads % 16 != 0:
                write({"error": f"AssertionError: nhead={heads} (mla.py:9)"})
            else:
                write({"launched": [f"aiter::qh{heads}", "merge"],
                       "row_heads": 16 if how == "folds" else heads})
        else:
            changed = how == "decodes-by-timing" and far_ahead(asked[0])
            decode(asked[0], element=0x3F81 if changed else 0x3F80)


main()
