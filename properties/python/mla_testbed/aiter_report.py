"""A case over a tree of AITER as a report that can be pasted into an issue: what is wrong, in which
version and shape, the verdicts, the instruction, and a script of AITER's own API."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from . import __version__
from .aiter_cases import planned, replayed
from .aiter_changes import first_word
from .aiter_history import Commit
from .aiter_script import script
from .errors import UsageError

_PRODUCTS = {"gfx942": "MI300X", "gfx950": "MI355X"}
_INSTRUCTION = re.compile(r"at (\S+) `([^`]+)`")
#: Verdicts that a report counts, or leaves out.
_HELD = ("pass", "skip", "not-applicable")


@dataclasses.dataclass(frozen=True)
class Shown:
    """One case over one tree. call: what `plan --json` says of it. verdicts: id, name, verdict and
    message of each property. instructions: that the emulator's checks name. word: where its plan
    is another than before; "". script: "" if AITER's API has no counterpart, and why in no_script.
    """

    commit: Commit
    call: Mapping[str, Any]
    verdicts: Sequence[tuple[str, str, str, str]]
    instructions: Sequence[str]
    word: str
    script: str
    no_script: str

    @property
    def wrong(self) -> bool:
        """Whether a property does not hold."""
        return any(verdict not in _HELD for _, _, verdict, _ in self.verdicts)

    def title(self) -> str:
        """One line with the shape."""
        call = self.call
        form = "without a plan" if call["decisions"]["route"] == "split" else "with a plan"
        return (f"MLA decode {form} {'is wrong' if self.wrong else 'holds'} on {call['arch']}: "
                f"{_requests(call)}, {call['num_heads_per_head_k']} heads, "
                f"{call['dtype_q']}/{call['dtype_kv']}")

    def markdown(self) -> str:
        """The report."""
        call, commit = self.call, self.commit
        arch = call["arch"]
        lines = [
            f"### {self.title()}", "",
            f"AITER `{commit.id}` ({commit.date}, {commit.title}), {arch} ({_PRODUCTS[arch]}). "
            f"Found by mla-testbed {__version__}, which executes AITER's planner, dispatch, code "
            "objects and reduce in an emulator of the instruction set; not yet seen on a GPU.",
            "", "| | |", "|---|---|",
            f"| requests | {_requests(call)} |",
            f"| `qo_indptr` | `{_some(call['seqlens_qo_indptr'])}` |",
            f"| `kv_indptr` | `{_some(call['seqlens_kv_indptr'])}` |",
            f"| heads, page size | {call['num_heads_per_head_k']}, {call['page_size']} |",
            f"| query, cache | {call['dtype_q']}, {call['dtype_kv']} |",
            f"| causal | {call['is_causal']} |",
            f"| kernel | {call['decisions']['kernel']}, {call['num_cu']} compute units |", ""]
        bad = [one for one in self.verdicts if one[2] not in _HELD]
        held = sum(verdict == "pass" for _, _, verdict, _ in self.verdicts)
        lines += ["| property | verdict | what was found |", "|---|---|---|"]
        lines += [f"| {name} {title} | {verdict} | {_cell(message)} |"
                  for name, title, verdict, message in bad]
        lines += [f"| {held} others | pass | |", ""]
        if self.instructions:
            lines += ["Instructions that the emulator's checks name:", "",
                      *(f"    {line}" for line in self.instructions), ""]
        if self.word:
            lines += [f"The planner's lists differ from those of the base: {self.word}", ""]
        lines += ["Again, with the tree checked out:", "",
                  f"    mla-testbed replay '{call['name']}' --backend aiter --device "
                  f"emulated:{arch} --aiter .", ""]
        if self.script:
            lines += ["With AITER alone, on a GPU:", "", "```python", self.script.rstrip(),
                      "```", ""]
        else:
            lines += [self.no_script, ""]
        return "\n".join(lines)


def show(tree: pathlib.Path, commit: Commit, call: dict[str, Any],
         base: pathlib.Path | None = None) -> Shown:
    """Judges a case over a tree twice, without checks and with them. call: what `plan --json` says
    of the case. base: a tree whose plan is compared.

    Raises:
        MlaError: the tree cannot be imported, or the case comes to no answer.
    """
    arch = call["arch"]
    plain = replayed(tree, arch, call["name"])
    wrong = [one["id"] for one in plain if one["verdict"] not in _HELD]
    checked = replayed(tree, arch, call["name"], ["--checks", *(
        word for name in (wrong or ["P05"]) for word in ("--property", name))])
    lists, why = planned(tree, call["name"])
    word = ""
    if base is not None and lists:
        before, _ = planned(base, call["name"])
        word = first_word(before, lists) if before not in ({}, lists) else ""
    try:
        text, why = script(call, lists, commit.id[:10], _sentence(call)), ""
    except UsageError as e:
        text, why = "", why or str(e)
    return Shown(commit, call,
                 [(one["id"], one["name"], one["verdict"], one["message"]) for one in plain],
                 instructions([one["message"] for one in (*plain, *checked)]), word, text, why)


def _sentence(call: Mapping[str, Any]) -> str:
    """What the script says first."""
    return (f"MLA decode of {_requests(call)}, {call['num_heads_per_head_k']} heads, "
            f"{call['dtype_q']}/{call['dtype_kv']}.")


def instructions(messages: Sequence[str]) -> list[str]:
    """Place and disassembly of each instruction that messages name, once."""
    found = dict.fromkeys(f"{place}: {text}" for message in messages
                          for place, text in _INSTRUCTION.findall(message))
    return list(found)


def _requests(call: Mapping[str, Any]) -> str:
    rows = _lengths(call["seqlens_qo_indptr"])
    pages = _lengths(call["seqlens_kv_indptr"])
    keys = [0 if n == 0 else (n - 1) * call["page_size"] + last
            for n, last in zip(pages, call["kv_last_page_lens"], strict=True)]
    groups: list[tuple[int, int, int]] = []
    for row, key in zip(rows, keys, strict=True):
        if groups and groups[-1][1:] == (row, key):
            groups[-1] = (groups[-1][0] + 1, row, key)
        else:
            groups.append((1, row, key))
    told = [f"{_counted(n, 'request')} with {_counted(row, 'row')} and {_counted(key, 'key')}"
            for n, row, key in groups]
    return ", ".join(told[:4]) + (f" and {len(told) - 4} more" if len(told) > 4 else "")


def _lengths(indptr: Sequence[int]) -> list[int]:
    return [end - begin for begin, end in zip(indptr, indptr[1:], strict=False)]


def _counted(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _some(words: Sequence[int]) -> str:
    return json.dumps(list(words[:16]))[:-1] + (", ...]" if len(words) > 16 else "]")
