"""Cases over trees of AITER: what `run --aiter` says of each, and what the trees plan."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any

from .aiter.suite.runner import FAIL, INCONCLUSIVE, PASS
from .aiter.tree.lists import LISTS
from .aiter_calls import below_tree, call, end_all, last_line
from .aiter_history import REFUSED, Verdict
from .errors import MlaError, UsageError

#: The property that is about the case's own step: where it is skipped, AITER refused the step.
OF_THE_STEP = "P05"
_SKIP = "skip"
_INTERRUPTED = "interrupted"  # of a property that a signal left unasked
_USAGE = 2
_IN_PLANS = {"work_info_set": "work_info"}  # lists that `plan --json` names otherwise
_AT_ONCE = 2


@dataclasses.dataclass(frozen=True)
class CaseLine:
    """A case as a question to commits. properties: those asked, P05,P31 for example; "": all."""

    name: str
    properties: str = ""


@dataclasses.dataclass(frozen=True)
class Failure:
    """case: the smallest that was found."""

    case: str
    message: str


@dataclasses.dataclass(frozen=True)
class Judged:
    """One case over one tree. failures: by property. skipped: properties that say nothing, and why.
    plan: its lists, {} on a route without a plan. planless: why the tree made no plan; "".
    inconclusive: those of the skipped ones that may have an answer another time."""

    failures: dict[str, Failure]
    skipped: dict[str, str]
    plan: dict[str, list[int]]
    planless: str = ""
    inconclusive: Sequence[str] = ()


def read_judged(told: dict[str, Any]) -> Judged:
    """What dataclasses.asdict made of one."""
    failures = {name: Failure(**one) for name, one in told["failures"].items()}
    return Judged(**{**told, "failures": failures})


def planner_call(case: str) -> dict[str, Any]:
    """What a planner is asked for a case, and what was decided about it.

    Raises:
        UsageError: the case is malformed or refused.
    """
    if case.startswith("-"):
        raise UsageError(f"'{case}' is no case")
    done = call(["plan", case, "--json"])
    if done.returncode != 0:
        raise UsageError(done.stderr.strip() or f"mla-testbed plan ended with {done.returncode}")
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def case_verdict(tree: pathlib.Path, arch: str, case: CaseLine, timeout: float) -> Verdict:
    """What a case comes to over a tree."""
    try:
        words = ["--property", case.properties] if case.properties else []
        return verdict_of(_answers(tree, arch, case.name, words, timeout), bool(words))
    except subprocess.TimeoutExpired:
        return Verdict(INCONCLUSIVE, f"time-out: {timeout:.0f} s")
    except MlaError as e:
        return Verdict(INCONCLUSIVE, str(e))


def verdict_of(judged: Judged, chosen: bool = False) -> Verdict:
    """Of all that was found about a case. chosen: no property but those that count was asked."""
    if judged.failures:
        first = next(iter(judged.failures.values()))
        return Verdict(FAIL, f"{','.join(judged.failures)}: {first.message}")
    for name, why in judged.skipped.items():
        if chosen or name == OF_THE_STEP:
            return Verdict(INCONCLUSIVE if name in judged.inconclusive else REFUSED, why)
    return Verdict(PASS, "")


def judge_tree(tree: pathlib.Path, arch: str, cases: Sequence[str]) -> dict[str, Judged]:
    """Each case, written with all its fields, over one tree: two at a time.

    Raises:
        MlaError: the tree cannot be imported, or a case came to no answer.
    """
    def judged(case: str) -> Judged:
        plan, planless = planned(tree, case)
        return dataclasses.replace(_answers(tree, arch, case), plan=plan, planless=planless)

    with ThreadPoolExecutor(_AT_ONCE) as pool:  # each waits for a process
        try:
            asked = [pool.submit(judged, case) for case in cases]
            for one in wait(asked, return_when=FIRST_EXCEPTION).done:
                one.result()
            return {case: one.result() for case, one in zip(cases, asked, strict=True)}
        except BaseException:  # an interrupt, or one case came to no answer: no other is waited for
            pool.shutdown(wait=False, cancel_futures=True)
            end_all()
            raise


def _device(tree: pathlib.Path, arch: str) -> list[str]:
    return ["--backend", "aiter", "--device", f"emulated:{arch}", "--aiter", str(tree)]


def planned(tree: pathlib.Path, case: str) -> tuple[dict[str, list[int]], str]:
    """The words that a tree's planner writes, or why it makes no plan; a tree that cannot be
    imported makes none either. Both are empty on a route without a plan."""
    done = call(["plan", case, "--aiter", str(tree), "--json"])
    if done.returncode != 0:
        why = last_line(done.stderr).removeprefix("mla-testbed plan: ")
        return {}, why or f"mla-testbed plan ended with {done.returncode}"
    told = json.loads(done.stdout)
    if told["decisions"].get("route") == "split" or told["decisions"].get("path") == "flash":
        return {}, ""
    return {name: told[_IN_PLANS.get(name, name)] for name in LISTS}, ""


def replayed(tree: pathlib.Path, arch: str, case: str, words: Sequence[str] = (),
             timeout: float | None = None) -> list[dict[str, str]]:
    """What each property says of a case over a tree: id, name, verdict, message.

    Raises:
        UsageError: the case is refused.
        MlaError: the command came to no answer, or was interrupted.
    """
    done = call(["replay", case, *_device(tree, arch), "--json", *words], timeout)
    told = [{**one, "message": below_tree(one["message"])}
            for one in _of_backend(done)["properties"]]
    if any(one["message"] == _INTERRUPTED for one in told):
        raise MlaError("mla-testbed replay was interrupted")
    return told


def _of_backend(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What a command says in JSON of the one backend."""
    try:
        told: dict[str, Any] = json.loads(done.stdout)["backends"][0]
    except (ValueError, LookupError) as e:
        why = last_line(done.stderr) or f"mla-testbed {done.args[0]} ended with {done.returncode}"
        raise (UsageError if done.returncode == _USAGE else MlaError)(why) from e
    return told


def _answers(tree: pathlib.Path, arch: str, case: str, words: Sequence[str] = (),
             timeout: float | None = None) -> Judged:
    """What fails, and what is not judged. One command for each case: `run` does not ask a property
    again that failed on an earlier case."""
    failures, skipped, inconclusive = {}, {}, []
    for one in replayed(tree, arch, case, words, timeout):
        if one["verdict"] == FAIL:
            failures[one["id"]] = Failure(case, one["message"])
        elif one["verdict"] in (_SKIP, INCONCLUSIVE):
            skipped[one["id"]] = one["message"]
            inconclusive += [one["id"]] if one["verdict"] == INCONCLUSIVE else []
    return Judged(failures, skipped, {}, "", inconclusive)


def smallest(tree: pathlib.Path, arch: str, case: str, name: str) -> str:
    """The smallest case that was found on which a property fails, beginning at one; "": none."""
    with tempfile.TemporaryDirectory(prefix="mla-testbed-cases-") as folder:
        file = pathlib.Path(folder) / "cases.txt"
        file.write_text(f"{case}\n", encoding="utf-8")
        done = call(["run", *_device(tree, arch), "--cases-file", str(file), "--property", name,
                     "--json", "--no-progress"])
    failures = _of_backend(done)["failures"]
    return next((str(told["case"]) for told in failures if told["property"] == name), "")


def full_case(line: str, arch: str) -> str | None:
    """A case with all its fields; None if it names another architecture. UsageError: it is none."""
    name = str(planner_call(line if "arch=" in line else f"{line};arch={arch}")["name"])
    return name if field_of(name, "arch") == arch else None


def field_of(name: str, field: str) -> str:
    """Of a case with all its fields: "" for one that it does not have."""
    return dict(word.split("=", 1) for word in name.split(";")[1:]).get(field, "")


def is_decode(name: str) -> bool:
    """Whether a case has decode steps, of which reports are."""
    return field_of(name, "kind") in ("", "decode")
