#!/usr/bin/env python3
"""Mutation score: are the tests and the properties worth anything?

Changes one operator, comparison, branch, call or constant at a time, rebuilds what depends on it, and
judges until something notices. A mutant that nothing notices survives; its line is printed. Works on
a copy of the sources below build/mutation, never on the tree itself. A run that was interrupted goes
on where it ended. Survivors that change nothing that can be seen are listed, with the reason, in
fixtures/mutation_survivors.json.

    tests/mutation/run.py                  # 200 mutants; by the tests of their layer and properties
    tests/mutation/run.py --judge tests    # of the planners; by the core's tests alone
    tests/mutation/run.py --judge properties --sample 40   # by the properties alone
    tests/mutation/run.py --sample 0 core/plan/v12_serial.cpp   # every mutant of one file
    tests/mutation/run.py --sample 0 core/plan/sizes.cpp:66     # of one line
    tests/mutation/run.py --seed 2 --sample 50 core/paging
    tests/mutation/run.py --shard 1/4 --record 1.json   # every fourth of the sample
    tests/mutation/run.py --merge 1.json 2.json 3.json 4.json

Exit: 0 all killed or explained, or as many as --least says, 1 some survived, 2 usage,
3 the unchanged sources do not pass, 4 a shard of a merge is not there, or the time was over.
"""
import argparse
import hashlib
import json
import pathlib
import shutil
import sys
import time

from judges import JUDGES
from mutants import Explained, mutants_of
from shards import VERDICTS, Refused, choose, merge, parse_shard, record, summary

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutation"
FOLDERS = ["core", "cpu_backend", "hip_backend", "properties", "tests", "fixtures"]


def copy_sources():
    """Brings the copy up to date: where it is, and a digest of all that is in it. A file that differs
    is newer than every object: a run that was interrupted leaves a mutant in it, and the object of
    that."""
    sources = WORK / "source"
    wanted = {"CMakeLists.txt", "CMakePresets.json", "LICENSE"}
    for folder in FOLDERS:
        wanted |= {str(p.relative_to(ROOT)) for p in (ROOT / folder).rglob("*")
                   if p.is_file() and "__pycache__" not in p.parts}
    digest = hashlib.sha256()
    for name in sorted(wanted):
        copy = sources / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        content = (ROOT / name).read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
        if not copy.is_file() or copy.read_bytes() != content:
            shutil.copyfile(ROOT / name, copy)
    for folder in FOLDERS:
        for path in (sources / folder).rglob("*"):
            if path.is_file() and str(path.relative_to(sources)) not in wanted:
                path.unlink()
    return sources, digest.hexdigest()


class Journal:
    """What was judged before: the same change of the same sources, by the same judge."""

    def __init__(self, judge, seed, fresh, sources):
        self.sources = sources
        self.path = WORK / f"journal_{judge}_{seed}.jsonl"
        self.known = {}
        if fresh:
            self.path.unlink(missing_ok=True)
        if self.path.is_file():
            for line in self.path.read_text().splitlines():
                entry = json.loads(line)
                self.known[entry["key"]] = entry["verdict"]

    def key(self, mutant):
        text = f"{mutant.file}\n{mutant.begin}\n{mutant.end}\n{mutant.text}\n{self.sources}"
        return hashlib.sha256(text.encode()).hexdigest()

    def add(self, key, verdict, mutant):
        self.known[key] = verdict
        with self.path.open("a") as file:
            file.write(json.dumps({"key": key, "verdict": verdict, "mutant": str(mutant)}) + "\n")


def all_mutants(paths, sources):
    """Mutants of the files, folders and lines that were named; None for a path that is not there."""
    files, lines = [], {}
    for path in paths:
        path, _, line = path.partition(":")
        target = ROOT / path
        if not target.exists():
            print(f"there is no '{path}'", file=sys.stderr)
            return None
        if line:
            lines.setdefault(pathlib.Path(path), set()).add(int(line))
        files += [target] if target.is_file() else sorted(target.rglob("*.[ch]pp"))
    mutants = []
    for file in dict.fromkeys(files):
        relative = file.relative_to(ROOT)
        found = mutants_of(relative, (sources / relative).read_text())
        mutants += [m for m in found if m.line in lines.get(relative, {m.line})]
    return mutants


def judge_one(judge, sources, journal, mutant):
    path = sources / mutant.file
    original = path.read_text()
    key = journal.key(mutant)
    if key not in journal.known:
        path.write_text(mutant.apply(original))
        try:
            journal.add(key, judge.verdict(mutant), mutant)
        finally:
            path.write_text(original)
    return journal.known[key]


def judge_all(judge, sources, journal, chosen, minutes):
    """The tally, and a line for each mutant that survived or is explained."""
    explained = Explained(ROOT / "fixtures" / "mutation_survivors.json")
    start, tally = time.monotonic(), dict.fromkeys(VERDICTS, 0)
    lines = []
    for count, mutant in enumerate(chosen, 1):
        if minutes and time.monotonic() - start > 60 * minutes:
            print(f"the time was over when {count - 1} of {len(chosen)} were judged", flush=True)
            break
        result = judge_one(judge, sources, journal, mutant)
        if result == "survived":
            why = explained.reason(mutant)
            result = "explained" if why else "survived"
            lines.append(f"{result.upper()} {mutant}" + (f": {why}" if why else ""))
            print(lines[-1], flush=True)
        tally[result if result in tally else "killed"] += 1
        each = (time.monotonic() - start) / count
        print(f"{count}/{len(chosen)} {result}: {mutant.file}:{mutant.line}; {each:.1f} s each, "
              f"{each * (len(chosen) - count) / 60:.0f} min left", file=sys.stderr, flush=True)
    return tally, lines


def merge_records(paths, least):
    tally, total, lines, missing = merge(paths)
    print(*lines, sep="\n", end="\n" if lines else "")
    text, code = summary(tally, total, least)
    print(text)
    if missing:
        print(f"not there, or ended early: {' '.join(missing[:20])}", file=sys.stderr)
    return code or (4 if missing else 0)


def run_identity(arguments, mutants):
    """What decides about the verdicts of a run: its options, and every mutant with its place."""
    text = "\n".join(f"{m} {m.begin}" for m in mutants)
    return {"judge": arguments.judge, "sample": arguments.sample, "seed": arguments.seed,
            "short": arguments.short, "mutants": hashlib.sha256(text.encode()).hexdigest()}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", help="files, lines of files, or folders below the root")
    parser.add_argument("--judge", choices=sorted(JUDGES), default="both",
                        help="who has to notice a mutant: one of both is enough")
    parser.add_argument("--sample", type=int, default=200, help="so many mutants; 0: all")
    parser.add_argument("--seed", type=int, default=1, help="of the sample, and of random cases")
    parser.add_argument("--minutes", type=float, default=0, help="stop after so long; 0: never")
    parser.add_argument("--short", action="store_true",
                        help="properties: the first 100 random cases only, a lower bound")
    parser.add_argument("--least", type=float, default=100,
                        help="per cent that must be killed or explained; 100: none may survive")
    parser.add_argument("--fresh", action="store_true", help="forget what was judged before")
    parser.add_argument("--list", action="store_true", help="print the mutants, judge none")
    parser.add_argument("--shard", default="1/1", help="judge the i-th of n shares, as 1/4")
    parser.add_argument("--record", help="also write the tally to this file, for --merge")
    parser.add_argument("--merge", nargs="+", metavar="FILE", help="one report of these records")
    return parser.parse_args()


def run(arguments):
    if arguments.merge:
        return merge_records(arguments.merge, arguments.least)
    shard = parse_shard(arguments.shard)
    kind = JUDGES[arguments.judge]
    sources, digest = copy_sources()
    mutants = all_mutants(arguments.paths or kind.default, sources)
    if mutants is None:
        return 2
    chosen = choose(mutants, arguments.seed, arguments.sample, shard)
    if arguments.list:
        print(*chosen, sep="\n", end="\n" if chosen else "")
        return 0
    if arguments.record:
        pathlib.Path(arguments.record).touch()
    judge = kind(sources, {m.file for m in chosen}, arguments.seed, arguments.short)
    if not judge.baseline():
        print("the unchanged sources do not pass", file=sys.stderr)
        return 3
    name = arguments.judge + ("_short" if arguments.short else "")
    journal = Journal(name, arguments.seed, arguments.fresh, digest)
    tally, lines = judge_all(judge, sources, journal, chosen, arguments.minutes)
    if arguments.record:
        what = run_identity(arguments, mutants)
        pathlib.Path(arguments.record).write_text(
            json.dumps(record(what, shard, len(mutants), len(chosen), tally, lines)) + "\n")
    text, code = summary(tally, len(mutants), arguments.least)
    print(text)
    return code or (4 if sum(tally.values()) < len(chosen) else 0)


def main():
    try:
        return run(parse_arguments())
    except (Refused, OSError) as why:
        print(why, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
