"""mla-testbed-engines e2e: each scenario in a process of its own, and a summary of all."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import shlex
import subprocess
import tempfile
import time
from collections.abc import Iterator

from ...errors import UsageError
from ...ported import Ported
from .. import ledger, report
from ..client import EngineMissing, Setting, interpreter
from ..findings import FAIL, INCONCLUSIVE, KNOWN, PASS
from . import known, page
from .judged import Result
from .options import WITHOUT
from .scenario import NAMED, Scenario, drawn

_PACKAGE = pathlib.Path(__file__).resolve().parents[3]


@dataclasses.dataclass(frozen=True)
class Runner:
    """Runs scenarios.

    Attributes:
        engine: its name. python: the engine's interpreter. timeout: seconds for a scenario.
        bundles: where launches of faults are saved, or None. ledger: known failures.
        modules: AITER's compiled ones, see aiter.own.choice.choose.
    """

    engine: str
    python: str
    timeout: float
    bundles: pathlib.Path | None = None
    ledger: tuple[ledger.Known, ...] = ()
    modules: str = "ported"

    @property
    def options(self) -> str:
        """Of the command that repeats a scenario."""
        more = {"ported": "", WITHOUT: " --without-aiter"}.get(self.modules,
                                                               f" --modules {self.modules}")
        return f"--engine {self.engine}{more}"

    def run(self, scenario: Scenario, bundle: tuple[pathlib.Path, int, int, int] | None = None
            ) -> Result:
        """One scenario. A process that gives no result is inconclusive."""
        with tempfile.TemporaryDirectory(prefix="mla-testbed-e2e-") as scratch:
            path = pathlib.Path(scratch) / "result.json"
            more = [] if bundle is None else list(map(str, bundle))
            with (pathlib.Path(scratch) / "log").open("w+b") as log:
                code = self._call(["-m", "mla_testbed.engines.e2e.worker", self.engine,
                                   str(scenario), str(path), *more,
                                   f"--modules={self.modules}"], scratch, log)
                if path.is_file():
                    result = Result.read(path)
                    known.explain(result, self.ledger)
                    return result
                log.seek(0)
                said = log.read().decode(errors="replace").strip().splitlines() or ["nothing"]
            why = f"no result within {self.timeout:g} s" if code is None else (
                f"the process ended with {code}: {said[-1]}")
            return Result(str(scenario), verdict=INCONCLUSIVE, findings=[why])

    def _call(self, arguments: list[str], scratch: str, log: object) -> int | None:
        paths = [str(_PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1",
                       "TMPDIR": scratch}
        try:
            return subprocess.run([self.python, *arguments], env=environment, stdout=log,  # type: ignore[call-overload,no-any-return]
                                  stderr=log, stdin=subprocess.DEVNULL, timeout=self.timeout,
                                  check=False).returncode
        except subprocess.TimeoutExpired:
            return None
        except OSError as e:
            raise EngineMissing(f"'{self.python}' is no Python: {e.strerror}") from e

    def saved(self, result: Result) -> str:
        """Runs a failed scenario again and saves the launch of its fault; the folder, or "" if the
        fault has no decode launch."""
        fault = result.fault
        if self.bundles is None or fault is None:
            return ""
        layer = fault["layer"] if fault["layer"] is not None else 0
        folder = self.bundles / f"e2e-step-{fault['step']}-layer-{layer}"
        self.run(Scenario.parse(result.scenario),
                 (folder, fault["step"], layer, fault.get("rank", 0)))
        return str(folder) if (folder / "manifest.json").is_file() else ""


def run(options: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    scenarios = [Scenario.parse(text) for text in options.scenarios]
    scenarios += list(drawn(options.seed, max(options.random, 0)))
    if not scenarios:
        raise UsageError(f"e2e needs a SCENARIO or --random N; expected one of {', '.join(NAMED)}")
    if options.html:
        page.expect_writable(options.html, options.json)
    bundles = pathlib.Path(options.bundles).resolve() if options.bundles else None
    runner = Runner(options.engine, interpreter(Setting(options.engine, options.python)),
                    options.timeout, bundles, _ledger(options), options.modules)
    done = Done(len(scenarios))
    try:
        for scenario in scenarios:
            done.add(_judged(runner, scenario, options), runner)
            _told(done, runner, options)
    finally:
        if options.html and done.results:
            page.write(pathlib.Path(options.html), done.results, done.summary(), runner.options)
    print(done.summary())
    for name in done.gone:
        print(f"a known failure passed on its witness: {name}")
    left_out = done.ported is not None and bool(done.ported.changed) and not options.ported
    for line in () if done.ported is None else (
            done.ported.lines() + [done.ported.advice("--ported")] * left_out):
        print(line)
    return done.exit_code(left_out=left_out)


@dataclasses.dataclass
class Done:
    """What a run came to so far.

    Attributes:
        of: scenarios asked for. results, in their order. gone: known failures that passed.
        ported: in place of which modules ours ran.
    """

    of: int
    results: list[Result] = dataclasses.field(default_factory=list)
    gone: list[str] = dataclasses.field(default_factory=list)
    ported: Ported | None = None
    started: float = dataclasses.field(default_factory=time.monotonic)

    def add(self, result: Result, runner: Runner) -> None:
        """One more scenario."""
        self.results.append(result)
        self.gone += known.witnessed(result, runner.ledger)
        if result.ported is not None:
            one = Ported.of_json(result.ported)
            self.ported = one if self.ported is None else self.ported.together(one)

    def tally(self) -> collections.Counter[str]:
        """Scenarios of each verdict."""
        return collections.Counter(result.verdict for result in self.results)

    def summary(self) -> str:
        """One line."""
        tally = self.tally()
        missing = self.of - len(self.results)
        return (f"scenarios {len(self.results)}: {tally[PASS]} pass, {tally[FAIL]} fail, "
                f"{tally[KNOWN]} known, {tally[INCONCLUSIVE]} inconclusive; "
                + f"interrupted before {missing} more; " * (missing > 0)
                + f"{time.monotonic() - self.started:.0f} s")

    def exit_code(self, *, left_out: bool) -> int:
        """Of all. left_out: changed C++ of AITER did not run, and that is not accepted."""
        tally = self.tally()
        if tally[FAIL]:
            return report.FAILED
        if tally[INCONCLUSIVE] or left_out:
            return report.UNDECIDED
        return report.UNEXPECTED if self.gone else report.HELD


def _judged(runner: Runner, scenario: Scenario, options: argparse.Namespace) -> Result:
    """One scenario; a failing one is made smaller, and its launch is saved, as far as asked."""
    result = runner.run(scenario)
    if result.verdict == FAIL:
        if options.shrink:
            result = smaller(runner, result, options.shrink)
        result.bundle = runner.saved(result)
    return result


def _told(done: Done, runner: Runner, options: argparse.Namespace) -> None:
    """Prints and writes the scenario that was judged last."""
    result = done.results[-1]
    text = "\n".join(lines(result, runner))
    print(f"[{len(done.results)}/{done.of}] {text}", flush=True)
    if options.json:
        with pathlib.Path(options.json).open("a", encoding="utf-8") as file:
            file.write(json.dumps(dataclasses.asdict(result)) + "\n")


def _ledger(options: argparse.Namespace) -> tuple[ledger.Known, ...]:
    if options.no_ledger:
        return ()
    path = pathlib.Path(options.ledger) if options.ledger else ledger.SHIPPED
    return tuple(ledger.read(path))


def lines(result: Result, runner: Runner) -> Iterator[str]:
    """What is printed of a scenario."""
    yield (f"{result.verdict.upper()} {result.scenario} engine={result.engine or runner.engine} "
           f"{result.version} aiter={result.aiter or 'not asked'}")
    for finding in result.findings[:6]:
        yield f"  {finding}"
    for why in result.known:
        yield f"  known: {why}"
    if result.tokens:
        how = f"each ahead by {result.margin:.2f}" if result.margin else "without a margin"
        yield (f"  tokens {result.equal} of {result.tokens} equal ({how}); regret "
               f"{result.regret:.2f} of {result.allowed:.2f}")
        yield "  used of what rounding explains: " + ", ".join(
            f"{name} {share:.0%}" for name, share in result.worst.items())
        yield (f"  steps {result.steps}, {result.replayed} from graphs, {result.lists} with lists "
               f"judged; {result.cached} cached tokens; {result.accepted} of {result.drafts} "
               "drafts accepted" + f", {result.drafted} held against their model" * (
                   result.drafted > 0))
    if result.idle:
        yield "  steps without requests, of each rank: " + ", ".join(map(str, result.idle))
    if result.stand_ins:
        yield "  stand-ins: " + ", ".join(f"{n} {c}" for n, c in sorted(result.stand_ins.items()))
    for line in result.own:
        yield f"  {line}"
    if result.seconds:
        yield "  seconds: " + ", ".join(f"{n} {s:.0f}" for n, s in result.seconds.items())
    if result.verdict == FAIL:
        if result.bundle:
            yield f"  bundle: {result.bundle}"
        yield f"REPRO: mla-testbed-engines e2e {shlex.quote(result.scenario)} {runner.options}"


def smaller(runner: Runner, result: Result, most: int) -> Result:
    """The smallest of at most `most` further scenarios that still fails, with its result."""
    best, left, progress = result, most, True
    while progress and left > 0:
        progress = False
        for candidate in _candidates(Scenario.parse(best.scenario)):
            if left == 0:
                break
            left -= 1
            found = runner.run(candidate)
            if found.verdict == FAIL:
                best, progress = found, True
                break
    return best


def _candidates(scenario: Scenario) -> Iterator[Scenario]:
    """Smaller ones, those that take most away first."""
    for name, least in (("requests", 1), ("longest", 3), ("tokens", 2), ("layers", 1)):
        value = getattr(scenario, name)
        for smaller_one in sorted({least, (value + least) // 2}):
            fewest = scenario.ranks if name == "requests" else 0
            if fewest <= smaller_one < value:
                yield scenario.changed(**{name: smaller_one})
    for name in ("late", "prefix", "chunk", "graphs", "running"):
        if getattr(scenario, name):
            yield scenario.changed(**{name: 0})
    for name in ("ranks", "dcp"):
        if getattr(scenario, name) > 1:
            yield scenario.changed(**{name: 1})
