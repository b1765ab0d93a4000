#!/usr/bin/env python3
"""Prints the JSON report of `mla-testbed run` or `check` as Markdown for the page of a job.

    summary.py report.json EXIT_CODE

At most LINES lines, whatever was found; what is left out is counted. Names, messages and commands
are text there: no markup, link, mention or command of the workflow. Exit: 0; 2 it is no report.
"""
import json
import re
import sys
import unicodedata

LINES = 60
PROPERTIES, FAILURES, REMARKS, BACKENDS, PLANS = 8, 5, 3, 4, 40
RUN_CODES = ("Exit codes: 0 all held, 1 a property failed, 2 usage, 3 a file, backend, device or "
             "memory is missing, 4 inconclusive, 5 a known failure passed, 10 refused or skipped.")
CHECK_CODES = ("Exit codes: 0 every plan is valid, 1 a plan is broken, 2 usage, 3 a file cannot be "
               "read, 4 there was no plan, 10 a plan is of a kind that cannot be checked.")


def printable(text):
    """Without what moves a cursor, ends a line, or reorders text."""
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(c)[0] == "C"
                   or c in "\u2028\u2029" else c for c in text)


def markdown(text, most=300):
    """Text inside of a line or a table. Entities are never markup; GitHub looks for mentions,
    references and addresses in what they stand for: a word joiner stands after these."""
    text = printable(str(text))
    cut = text[:most] + ("…" if len(text) > most else "")
    out = re.sub(r"[\\`*_{}\[\]()<>#+|~$!&@:\"']", lambda found: f"&#{ord(found[0])};", cut)
    return re.sub(r"(&#(?:64|35);|www(?=\.))", r"\1&#8288;", out)


def block(command, most=4000):
    """A command that can be copied."""
    if len(command) > most:
        return ["The command is too long for this page; the report has it.", ""]
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", command)), default=0))
    return [f"{fence}text", printable(command), fence, ""]


def some(rows, most, what):
    """The first of the rows, and how many more there are."""
    left = [f"and {len(rows) - most} more {what}", ""] if len(rows) > most else []
    return rows[:most], left


def table(head, aligned, rows, most, what):
    shown, left = some(rows, most, what)
    if not shown:
        return []
    return [f"| {head} |", f"|{aligned}|", *(f"| {' | '.join(row)} |" for row in shown), "", *left]


def remarks_of(backend):
    for key, word in (("interrupted", "interrupted"), ("gave_up", "gave up")):
        if backend[key]:
            yield f"{word}: {backend['cases']} of {backend['wanted']} cases were judged"
    for entry in backend["ledger"]:
        if entry["verdict"] != "known-fail":
            yield f"{entry['verdict']}: {entry['id']}, {entry['message']}"
    if backend["first_too_large"]:
        yield f"not judged, for want of memory: {backend['first_too_large']}"


def run_lines(report):
    """The lines of a run: backends, what did not pass, remarks, failures."""
    out, tallies, failures, remarks = [], [], [], []
    for backend in report["backends"]:
        tallies += [(backend["name"], tally) for tally in backend["properties"]]
        failures += [(backend["name"], failure) for failure in backend["failures"]]
        remarks += [f"- {markdown(remark)}" for remark in remarks_of(backend)]
    out += table("backend | cases | refused | seed | seconds", "---|--:|--:|--:|--:",
                 [[markdown(b["name"]), str(b["cases"]), str(b["refused"]), str(report["seed"]),
                   f"{b['seconds']:.1f}"] for b in report["backends"]], BACKENDS, "backends")
    grave = {"fail": 0, "inconclusive": 1}
    open_ = sorted((t for t in tallies if t[1]["verdict"] not in ("pass", "not-applicable")),
                   key=lambda t: grave.get(t[1]["verdict"], 2))
    out += table("property | backend | verdict | ran | skipped | failed | ",
                 "---|---|---|--:|--:|--:|---",
                 [[markdown(f"{t['id']} {t['name']}"), markdown(name), markdown(t["verdict"]),
                   str(t["ran"]), str(t["skipped"]), str(t["failed"]), markdown(t["remark"], 200)]
                  for name, t in open_], PROPERTIES, "of them")
    count = [sum(t["verdict"] == verdict for _, t in tallies) for verdict in ("pass", "not-applicable")]
    out += [f"{count[0]} passed, {count[1]} are not applicable.", ""]
    shown, left = some(remarks, REMARKS, "remarks")
    out += [*shown, *([""] if shown else []), *left]
    shown, left = some(failures, FAILURES, "failures: the reports have them")
    for name, failure in shown:
        ids = [failure["property"], *(other["property"] for other in failure["also"])]
        found = re.search(r"^REPRO: (.*)$", failure["block"], re.M)
        out += [f"**FAIL {markdown(','.join(ids))}** on {markdown(name)}: "
                f"{markdown(failure['message'])}", *block(found[1] if found else failure["case"])]
    return [*out, *left, RUN_CODES]


def check_lines(report):
    rows = []
    for plan in report["plans"]:
        if plan["violations"]:
            first = plan["violations"][0]
            rows.append([markdown(plan["name"], 120), "broken",
                         markdown(f"{first['rule']}: {first['what']}"), str(len(plan["violations"])),
                         markdown(plan.get("at_fault", ""))])
        elif not plan["checked"]:
            rows.append([markdown(plan["name"], 120), "not checked",
                         markdown(plan.get("reason", "")), "0", ""])
    valid = sum(plan["checked"] and not plan["violations"] for plan in report["plans"])
    return [f"{valid} of {len(report['plans'])} plans are valid.", "",
            *table("plan | verdict | first violation, or reason | violations | at fault",
                   "---|---|---|--:|---", rows, PLANS, "plans"), CHECK_CODES]


def summary(report, code):
    """The lines of the page."""
    if report["format"] == "mla-testbed check 1":
        return [f"### mla-testbed check: exit {code}", "", *check_lines(report)]
    if report["format"] == "mla-testbed run 1":
        return [f"### mla-testbed: {markdown(report['verdict'])} (exit {code})", "",
                *run_lines(report)]
    raise ValueError(f"format {report['format']}")


def main():
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            lines = summary(json.load(file), int(sys.argv[2]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as why:
        print(f"summary.py: '{sys.argv[1]}' is no report: {why}", file=sys.stderr)
        return 2
    print(*lines, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
