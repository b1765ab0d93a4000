"""What an engine raises, as findings."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import traceback
import types
from collections.abc import Iterator

from ..errors import FaultError, InternalError, LibraryError, OverrunError, RefusedError
from .findings import BUILD, Finding
from .step import EngineStep

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: What Python says of a call whose arguments a function does not have.
_CALL = re.compile(r"([\w.<>]+)\(\) (?:got|takes|missing) ")


class NotJudged(RuntimeError):
    """The case needs what is not here: an operation, an instruction, memory."""


@contextlib.contextmanager
def turned(
    findings: list[Finding], step: EngineStep, engine: str, stage: str = BUILD
) -> Iterator[None]:
    """An exception of the engine, of AITER or of a kernel becomes a finding.

    Raises:
        NotJudged: what was raised says nothing about the engine.
    """
    try:
        yield
    except NotJudged:
        raise
    except (ImportError, MemoryError, LibraryError, InternalError, NotImplementedError) as e:
        raise NotJudged(f"{type(e).__name__}: {first_line(e)} {place(e)}") from e
    except Exception as e:
        problem = getattr(e, "problem", "")
        if problem in ("not-implemented", "instruction-limit"):
            raise NotJudged(f"{first_line(e)} {place(e)}") from e
        if calls_otherwise(e):
            raise NotJudged(f"{engine} calls what stands in for its own function otherwise: "
                            f"{first_line(e)} {place(e)}") from e
        findings.append(Finding(_property(e, problem), step.number, f"{engine} raised "
                                f"{type(e).__name__}: {first_line(e)} {place(e)}", _rest(e), stage))


def calls_otherwise(error: BaseException) -> bool:
    """Whether an engine, of another release say, called a function of this package that stands in
    for its own, with arguments that this one does not have."""
    said = _CALL.match(str(error)) if isinstance(error, TypeError) else None
    frames = traceback.extract_tb(error.__traceback__)
    if said is None or not frames or frames[-1].filename.startswith(_OURS):
        return False
    return any(type(one) is types.FunctionType and one.__qualname__ == said[1]
               and one.__code__.co_filename.startswith(_OURS) for one in gc.get_objects())


def _property(error: BaseException, problem: str) -> str:
    """P06 for a write past a buffer, P05 for another illegal access and for a planner call that
    AITER gets wrong, P28 for a step refused."""
    if isinstance(error, OverrunError) or problem.endswith("out-of-bounds"):
        return "P06"
    return "P05" if isinstance(error, (FaultError, RefusedError)) else "P28"


def first_line(error: BaseException) -> str:
    """What an error says, without what follows."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else "without a message"


def _rest(error: BaseException) -> tuple[str, ...]:
    return tuple(line.strip() for line in str(error).strip().splitlines()[1:6])


def place(error: BaseException) -> str:
    """The innermost line that is not this package's."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith((_OURS, "<")):
            return f"({os.path.basename(frame.filename)}:{frame.lineno} in {frame.name})"
    return ""
