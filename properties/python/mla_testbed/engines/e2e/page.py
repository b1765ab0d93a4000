"""A page of what scenarios of whole engines came to: one HTML file that needs no other."""

from __future__ import annotations

import dataclasses
import html
import os
import pathlib
import shlex
from collections.abc import Iterable, Sequence

from ...errors import UsageError
from ...ported import Ported
from ..findings import FAIL, PASS
from .judged import Result
from .scenario import Scenario

_LOOK = {PASS: "good", FAIL: "bad"}
_SHEET = """body { font: 15px/1.45 Helvetica, Arial, 'DejaVu Sans', sans-serif; color: #1f2933;
  background: #ffffff; max-width: 1040px; margin: 24px auto; padding: 0 20px }
h1 { font-size: 19px } h2 { font-size: 16px; margin: 34px 0 6px }
h1, h2, p, li, td, th { overflow-wrap: anywhere }
table { border-collapse: collapse; font-size: 13.5px; margin: 6px 0 }
td, th { padding: 2px 14px 2px 0; text-align: left; vertical-align: top }
th, .notes { font-weight: normal; color: #52606d }
pre { font: 12.5px/1.4 'DejaVu Sans Mono', Menlo, Consolas, monospace; background: #f4f6f8;
  padding: 8px 10px; white-space: pre-wrap; overflow-wrap: anywhere; margin: 6px 0 }
.bad { color: #b00000 } .good { color: #2f7d32 } .open { color: #8a6100 }
@media (prefers-color-scheme: dark) {
  :root { color-scheme: dark }
  body { color: #e4e7eb; background: #14181d } pre { background: #232a32 }
  th, .notes { color: #9aa5b1 }
  .bad { color: #ff8a80 } .good { color: #81c784 } .open { color: #ffcc66 }
}
"""
#: What a first fault has, in the order of the page.
_FAULT = ("step", "layer", "request", "position", "tensor", "off", "bound", "what", "rank")


def expect_writable(path: str, other: str | None) -> None:
    """Asked before the run. other: the file of --json.

    Raises:
        UsageError: no file can be written there, or it is the other one.
    """
    found = pathlib.Path(path).resolve()
    if other and found == pathlib.Path(other).resolve():
        raise UsageError(f"--html and --json both name '{path}'; expected two files")
    if found.is_dir() or not os.access(found.parent, os.W_OK):
        raise UsageError(f"--html '{path}' cannot be written; expected a file")


def write(path: pathlib.Path, results: Sequence[Result], summary: str, options: str) -> None:
    """Writes the page, or leaves the file that was there.

    Args:
        summary: one line about all. options: of the command that repeats a scenario.
    """
    partial = path.with_name(path.name + ".part")
    partial.write_text(text(results, summary, options), encoding="utf-8")
    partial.replace(path)


def text(results: Sequence[Result], summary: str, options: str) -> str:
    """The whole page."""
    body = "".join(_section(result, options) for result in results)
    return ("<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width\">\n"
            f"<title>mla-testbed-engines e2e</title>\n<style>\n{_SHEET}</style></head>\n<body>\n"
            f"<h1>mla-testbed-engines e2e: {_safe(summary)}</h1>\n{body}</body>\n</html>\n")


def _section(result: Result, options: str) -> str:
    look = _LOOK.get(result.verdict, "open")
    parts = [f"<h2><span class=\"{look}\">{_safe(result.verdict.upper())}</span> "
             f"{_safe(result.scenario)}</h2>\n"]
    parts += [f"<p class=\"{look}\">{_safe(finding)}</p>\n" for finding in result.findings]
    parts += [f"<p>known: {_safe(why)}</p>\n" for why in result.known]
    if result.fault is not None:
        fault = [(name, result.fault[name]) for name in _FAULT
                 if result.fault.get(name) not in (None, "")]
        parts.append("<p>The first tensor that left its bound:</p>\n" + _table(fault))
    parts.append(_table(_facts(result)))
    parts.append(_bounds(result))
    parts.append(_answers(result))
    parts.append(_table(
        [("operation that neither the engine nor AITER ran", "calls"),
         *sorted(result.stand_ins.items())]) if result.stand_ins else "")
    parts += [f"<p class=\"notes\">{_safe(line)}</p>\n" for line in _of_ports(result)]
    parts.append(f"<pre>mla-testbed-engines e2e {_safe(shlex.quote(result.scenario))} "
                 f"{_safe(options)}</pre>\n")
    return "".join(parts)


def _facts(result: Result) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = [
        ("engine", f"{result.engine} {result.version}"), ("AITER", result.aiter or "not asked")]
    scenario = Scenario.parse(result.scenario)
    found.append(("scenario", ", ".join(f"{field.name} {getattr(scenario, field.name)}"
                                        for field in dataclasses.fields(scenario))))
    if result.tokens:
        how = f"each ahead by {result.margin:.2f}" if result.margin else "without a margin"
        found += [
            ("tokens", f"{result.equal} of {result.tokens} equal ({how})"),
            ("regret", f"{result.regret:.2f} of {result.allowed:.2f}"),
            ("steps", f"{result.steps}, {result.replayed} from graphs, {result.lists} with lists "
                      "judged"),
            ("cached tokens", result.cached)]
    if result.drafts:
        found.append(("drafts", f"{result.accepted} of {result.drafts} accepted, {result.drafted} "
                                "held against their model"))
    if result.idle:
        found.append(("steps without requests, of each rank", ", ".join(map(str, result.idle))))
    if result.seconds:
        found.append(("seconds", ", ".join(f"{n} {s:.0f}" for n, s in result.seconds.items())))
    if result.bundle:
        found.append(("bundle", result.bundle))
    return found


def _bounds(result: Result) -> str:
    if not result.worst:
        return ""
    return _table([("tensor", "used of what rounding explains"),
                   *((name, f"{share:.0%}") for name, share in result.worst.items())])


def _answers(result: Result) -> str:
    """The tokens of each request; those that float32 chooses otherwise are marked."""
    if not result.answers:
        return ""
    rows = "".join(
        f"<tr><th>{one['request']}</th><td>{one['prompt']}</td><td>"
        + " ".join(_token(given, wanted) for given, wanted in zip(
            one["given"], one["expected"], strict=False)) + "</td></tr>\n"
        for one in result.answers)
    return ("<table>\n<tr><th>request</th><th>prompt</th><th>tokens; float32's in brackets where "
            f"they are others</th></tr>\n{rows}</table>\n")


def _token(given: int, wanted: int) -> str:
    if given == wanted:
        return str(given)
    return f"<span class=\"bad\">{given} ({wanted})</span>"


def _of_ports(result: Result) -> list[str]:
    return [*result.own, *([] if result.ported is None else
                           Ported.of_json(result.ported).lines())]


def _table(rows: Iterable[tuple[str, object]]) -> str:
    return "<table>\n" + "".join(
        f"<tr><th>{_safe(name)}</th><td>{_safe(value)}</td></tr>\n" for name, value in rows
    ) + "</table>\n"


def _safe(value: object) -> str:
    return html.escape(str(value))
