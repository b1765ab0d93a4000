"""Coverage-guided fuzzing of an engine's builder, for hours, and again from where it ended.

Half of the cases are drawn by the project's generator, half are changed ones of the corpus: cases
that reached a line of the builder that no case had reached. The folder has `corpus.txt`,
`findings.jsonl` (smallest cases) and `state.json` (executions so far).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import pathlib
import random
import time
from collections.abc import Iterator
from typing import IO, Any

from .._cases import draw
from ..errors import UsageError
from .findings import FAIL, Judgement
from .kinds import KINDS
from .line import CaseLine
from .mutate import mutated
from .report import signature
from .run import Run

_SAVE_EVERY = 5.0


class Database:
    """What is kept between runs."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self._lock = self._locked()
        with self._sound("corpus.txt"):
            self.corpus = self._lines("corpus.txt")
            for case in self.corpus:
                CaseLine.parse(case)
        with self._sound("findings.jsonl"):
            self.findings = [json.loads(line) for line in self._lines("findings.jsonl")]
            for known in self.findings:
                CaseLine.parse(str(known["case"]))
                str(known["signature"])
        with self._sound("state.json"):
            kept = json.loads("".join(self._lines("state.json")) or "{}")
            self.executions = int(kept.get("executions", 0))
            self.seconds = float(kept.get("seconds", 0.0))

    @contextlib.contextmanager
    def _sound(self, name: str) -> Iterator[None]:
        try:
            yield
        except (UsageError, ValueError, AttributeError, TypeError, KeyError) as e:
            raise UsageError(f"'{self.folder / name}' is damaged: {type(e).__name__}: {e}; remove "
                             "it to start anew") from e

    def _locked(self) -> IO[str]:
        """Held as long as the database: two runs would write over each other."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = (self.folder / "lock").open("w", encoding="utf-8")  # noqa: SIM115 kept open
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as e:
            raise UsageError(f"--database '{self.folder}' is in use by another run") from e
        except OSError as e:
            raise UsageError(f"--database '{self.folder}' cannot be written: {e.strerror}") from e
        return lock

    def reached(self, case: str) -> None:
        """A case that ran a new line."""
        self.corpus.append(case)
        self._append("corpus.txt", case)

    def found(self, what: dict[str, Any]) -> None:
        """A failure, made smaller."""
        self.findings.append(what)
        self._append("findings.jsonl", json.dumps(what))

    def save(self) -> None:
        """Writes the counts; a reader never sees half of them."""
        partial = self.folder / "state.json.part"
        partial.write_text(json.dumps({"executions": self.executions,
                                       "seconds": round(self.seconds, 1)}), encoding="utf-8")
        partial.replace(self.folder / "state.json")

    def _lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def _append(self, name: str, line: str) -> None:
        with (self.folder / name).open("a", encoding="utf-8") as out:
            out.write(line + "\n")


def fuzz(run: Run, seconds: float, folder: pathlib.Path, seed: int, *, attend: bool) -> None:
    """Judges cases for a time, imports not counted, or until an interrupt.

    Args:
        folder: the database. seed: of the choices, together with the executions so far.
        attend: execute affordable steps too.
    """
    database = Database(folder)
    before, earlier, saved = database.executions, database.seconds, time.monotonic()
    source = random.Random(f"{seed} {before}")
    begin = time.monotonic()
    run.cover = True
    try:
        for case in [*dict.fromkeys([f["case"] for f in database.findings] + database.corpus)]:
            _one(run, database, case, attend=attend, known=True)
        while time.monotonic() - begin - run.imports < seconds:
            case = _next(database, source, run.plan.setting.kind)
            _one(run, database, case, attend=attend, known=False)
            if time.monotonic() - saved > _SAVE_EVERY:
                saved = time.monotonic()
                database.seconds = earlier + saved - begin - run.imports
                database.save()
    except KeyboardInterrupt:
        run.tally.interrupted = True
    finally:  # also where a worker cannot be started
        taken = time.monotonic() - begin - run.imports
        database.seconds = earlier + taken
        run.tally.seconds = taken
        database.save()
        done = database.executions - before
        print(f"fuzz: {done} executions, {done / max(taken, 1e-9):.1f} a second; "
              f"{database.executions} in {database.seconds:.0f} s altogether; corpus "
              f"{len(database.corpus)} cases, {run.covered} lines of the builder; "
              f"{len(database.findings)} findings in '{folder}'", flush=True)


def _drawn(kind: str, source: random.Random) -> str:
    """A random case; of another kind than decode, the first of that kind."""
    while True:
        case = KINDS[kind].drawn(draw(source.getrandbits(63), source.randrange(1 << 20)))
        if case is not None:
            return case


def _next(database: Database, source: random.Random, kind: str) -> str:
    fresh = _drawn(kind, source)
    if not database.corpus or source.random() < 0.5:  # noqa: PLR2004
        return fresh
    return mutated(source.choice(database.corpus), fresh, source)


def _one(run: Run, database: Database, case: str, *, attend: bool, known: bool) -> None:
    blocks = set(run.tally.blocks)
    try:
        found = run.case(case, attend=attend)
        database.executions += 1
        if found.fresh_lines and not known:
            database.reached(found.case)
    finally:  # an interrupt while a failure is made smaller keeps it
        for key in set(run.tally.blocks) - blocks:
            smallest = run.tally.blocks[key].judgement
            if all(key != other["signature"] for other in database.findings):
                database.found(_finding(run, smallest))


def _finding(run: Run, found: Judgement) -> dict[str, Any]:
    assert found.verdict == FAIL
    return {"signature": signature(found), "case": found.case, "properties": found.properties,
            "what": found.findings[0].what, "engine": run.tally.engine,
            "version": run.tally.version, "aiter": run.tally.aiter}
