#!/usr/bin/env python3
"""Mutation score: are the tests and the properties worth anything?

Changes one operator, comparison, branch, call or constant at a time, rebuilds what depends on it, and
judges until something notices. A mutant that nothing notices survives; its line is printed. Works on
a copy of the sources below build/mutation, never on the tree itself. A run that was interrupted goes
on where it ended. Survivors that change nothing that can be seen are listed, with the reason, in
fixtures/mutation_survivors.json.

    tests/mutation/run.py                                  # 200 mutants, judged by the core's tests
    tests/mutation/run.py --judge properties --sample 40   # core, CPU backend, kernels; by properties
    tests/mutation/run.py --sample 0 core/plan/v12_serial.cpp   # every mutant of one file
    tests/mutation/run.py --sample 0 core/plan/sizes.cpp:66     # of one line
    tests/mutation/run.py --seed 2 --sample 50 core/paging

Exit: 0 all killed or explained, 1 some survived, 2 usage, 3 the unchanged sources do not pass.
"""
import argparse
import hashlib
import json
import pathlib
import random
import shutil
import sys
import time

from judges import JUDGES
from mutants import Explained, mutants_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutation"
FOLDERS = ["core", "cpu_backend", "hip_backend", "properties", "tests", "fixtures"]


def copy_sources():
    """Brings the copy up to date. A file that differs is newer than every object: a run that was
    interrupted leaves a mutant behind, and its object with it."""
    sources = WORK / "source"
    wanted = {"CMakeLists.txt", "CMakePresets.json"}
    for folder in FOLDERS:
        wanted |= {str(p.relative_to(ROOT)) for p in (ROOT / folder).rglob("*")
                   if p.is_file() and "__pycache__" not in p.parts}
    for name in sorted(wanted):
        copy = sources / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.is_file() or copy.read_bytes() != (ROOT / name).read_bytes():
            shutil.copyfile(ROOT / name, copy)
    for folder in FOLDERS:
        for path in (sources / folder).rglob("*"):
            if path.is_file() and str(path.relative_to(sources)) not in wanted:
                path.unlink()
    return sources


class Journal:
    """What was judged before: the same change of the same text of a file, by the same judge."""

    def __init__(self, judge, seed, fresh):
        self.path = WORK / f"journal_{judge}_{seed}.jsonl"
        self.known = {}
        if fresh:
            self.path.unlink(missing_ok=True)
        if self.path.is_file():
            for line in self.path.read_text().splitlines():
                entry = json.loads(line)
                self.known[entry["key"]] = entry["verdict"]

    @staticmethod
    def key(mutant, source):
        text = f"{mutant.file}\n{mutant.begin}\n{mutant.end}\n{mutant.text}\n{source}"
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
    key = journal.key(mutant, original)
    if key not in journal.known:
        path.write_text(mutant.apply(original))
        try:
            journal.add(key, judge.verdict(mutant), mutant)
        finally:
            path.write_text(original)
    return journal.known[key]


def judge_all(judge, sources, journal, chosen, minutes):
    explained = Explained(ROOT / "fixtures" / "mutation_survivors.json")
    start, tally = time.monotonic(), {"killed": 0, "explained": 0, "survived": 0, "not viable": 0}
    for count, mutant in enumerate(chosen, 1):
        if minutes and time.monotonic() - start > 60 * minutes:
            break
        result = judge_one(judge, sources, journal, mutant)
        if result == "survived":
            why = explained.reason(mutant)
            result = "explained" if why else "survived"
            print(f"{result.upper()} {mutant}" + (f": {why}" if why else ""), flush=True)
        tally[result if result in tally else "killed"] += 1
        print(f"{count}/{len(chosen)} {result}: {mutant.file}:{mutant.line}", file=sys.stderr,
              flush=True)
    return tally


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", help="files, lines of files, or folders below the root")
    parser.add_argument("--judge", choices=sorted(JUDGES), default="tests")
    parser.add_argument("--sample", type=int, default=200, help="so many mutants; 0: all")
    parser.add_argument("--seed", type=int, default=1, help="of the sample, and of random cases")
    parser.add_argument("--minutes", type=float, default=0, help="stop after so long; 0: never")
    parser.add_argument("--short", action="store_true",
                        help="properties: the first 100 random cases only, a lower bound")
    parser.add_argument("--fresh", action="store_true", help="forget what was judged before")
    parser.add_argument("--list", action="store_true", help="print the mutants, judge none")
    arguments = parser.parse_args()
    kind = JUDGES[arguments.judge]
    sources = copy_sources()
    mutants = all_mutants(arguments.paths or kind.default, sources)
    if mutants is None:
        return 2
    chosen = list(mutants)
    random.Random(arguments.seed).shuffle(chosen)
    if arguments.sample > 0:
        chosen = chosen[: arguments.sample]
    if arguments.list:
        print(*chosen, sep="\n")
        return 0
    judge = kind(sources, {m.file for m in chosen}, arguments.seed, arguments.short)
    if not judge.baseline():
        print("the unchanged sources do not pass", file=sys.stderr)
        return 3
    name = arguments.judge + ("_short" if arguments.short else "")
    journal = Journal(name, arguments.seed, arguments.fresh)
    tally = judge_all(judge, sources, journal, chosen, arguments.minutes)
    judged = tally["killed"] + tally["explained"] + tally["survived"]
    score = 100 * (judged - tally["survived"]) / judged if judged else 0
    print(f"{judged} mutants of {len(mutants)} judged, {tally['not viable']} did not compile: "
          f"{tally['killed']} killed, {tally['explained']} explained, {tally['survived']} survived; "
          f"killed or explained {score:.1f} %")
    return 1 if tally["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
