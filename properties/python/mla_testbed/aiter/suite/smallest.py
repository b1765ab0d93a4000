"""pytest plugin: of each test function only its smallest case runs, and not for ever.

AITER's Triton tests have thousands of cases with the sizes of a GPU. Size is the product of the
numbers among a case's parameters; of cases of the same size the first one runs.
"""

from __future__ import annotations

import math
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

OPTION = "--mla-testbed-case-seconds"
TOO_LONG = "TimeoutError: the case took more than"


def pytest_addoption(parser: Any) -> None:
    """The limit of one case."""
    parser.addoption(OPTION, type=float, default=120, help="seconds of one case; 120")


def size_of(parameters: object) -> float:
    """Logarithm of the product of all numbers in it, those below 2 aside."""
    if isinstance(parameters, bool):
        return 0
    if isinstance(parameters, int | float):
        return math.log(parameters) if 2 <= parameters < math.inf else 0
    if isinstance(parameters, dict):
        parameters = tuple(parameters.values())
    if isinstance(parameters, list | tuple):
        return sum(size_of(one) for one in parameters)
    return 0


@pytest.hookimpl(trylast=True)  # type: ignore[misc, unused-ignore]
def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Deselects all but the smallest case of each function."""
    chosen: dict[str, tuple[float, Any]] = {}  # by file, class and function
    for item in items:
        size = size_of(item.callspec.params) if hasattr(item, "callspec") else 0
        function = item.nodeid.partition("[")[0]
        if size < chosen.get(function, (math.inf, None))[0]:
            chosen[function] = size, item
    kept = [item for _, item in chosen.values()]
    left_out = [item for item in items if item not in kept]
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


@pytest.hookimpl(wrapper=True)  # type: ignore[misc, unused-ignore]
def pytest_runtest_call(item: Any) -> Iterator[None]:
    """A case above its limit fails with TimeoutError, also inside a launch, which SIGINT ends."""
    limit = item.config.getoption(OPTION)
    over = threading.Event()

    def end() -> None:
        over.set()
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(limit, end)
    timer.start()
    try:
        return (yield)
    except KeyboardInterrupt:
        if over.is_set():
            raise TimeoutError(f"{TOO_LONG.partition(' ')[2]} {limit:g} s") from None
        raise
    finally:
        timer.cancel()
