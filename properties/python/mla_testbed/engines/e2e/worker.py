r"""The process of one scenario: draws prompts, measures the floor, serves, compares.

    python -m mla_testbed.engines.e2e.worker ENGINE SCENARIO RESULT.json [BUNDLE STEP LAYER [RANK]]
        [--modules=own]

With a bundle, the decode launch of that step and layer is saved there with its tensors.
`MLA_TESTBED_E2E_PLANT` names a Python file with a function `plant(whole)`, called before the engine
starts: tests change the engine by it.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import pathlib
import runpy
import sys
import tempfile
import time
import traceback
from typing import Any

import torch

from ..._options import COMPUTE_UNITS
from ...errors import MlaError
from .. import raised
from ..findings import PASS
from . import finder, model, prompts, tree
from .collectives import LEFT, LeftError, RanksDifferError
from .drafts import LEFT_OUT, Drafts
from .judged import Result
from .reference import Reference
from .scenario import Scenario
from .traced import Step

#: Where the bundle's words have the rank.
_RANK = 3
_MODULES = "--modules="


class Clock:
    """Seconds of each part: a call ends one."""

    def __init__(self, into: dict[str, float]) -> None:
        self._into, self._last = into, time.monotonic()

    def __call__(self, part: str) -> None:  # noqa: D102 the class says it
        now = time.monotonic()
        self._into[part] = round(now - self._last, 2)
        self._last = now


def main(arguments: list[str]) -> int:
    """Leaves the result in the file; an engine that cannot be imported is inconclusive."""
    modules = next((one.removeprefix(_MODULES) for one in arguments if one.startswith(_MODULES)),
                   "ported")
    engine, text, path, *bundle = (one for one in arguments if not one.startswith(_MODULES))
    scenario = Scenario.parse(text)
    result = Result(str(scenario))
    try:
        _judge(engine, scenario, result, bundle, modules)
    except (ImportError, MlaError) as e:
        traceback.print_exc()
        result.unknown(f"{type(e).__name__}: {e}")
    result.write(pathlib.Path(path))
    return 0


def _judge(engine: str, scenario: Scenario, result: Result, bundle: list[str], modules: str
           ) -> None:
    clock = Clock(result.seconds)
    torch.set_num_threads(1)  # small matrices: a second thread would mostly wait
    made = model.make(scenario)
    asked = prompts.ask(scenario, made)
    clock("prompts")
    # Each engine's package has one.
    module = importlib.import_module(f"..{engine}.whole", __package__)
    whole = module.Whole(scenario, COMPUTE_UNITS[scenario.arch], modules)

    def save(rank: int) -> None:
        if bundle and str(rank) == [*bundle, "0"][_RANK]:
            whole.watch.save_launch(int(bundle[1]), int(bundle[2]), bundle[0])

    if scenario.processes == 1:
        save(0)
    plant = os.environ.get("MLA_TESTBED_E2E_PLANT")
    if plant:
        file, _, name = plant.partition("::")
        runpy.run_path(file)[name or "plant"](whole)
    clock("imports")
    if scenario.processes > 1:
        def one(rank: tree.Rank, own: Result) -> None:
            save(rank.number)
            served_rank(scenario, made, asked, whole, own, rank)

        tree.serve(scenario, result, one)
        return
    serve(scenario, made, asked, whole, result, clock)


def served_rank(scenario: Scenario, made: model.Model, asked: prompts.Asked, whole: Any,
                result: Result, rank: tree.Rank) -> None:
    """Serves and judges one rank, in its process."""
    rank.collectives.install()
    whole.join(rank)
    if scenario.ranks > 1:
        asked = tree.share(asked, rank.number, rank.of)
    serve(scenario, made, asked, whole, result, Clock(result.seconds))
    if scenario.ranks > 1:
        result.idle = [sum(not step.served for step in whole.watch.steps)]


def serve(scenario: Scenario, made: model.Model, asked: prompts.Asked, whole: Any, result: Result,
          clock: Clock) -> None:
    """Starts the engine, serves the scenario's requests, and compares.

    Raises:
        ImportError: something is not there that says nothing about the engine.
    """
    result.engine, result.version, result.aiter = whole.name, whole.version, whole.aiter
    result.margin, result.allowed = asked.margin, asked.floor.bound
    out: list[list[int]] = []
    try:
        with tempfile.TemporaryDirectory(prefix="mla-testbed-e2e-") as folder:
            made.write(pathlib.Path(folder))
            whole.start(scenario, pathlib.Path(folder))
        clock("start")
        for _ in range(1 + scenario.prefix):
            more, cached = whole.generate(asked.prompts)
            out, result.cached = out + more, result.cached + cached
    except (ImportError, NotImplementedError, MemoryError) as e:
        traceback.print_exc()
        raise ImportError(f"{e}; nothing was judged") from e
    except (RanksDifferError, LeftError):
        raise
    except Exception as e:
        traceback.print_exc()
        if isinstance(e, AttributeError) and "_OpNamespace" in str(e):
            raise ImportError(f"an operation that the engine compiles is not served: {e}") from e
        if "gloo/transport" in str(e):
            raise LeftError(f"{LEFT} a collective: {raised.first_line(e)}") from e
        last = traceback.extract_tb(e.__traceback__)[-1]
        if raised.calls_otherwise(e) or (
                pathlib.Path(last.filename).parent.parent == pathlib.Path(__file__).parents[1]):
            raise ImportError(f"{whole.name} {whole.version} has something else than is watched: "
                              f"{type(e).__name__}: {e} ({pathlib.Path(last.filename).name}:"
                              f"{last.lineno}); expected {whole.supported}") from e
        result.found(f"the engine raised {type(e).__name__}: {raised.first_line(e)} "
                     f"{raised.place(e)}")
    clock("served")
    result.stand_ins = whole.stand_ins()
    result.ported = whole.stage.ported().as_json()
    result.own = whole.stage.own()
    result.steps = len(whole.watch.steps)
    result.replayed = whole.watch.replays
    if out:
        metrics = whole.metrics()
        result.drafts = int(metrics.get("draft_tokens", 0))
        result.accepted = int(metrics.get("accepted_tokens", 0))
        _compare(scenario, made, asked, out, result, whole)
    for sentence in whole.early_writes():
        result.found(f"P20 {sentence}")
    clock("compared")


def _compare(scenario: Scenario, made: model.Model, asked: prompts.Asked, out: list[list[int]],
             result: Result, whole: Any) -> None:
    reference = Reference(made)
    units, steps = COMPUTE_UNITS[scenario.arch], whole.watch.steps
    rounds = len(out) // len(asked.prompts)
    for number, (prompt, expected, given) in enumerate(zip(
            asked.prompts * rounds, asked.expected * rounds, out, strict=True)):
        result.answers.append({"request": number, "prompt": len(prompt), "expected": expected,
                               "given": given})
        result.tokens += len(expected)
        result.equal += sum(a == b for a, b in zip(expected, given, strict=False))
        if given != expected:
            logits = reference.logits([*prompt, *given])[len(prompt) - 1:-1]
            off = prompts.regrets(logits, torch.tensor(given))
            result.regret = max(result.regret, float(off.max()))
    if asked.margin and result.equal != result.tokens:
        result.found(f"{result.equal} of {result.tokens} tokens are those of float32; expected "
                     f"all, since each is ahead by {asked.margin:.2f} or more (regret "
                     f"{result.regret:.2f})")
    elif result.regret > result.allowed:
        result.found(f"a token was chosen whose logit is {result.regret:.2f} below the best; "
                     f"rounding explains {result.allowed:.2f}")
    sequences = [[*p, *g] for p, g in zip(asked.prompts * rounds, out, strict=True)]
    rank = getattr(whole, "context_rank", 0)
    found = finder.Finder(reference, asked.floor, sequences, (rank, scenario.dcp))
    fault = found.first(steps)
    result.worst = {name: round(share, 3) for name, share in found.worst.items()}
    if fault is not None:
        result.fault = dataclasses.asdict(fault)
        result.found(f"first fault: {fault}")
    elif result.verdict == PASS:
        _seen(found.worst, steps, result, whole)
    if scenario.spec in ("mtp", "eagle3"):
        lengths = [len(prompt) for prompt in asked.prompts * rounds]
        first = LEFT_OUT if scenario.spec == "eagle3" else whole.first_draft
        _drafts(Drafts(made, asked.floor, first, lengths, sequences), steps, result)
    result.lists = sum(step.built is not None for step in steps)
    for sentence in whole.watch.wrong_writes():
        result.found(f"P18 {sentence}")
    scale = whole.watch.wrong_scale(scenario.scale)
    if scale:
        result.found(scale)
    for finding in finder.judged_lists(scenario, units, steps, rank):
        result.found(f"{finding.property} step {finding.step}: {finding.what}")


def _drafts(drafts: Drafts, steps: list[Step], result: Result) -> None:
    drafts.judge(steps)
    result.drafted = drafts.judged
    if drafts.wrong:
        result.found(f"{len(drafts.wrong)} of {drafts.judged} drafts are not the draft model's: "
                     f"{drafts.wrong[0]}")
    elif not result.accepted:
        result.unknown(f"none of {result.drafts} drafts was accepted; expected some, since the "
                       "draft computes nearly what the target does")


def _seen(worst: dict[str, float], steps: list[Step], result: Result, whole: Any) -> None:
    """What was not watched did not pass."""
    scenario = Scenario.parse(result.scenario)
    first = finder.SELECTION if scenario.model == "dsa" else "query"
    missing = [name for name in (first, "key", "attention", "logits") if name not in worst]
    if scenario.share > 1 and not any(
            number % scenario.share for step in steps for number in step.later):
        missing.append("list of a layer without an indexer")
    blind = [str(step.number) for step in steps
             if step.tokens is None and (step.served or scenario.ranks == 1)]
    if missing or blind or not steps:
        result.unknown(f"{whole.name} {result.version} runs elsewhere than where it is watched: "
                       f"{', '.join(missing) or 'no tensor'} never seen, no layer seen in "
                       f"{len(blind)} of {len(steps)} steps; expected {whole.supported}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
