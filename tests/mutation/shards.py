"""Mutation runs over many machines: which mutants a shard judges, its record, and records together."""
import json
import random
import re

FORMAT = "mla-testbed mutation 1"
VERDICTS = ("killed", "explained", "survived", "equivalent", "not viable")


class Refused(Exception):
    """What was given cannot be used; the text says why."""


def parse_shard(text):
    """(index from 0, count) of `i/n`."""
    found = re.fullmatch(r"([1-9]\d{0,4})/([1-9]\d{0,4})", text)
    if not found or int(found.group(1)) > int(found.group(2)):
        raise Refused(f"--shard has value '{text}'; expected i/n with i from 1 to n, as 1/3")
    return int(found.group(1)) - 1, int(found.group(2))


def choose(mutants, seed, sample, shard=(0, 1)):
    """The mutants of a shard: a share of the sample, which is the same for any number of shards."""
    chosen = list(mutants)
    random.Random(seed).shuffle(chosen)
    if sample > 0:
        chosen = chosen[:sample]
    return chosen[shard[0]::shard[1]]


def record(what, shard, total, chosen, tally, lines):
    """The record of a shard: `what` says which run it is of, `chosen` how many mutants it has,
    `lines` are survivors and explained."""
    return {"format": FORMAT, "what": what, "shard": list(shard), "mutants": total,
            "chosen": chosen, "tally": tally, "lines": lines}


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        index, count = found["shard"]
        sound = (found["format"] == FORMAT and 0 <= index < count
                 and set(found["tally"]) == set(VERDICTS)
                 and all(isinstance(n, int) and n >= 0 for n in found["tally"].values())
                 and isinstance(found["mutants"], int) and isinstance(found["chosen"], int)
                 and isinstance(found["what"], dict)
                 and all(isinstance(line, str) for line in found["lines"]))
    except OSError as why:
        raise Refused(f"'{path}' cannot be read: {why.strerror}") from why
    except (KeyError, TypeError, ValueError) as why:
        raise Refused(f"'{path}' is no record of a mutation run") from why
    if not sound:
        raise Refused(f"'{path}' is no record of a mutation run")
    return found


def merge(paths):
    """(tally, mutants in all, lines, shards that are missing or ended early as i/n)."""
    records = [read(path) for path in paths]
    first = records[0]
    tally, seen, whole, lines = dict.fromkeys(VERDICTS, 0), set(), set(), []
    for path, one in zip(paths, records):
        if (one["what"], one["mutants"], one["shard"][1]) != (
                first["what"], first["mutants"], first["shard"][1]):
            raise Refused(f"'{path}' does not belong to '{paths[0]}': options, sources or the "
                          "number of shards differ")
        if one["shard"][0] in seen:
            raise Refused(f"'{path}' is shard {one['shard'][0] + 1}/{one['shard'][1]}, which another "
                          "file is too")
        if sum(one["tally"].values()) == one["chosen"]:
            whole.add(one["shard"][0])
        seen.add(one["shard"][0])
        for verdict, count in one["tally"].items():
            tally[verdict] += count
        lines += one["lines"]
    count = first["shard"][1]
    missing = [f"{i + 1}/{count}" for i in range(count) if i not in whole]
    return tally, first["mutants"], sorted(lines), missing


def summary(tally, total, least=100):
    """The last line of a run, and its exit code: 1 if mutants survived, and less than `least` per cent
    were killed or explained."""
    judged = tally["killed"] + tally["explained"] + tally["survived"]
    score = 100 * (judged - tally["survived"]) / judged if judged else 0
    text = (f"{judged} mutants of {total} judged, {tally['not viable']} did not compile, "
            f"{tally['equivalent']} are the same program: "
            f"{tally['killed']} killed, {tally['explained']} explained, {tally['survived']} "
            f"survived; killed or explained {score:.1f} %")
    return text, 1 if tally["survived"] and score < least else 0
