"""Judges cases on an engine, makes what fails smaller, and keeps what is known apart."""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
import re
import shlex
import time
from collections.abc import Callable, Iterable, Iterator

from .._cases import draw, simpler
from ..errors import UsageError
from . import adapt
from .client import Setting, Workers
from .findings import FAIL, PASS, REFUSED, Judgement
from .kinds import CASE_KINDS, KINDS
from .ledger import Known
from .line import CaseLine
from .report import Block, Tally, signature

#: Cases tried to make one failure smaller, and seconds for it.
_TRIES, _SECONDS = 200, 60.0
#: Failures that are made smaller and printed; more are counted.
MOST_BLOCKS = 20


@dataclasses.dataclass
class Plan:
    """What a run does.

    Attributes:
        arch: every case on this architecture; None: on its own.
        attend: how many cases are executed as well; as evenly spread as affordable ones are.
        ledger: known failures. bundles: where failures are saved, or None.
        seed: of the drawn cases, for the report.
        accepts_ports: whether a change of AITER's C++ that did not run leaves a run decided.
        told: called with each failure block when it is complete.
    """

    setting: Setting
    arch: str | None = None
    attend: int = 0
    ledger: list[Known] = dataclasses.field(default_factory=list)
    bundles: pathlib.Path | None = None
    seed: int = 0
    accepts_ports: bool = False
    told: Callable[[Block], None] = lambda block: print(f"{block}\n", flush=True)

    def options(self) -> str:
        """What replay needs to do the same."""
        text = f"--engine {self.setting.engine}"
        text += f" --arch {self.arch}" if self.arch else ""
        if self.setting.kind not in CASE_KINDS:
            text += f" --kind {self.setting.kind}"
        text += "".join(f" --option {option}" for option in self.setting.options)
        tree = self.setting.tree
        text += f" --src {shlex.quote(tree.src)}" if tree else ""
        text += f" --rev {tree.rev}" if tree and tree.rev else ""
        text += " --late-copies" if self.setting.late_copies else ""
        return text + (" --without-aiter" if self.setting.without_aiter else "")


class Run:
    """A run: `case` judges one more; `tally` has the counts.

    Attributes:
        cover: whether lines of the builder are watched; covered: how many ran in one worker.
        imports: seconds spent on waiting for imports of the engine.
    """

    def __init__(self, plan: Plan, workers: Workers) -> None:
        self.plan, self.workers = plan, workers
        self.tally = Tally(plan.setting.engine, accepts_ports=plan.accepts_ports)
        self.cover, self.covered, self.imports = False, 0, 0.0
        self._started = time.monotonic()

    def judge(self, case: str, *, attend: bool, bundles: str | None = None) -> Judgement:
        """One case on the worker of its machine.

        Raises:
            UsageError: the text is no case.
        """
        given = CaseLine.parse(case)
        try:
            line = KINDS[self.plan.setting.kind].adapt(given, self.plan.arch)
        except UsageError as e:
            return Judgement(case, REFUSED, reason=re.sub(r"'mla1:[^']*'", "the case", str(e)))
        worker = self.workers.of(adapt.product(line))
        begin = time.monotonic()
        worker.hello()
        waited = time.monotonic() - begin
        self.imports += waited
        self._started += waited  # imports are not what is measured
        # As it was given: what is changed for the engine is said beside the verdict.
        found = worker.ask(str(given), attend=attend, bundles=bundles, cover=self.cover)
        self.covered = max(self.covered, found.covered)
        self.tally.version, self.tally.aiter = worker.version, worker.aiter
        if worker.ported is not None:
            self.tally.ported = (worker.ported if self.tally.ported is None
                                 else worker.ported.together(self.tally.ported))
        return found

    def explained(self, found: Judgement) -> Known | None:
        """The ledger's entry for a failure; None unless entries explain all its findings."""
        entries = [next((known for known in self._concerned() if known.explains(f, found.facts)),
                        None) for f in found.findings]
        return entries[0] if entries and all(entries) else None

    def case(self, case: str, *, attend: bool) -> Judgement:
        """Judges, counts, and reports a failure that is new."""
        found = self.judge(case, attend=attend)
        verdict = found.verdict
        if verdict == FAIL:
            known = self.explained(found)
            if known is not None:
                verdict = "known-fail"
                self.tally.known[known.id] += 1
            else:
                self._failed(case, found, attend)
        self.tally.count(found, verdict)
        self.tally.seconds = time.monotonic() - self._started
        return found

    def witnesses(self) -> None:
        """Each entry of the ledger that concerns this engine must still fail on its witness."""
        for known in self.plan.ledger:
            if not known.witness or not known.judges(self.plan.setting):
                continue
            machine = adapt.product(CaseLine.parse(known.witness))
            if self.plan.arch not in (None, machine[0]):
                continue
            worker = self.workers.of(machine)
            worker.hello()
            if not known.concerns(known.engine, worker.version, worker.aiter):
                continue
            found = self.judge(known.witness, attend=True)
            if found.verdict == PASS and not worker.attends:
                self.tally.unattended.append(known.id)
                continue
            if not any(known.explains(f, found.facts) for f in found.findings):
                how = found.reason or "; ".join(f.what for f in found.findings) or found.verdict
                self.tally.unexpected.append(f"{known.id} on its witness {known.witness}: {how}")
                continue
            self.tally.known[known.id] += 1
            self.tally.count(found, "known-fail")

    def _concerned(self) -> list[Known]:
        return [known for known in self.plan.ledger if known.judges(self.plan.setting)
                and known.concerns(known.engine, self.tally.version, self.tally.aiter)]

    def _failed(self, case: str, found: Judgement, attend: bool) -> None:
        key = signature(found)
        if key in self.tally.blocks:
            self.tally.blocks[key].times += 1
            return
        block = Block(found, case, f"{self.plan.setting.engine} {self.tally.version}",
                      self.tally.aiter, self.plan.options(), seed=self.plan.seed,
                      adapted=found.adapted)
        self.tally.blocks[key] = block  # before it is made smaller: an interrupt keeps it
        if len(self.tally.blocks) <= MOST_BLOCKS:
            try:
                self._shrink(block, key, attend)
                self._save(block, attend)
            finally:
                self.plan.told(block)

    def _shrink(self, block: Block, key: str, attend: bool) -> None:
        """The first simpler case that fails alike, again and again."""
        until, tries, again = time.monotonic() + _SECONDS, _TRIES, True
        seen = {block.judgement.case}
        while again and tries > 0 and time.monotonic() < until:
            again = False
            for candidate in simpler(block.judgement.case):
                found = self.judge(candidate, attend=attend)
                tries -= 1
                if found.verdict == FAIL and signature(found) == key and found.case not in seen:
                    seen.add(found.case)
                    block.judgement, again = found, True
                    block.shrinks += 1
                    break
                if tries <= 0 or time.monotonic() > until:
                    break

    def _save(self, block: Block, attend: bool) -> None:
        if self.plan.bundles is None:
            return
        try:
            folder = _fresh(self.plan.bundles, "-".join(block.judgement.properties))
            (folder / "case.txt").write_text(f"{block}\n", encoding="utf-8")
        except OSError as e:
            block.saved = f"not saved: {e}"
            return
        again = self.judge(block.judgement.case, attend=attend, bundles=str(folder))
        block.bundles = bundles_in(folder)
        block.saved = again.reason or f"{folder} has the case, and no bundle that check reads"


def bundles_in(folder: pathlib.Path) -> tuple[str, ...]:
    """The folders below it that `mla-testbed check` reads."""
    return tuple(sorted(str(one.parent) for one in folder.glob("*/manifest.json")))


def _fresh(parent: pathlib.Path, name: str) -> pathlib.Path:
    """A new folder below a parent: what other runs saved there stays."""
    for number in itertools.count(1):
        folder = parent / f"{number:03d}-{name}"
        if any(parent.glob(f"{number:03d}-*")):
            continue
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise AssertionError("unreachable")


def spread(
    judge: Callable[..., Judgement], cases: Iterable[str], count: int, attend: int
) -> Iterator[Judgement]:
    """Judges cases; as many as `attend` are executed, spread over all as evenly as they can be.

    Args:
        count: how many cases there will be.
    """
    attended = 0
    for number, case in enumerate(cases):
        due = attend * (number + 1) > attended * max(count, 1) and attended < attend
        found = judge(case, attend=due)
        attended += found.attended > 0
        yield found


def judge_all(run: Run, cases: Iterable[str], count: int) -> None:
    """Judges cases until they end or an interrupt comes; the tally is complete in either case."""
    try:
        run.witnesses()
        for _ in spread(run.case, cases, count, run.plan.attend):
            pass
    except KeyboardInterrupt:
        run.tally.interrupted = True


def drawn(seed: int, count: int, kind: str = "decode") -> Iterable[str]:
    """Random cases of small shapes.

    Args:
        kind: of kinds fa and prefill only the cases of this kind; of every number drawn, about one
            in 25 is. Cases of sparse are those of decode, and half of them have longer contexts.
    """
    cases = (KINDS[kind].drawn(draw(seed, number)) for number in itertools.count())
    return itertools.islice((case for case in cases if case is not None), count)


def lines_of(file: str) -> list[str]:
    """The cases of a file; all are read before the first is judged."""
    try:
        text = pathlib.Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError) as e:
        raise UsageError(f"--cases-file '{file}' cannot be read: {e}") from e
    cases = []
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if line and not line.startswith("#"):
            try:
                CaseLine.parse(line)
            except UsageError as e:
                raise UsageError(f"'{file}', line {number}: {e}") from e
            cases.append(line)
    return cases
