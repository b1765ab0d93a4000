"""Workers: one process for each engine and machine, asked one case at a time."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import time
from typing import IO, Any

from ..errors import LibraryError
from ..ported import Ported
from .findings import FAIL, INCONCLUSIVE, Finding, Judgement

#: Seconds for the import of an engine, and for one case.
LOADING, ONE_CASE = 600.0, 120.0
#: Environment variables that name the Python, or the virtual environment, of an engine.
VARIABLES = {"vllm": "MLA_TESTBED_VLLM", "sglang": "MLA_TESTBED_SGLANG",
             "atom": "MLA_TESTBED_ATOM"}
_PACKAGE = pathlib.Path(__file__).resolve().parents[2]


class EngineMissing(LibraryError):
    """An engine cannot be imported; the sentence says what to do."""


@dataclasses.dataclass(frozen=True)
class Tree:
    """An engine's package without an installation of its own.

    Attributes:
        directory: what Python looks in for it. src, rev: where it was taken from: a tree or a git
            clone, and a commit of it or "".
    """

    directory: str
    src: str
    rev: str = ""


@dataclasses.dataclass(frozen=True)
class Setting:
    """What all workers of a run have in common.

    Attributes:
        engine: its name, or "module:class" of an adapter.
        python: interpreter or virtual environment; None: what the engine's variable names, else
            this one.
        late_copies, without_aiter: see engine.Machine.
        one_case: seconds for a case.
        options: of the adapter, as "name=value".
        kind: of steps; see kinds.KINDS.
        tree: the engine is imported from there; None: as it is installed.
    """

    engine: str
    python: str | None = None
    late_copies: bool = False
    without_aiter: bool = False
    one_case: float = ONE_CASE
    options: tuple[str, ...] = ()
    kind: str = "decode"
    tree: Tree | None = None


def interpreter(setting: Setting) -> str:
    """The Python of an engine.

    Raises:
        EngineMissing: what is named is neither a program nor a virtual environment.
    """
    named = setting.python or os.environ.get(VARIABLES.get(setting.engine, ""), "")
    if not named:
        return sys.executable
    path = pathlib.Path(named)
    if path.is_dir():
        path = path / "bin" / "python"
    if not path.is_file():
        raise EngineMissing(f"'{named}' is no virtual environment and no Python: "
                            f"there is no file '{path}'")
    return str(path)


def _of_tree(tree: Tree | None) -> dict[str, str]:
    """Variables that name it to the adapter of ATOM, which imports no installed package."""
    if tree is None:
        return {}
    return {"ATOM_SRC": tree.directory, **({"ATOM_VERSION": tree.rev[:12]} if tree.rev else {})}


class Worker:
    """One process. It is started by `hello`, and again after it was killed.

    Attributes:
        version, aiter: what the engine said, "" before.
        attends: whether its adapter can attend.
        ported: in whose place ports ran so far, in all processes; None: the adapter does not say.
    """

    def __init__(self, setting: Setting, arch: str, compute_units: int) -> None:
        self.setting, self.arch, self.compute_units = setting, arch, compute_units
        self.name = self.version = self.aiter = ""
        self.attends = True
        self.ported: Ported | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 as long as the worker
        self._scratch: tempfile.TemporaryDirectory[str] | None = None  # as long as the process
        self._rest, self._greeted = b"", False

    def hello(self) -> None:
        """Starts the process and waits until the engine is imported.

        Raises:
            EngineMissing: it cannot be.
        """
        self.start()
        self.greet()

    def start(self) -> None:
        """Starts the process; `greet` waits for it.

        Raises:
            EngineMissing: what is named is no Python.
        """
        if self._process is not None:
            return
        command = [interpreter(self.setting), "-m", "mla_testbed.engines.worker",
                   self.setting.engine, self.arch, str(self.compute_units)]
        command += ["late"] * self.setting.late_copies
        command += ["without-aiter"] * self.setting.without_aiter + list(self.setting.options)
        command += [self.setting.kind]
        tree = self.setting.tree
        paths = [*([tree.directory] if tree else []), str(_PACKAGE),
                 *filter(None, [os.environ.get("PYTHONPATH")])]
        self._rest, self._greeted = b"", False
        # A session of its own: the interrupt of a terminal is the command's. What an engine leaves
        # among temporary files goes with its process, which ends by a signal.
        scratch = tempfile.TemporaryDirectory(prefix="mla-testbed-engine-",
                                              ignore_cleanup_errors=True)
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1",
                     "TMPDIR": scratch.name,
                     **_of_tree(tree)})
        except OSError as e:
            scratch.cleanup()
            raise EngineMissing(f"'{command[0]}' is no Python: {e.strerror}") from e
        self._scratch = scratch

    def greet(self) -> None:
        """Waits until the engine is imported.

        Raises:
            EngineMissing: it cannot be, or was not imported from the tree.
        """
        if self._greeted:
            return
        assert self._process is not None
        answer = self._answer(LOADING)
        if answer is None or "error" in answer:
            late = f" within {LOADING:g} s" if self._process.poll() is None else ""
            why = f"it did not answer{late}: {self._last_words()}"
            why = why if answer is None else answer["error"]
            self.close()
            raise EngineMissing(f"engine '{self.setting.engine}' cannot be imported for "
                                f"{self.arch}: {why}")
        tree, file = self.setting.tree, str(answer.get("file", ""))
        if tree and not file.startswith(tree.directory + os.sep):
            self.close()
            raise EngineMissing(f"engine '{self.setting.engine}' was imported from '{file}'; "
                                f"expected the tree of '{tree.src}'")
        self._greeted = True
        self.name, self.version, self.aiter = (
            str(answer[key]) for key in ("engine", "version", "aiter"))
        self.attends = bool(answer["attends"])

    def ask(
        self, case: str, *, attend: bool = False, bundles: str | None = None, cover: bool = False
    ) -> Judgement:
        """Judges a case. A process that ends is a failure, one that takes too long inconclusive.

        Raises:
            EngineMissing: the engine cannot be imported.
        """
        self.post({"case": case, "attend": attend, "bundles": bundles, "cover": cover})
        return self.collect(case)

    def post(self, question: dict[str, Any]) -> int:
        """Asks; `collect` waits for the answer. The descriptor that has it.

        Raises:
            EngineMissing: the engine cannot be imported.
        """
        self.hello()
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # the process has ended: there is no answer
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
        return process.stdout.fileno()

    def collect(self, case: str) -> Judgement:
        """The answer about the case that was posted."""
        process = self._process
        assert process is not None
        answer = self._answer(self.setting.one_case)
        if answer is not None:
            self._keep(answer.pop("ported", None))
            return Judgement.of_json(answer)
        code = process.poll()
        words = self._last_words()
        self.close()
        if code is None:
            return Judgement(case, INCONCLUSIVE,
                             reason=f"took longer than {self.setting.one_case:g} s")
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return Judgement(case, FAIL, (Finding(
            "P28", 0, f"the process of {self.setting.engine} ended with {how}: {words}"),))

    def _keep(self, ported: dict[str, Any] | None) -> None:
        if ported is not None:
            made = Ported.of_json(ported)
            self.ported = made if self.ported is None else made.together(self.ported)

    def close(self) -> None:
        """Ends the process, with those that it started, and removes its temporary files."""
        process, self._process = self._process, None
        scratch, self._scratch = self._scratch, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # the group of its own session
        process.wait()
        if scratch is not None:
            scratch.cleanup()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def _answer(self, seconds: float) -> dict[str, Any] | None:
        """The next line, or None after so many seconds or at the end of the process."""
        assert self._process is not None and self._process.stdout is not None
        pipe, until = self._process.stdout.fileno(), time.monotonic() + seconds
        while b"\n" not in self._rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                return None
            more = os.read(pipe, 1 << 16)
            if not more:
                self._process.wait()
                return None
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            self._log.write(b"\nit answered: " + line[:200])
            self._log.flush()
            return None
        return answer

    def _last_words(self) -> str:
        """The last line that the process printed."""
        end = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, end - 4000))
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else "nothing was printed"


class Workers:
    """A worker for each machine that the cases ask for."""

    def __init__(self, setting: Setting, arch: str | None) -> None:
        self.setting, self.arch = setting, arch
        self._workers: dict[tuple[str, int], Worker] = {}

    def of(self, machine: tuple[str, int]) -> Worker:
        """The worker of an architecture and a number of compute units."""
        if machine not in self._workers:
            self._workers[machine] = Worker(self.setting, *machine)
        return self._workers[machine]

    def close(self) -> None:
        """Ends all of them."""
        for worker in self._workers.values():
            worker.close()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
