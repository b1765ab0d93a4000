"""Known failures of a script that AITER ships, where it is run by itself."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Sequence

from .ledger import Known
from .opus_tests import OPUS_TESTS
from .sparse_tests import SPARSE_TESTS
from .tests import TESTS
from .triton_tests import TRITON_TESTS

_FOLDER = "op_tests"


def names(script: pathlib.Path) -> tuple[str, ...]:
    """What the suite calls the tests of this file, under the variables that each has; empty where
    AITER ships no such test."""
    parts = script.resolve().parts
    if _FOLDER not in parts[:-1]:
        return ()
    at = len(parts) - 1 - parts[::-1].index(_FOLDER)
    file = "/".join(parts[at + 1:])
    return tuple(test.name for test in (*TESTS, *TRITON_TESTS, *SPARSE_TESTS, *OPUS_TESTS)
                 if test.file == file and set(test.environment) <= set(os.environ.items()))


def compares(script: pathlib.Path) -> bool:
    """Whether it is a test that judges by comparisons: one that pytest runs need not."""
    found = names(script)
    return any(test.name in found and not test.pytest for test in TESTS)


def explain(
    entries: Sequence[Known], script: pathlib.Path, arch: str, backend: str
) -> Callable[[dict[str, str], str], str | None]:
    """From a case of the script and what failed in it to the id of the ledger's entry, if any."""
    tests = names(script)
    covering = [k for k in entries if any(k.covers(test, arch, backend) for test in tests)]

    def known(case: dict[str, str], text: str) -> str | None:
        return next((k.id for k in covering if k.explains(case, text)), None)

    return known
