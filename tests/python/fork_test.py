"""A process that is forked after its parent had teams of threads."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import mla_testbed as mla
import numpy as np
import pytest
import steps
from mla_testbed import _library

CASE = "mla1:1q1s300;cu=4"


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = mla.set_threads(2)
    yield
    mla.set_threads(before)


def in_children(function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """What two forked processes return; an error if one of them waits for ever."""
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return [answer.get(timeout=60) for answer in
                [pool.apply_async(function, arguments) for _ in range(2)]]


def judged(properties: list[str]) -> str:
    return mla.run(CASE, properties=properties).verdict


def decoded() -> np.ndarray:
    return steps.decode_with_plan(steps.make_step([300, 200], 1, 16))[0]


# P31 asks for two threads itself.
@pytest.mark.parametrize("properties", [["P05"], ["P31"], []])
def test_a_forked_process_judges_after_its_parent_did(properties: list[str]) -> None:
    assert judged(properties) == "pass"
    assert in_children(judged, properties) == ["pass"] * 2


@pytest.mark.usefixtures("two_threads")
def test_a_forked_process_launches_kernels_where_its_parent_asked_for_two_threads() -> None:
    expected = decoded()
    for found in in_children(decoded):
        assert np.array_equal(found, expected)


def test_a_process_that_is_forked_while_another_thread_loads_the_library_has_it(
        monkeypatch: pytest.MonkeyPatch) -> None:
    library = _library.load()
    begun = threading.Event()

    def slowly(_: Any) -> Any:
        begun.set()
        time.sleep(0.5)
        return library

    monkeypatch.setattr(_library, "_loaded", None)
    monkeypatch.setattr(_library, "_open", slowly)
    thread = threading.Thread(target=_library.load)
    thread.start()
    begun.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # ends a wait for ever
        os._exit(0 if _library.load() is library else 1)
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
