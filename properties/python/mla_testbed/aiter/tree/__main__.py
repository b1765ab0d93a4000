"""The process of one tree of AITER: answers the command line until its input ends.

    python -m mla_testbed.aiter.tree --aiter DIR --arch gfx942

Asked over standard input and output (wire.py). The first message out is {"version", "sum",
"not_run"} or {"error"}; an answer is {"ended": signal} where AITER ended the process. What AITER
prints goes to standard error. AITER's modules are its own.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import os
import pathlib
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import IO, Any

from ...errors import FaultError, LibraryError, MlaError
from .. import session, sources
from ..own.build import BuildError
from . import read, wire
from .wire import Message

Answer = Callable[[Message], Message]


def main() -> int:
    """Serves; 3 if the tree cannot be imported."""
    made = argparse.ArgumentParser(prog="python -m mla_testbed.aiter.tree")
    made.add_argument("--aiter", metavar="DIR", required=True)
    made.add_argument("--arch", required=True)
    options = made.parse_args()
    # An interrupt is for the one that asks: it closes the connection.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    told = sum_of(pathlib.Path(options.aiter), options.arch)
    try:
        version, calls, reading = _enter(options.aiter, options.arch)
    except Exception as e:  # noqa: BLE001 whatever the import of a tree raises is the answer
        wire.write(out, Message({"error": _sentence(e)}))
        return 3
    wire.write(out, Message({"version": version, "sum": told,
                             "not_run": not_run(pathlib.Path(options.aiter))}))
    return serve_by_copies(out, calls, reading)


def _enter(tree: str, arch: str) -> tuple[str, dict[str, Answer], read.Reading | None]:
    from ... import world  # noqa: PLC0415 needs torch, and says so
    from .. import Stage  # noqa: PLC0415

    importlib.import_module("torch._dynamo")  # AITER imports it; watched, it takes twice as long
    reading = read.watch(pathlib.Path(tree))
    os.environ.setdefault("AITER_LOG_LEVEL", "WARNING")
    os.environ.pop("AITER_HSA", None)  # the tree has code objects of its own
    # AITER's own code objects run, and what nobody wrote is seen.
    machine = world.machine(arch, None, backend="aiter", poison=True)
    Stage(machine, tree=tree, modules="own")
    with one_thread():
        import aiter  # noqa: PLC0415 from the tree

    if session.aiter_tree() != pathlib.Path(tree).resolve():
        raise LibraryError(f"'aiter' was imported from '{session.aiter_tree()}', not from '{tree}'")
    from . import decode, planner, prefill, support  # noqa: PLC0415

    if reading is not None:
        reading.tell()
    return str(getattr(aiter, "__version__", "")), {
        "sizes": lambda asked: planner.sizes(arch, asked.head),
        "plan": lambda asked: planner.plan(arch, asked.head, asked.arrays),
        "decode": lambda asked: decode.decode(arch, asked.head, asked.arrays),
        "prefill_sizes": lambda asked: prefill.sizes(asked.head),
        "prefill_plan": lambda asked: prefill.plan(asked.head, asked.arrays),
        "prefill": lambda asked: prefill.prefill(arch, asked.head, asked.arrays),
        "support": lambda asked: support.support(arch, asked.head),
    }, reading


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """torch starts no threads inside. The copies of a process do not have its threads, and OpenMP
    would wait for them for ever."""
    torch = importlib.import_module("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def sum_of(tree: pathlib.Path, arch: str) -> str:
    """Over what a step depends on: AITER's Python and C++ of MLA, and its code objects."""
    digest = hashlib.sha256()
    for place in ("aiter/mla.py", "aiter/ops/attention.py", "aiter/jit/core.py",
                  "aiter/jit/optCompilerConfig.json", "csrc/include", "csrc/kernels/mla",
                  "csrc/py_itfs_cu/asm_mla.cu", "csrc/pybind", "hsa/codegen.py",
                  f"hsa/{arch}/mla"):
        root = tree / place
        for path in [root] if root.is_file() else sorted(root.rglob("*")):
            if path.is_file():
                digest.update(f"{path.relative_to(tree)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def not_run(tree: pathlib.Path) -> list[str]:
    """What fills the cache of an engine, where it is another than the AITER that this project
    follows has: here no step runs it."""
    changed = sources.compare(tree, ["module_cache"]).changed
    return [f"csrc/{root}" for root in sources.ROOTS["module_cache"]
            if f"csrc/{root}" in changed and (tree / "csrc" / root).is_file()]


def serve_by_copies(out: IO[bytes], calls: dict[str, Answer],
                     reading: read.Reading | None) -> int:
    """Lets a copy of this process serve, and another one when a signal has ended it: an abort by a
    check of AITER's is an answer, and an import takes seconds."""
    while True:
        child = os.fork()
        if child == 0:
            _serve(out, calls, reading)
            return 0
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            return os.WEXITSTATUS(status)
        wire.write(out, Message({"ended": os.WTERMSIG(status)}))


def _serve(out: IO[bytes], calls: dict[str, Answer], reading: read.Reading | None) -> None:
    while (asked := wire.read(sys.stdin.buffer)) is not None:
        if reading is not None:
            reading.begin(asked.head, asked.arrays)
        try:
            answer = calls[asked.head["call"]](asked)
        except FaultError as e:
            answer = Message({"fault": _first(e.report or str(e))})
        except BuildError as e:  # what was changed does not compile: never a refusal
            answer = Message({"fault": str(e)})
        except (AssertionError, RuntimeError, ValueError, MlaError, ImportError) as e:
            answer = Message({"error": _sentence(e)})  # as AITER refuses what it does not take
        except Exception as e:  # noqa: BLE001 a defect of the tree, or of ours
            traceback.print_exc()
            answer = Message({"fault": _sentence(e)})
        if reading is not None:
            reading.tell()
        wire.write(out, answer)


def _first(report: str) -> str:
    """The first of some lines, and how many follow: a verdict names one fault."""
    first, *more = report.split("\n")
    return f"{first} ({len(more)} more)" if more else first


def _sentence(error: BaseException) -> str:
    """What was raised, and where AITER raised it."""
    text = " ".join(str(error).split()) or type(error).__name__
    frames: list[Any] = traceback.extract_tb(error.__traceback__)
    inner = [f for f in frames if f"{os.sep}mla_testbed{os.sep}" not in f.filename]
    where = f" ({os.path.basename(inner[-1].filename)}:{inner[-1].lineno})" if inner else ""
    kind = "" if isinstance(error, MlaError) else f"{type(error).__name__}: "
    return f"{kind}{text}{where}"


if __name__ == "__main__":
    sys.exit(main())
