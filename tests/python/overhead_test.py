"""What a call through Python costs, beside the same call of the library itself."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import mla_testbed as mla
import numpy as np
import pytest
from mla_testbed import _library, _structs, _tensors


def lists() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (np.arange(5, dtype=np.int32), np.arange(5, dtype=np.int32) * 900,
            np.ones(4, np.int32))


@pytest.fixture
def buffers() -> mla.PlanBuffers:
    return mla.allocate(mla.decode_sizes(4, 1, 16, compute_units=4))


def library_call(buffers: mla.PlanBuffers) -> Callable[[], int]:
    """The C function with everything prepared: nothing but the planner runs."""
    options = _library.filled(_structs.DecodePlanOptions, "mla_decode_plan_defaults",
                              compute_units=4, max_seqlen_qo=1, uni_seqlen_qo=1)
    kept: list[Any] = [*lists(), *buffers]
    described = [_tensors.describe(array, "array") for array in kept]
    struct = _structs.PlanBuffers(*(ctypes.pointer(d) for d in described[3:]))
    arguments = [ctypes.byref(options), *(ctypes.byref(d) for d in described[:3]),
                 ctypes.byref(struct)]
    function = _library.load().mla_plan_decode

    def call() -> int:
        return int(function(*arguments)) + 0 * len(kept)

    return call


def python_call(buffers: mla.PlanBuffers) -> Callable[[], None]:
    qo, kv, last = lists()

    def call() -> None:
        mla.plan_decode(qo, kv, last, 16, 1, True, buffers, max_seqlen_qo=1, uni_seqlen_qo=1,
                        compute_units=4)

    return call


def test_the_library_call_for_comparison(benchmark: Any, buffers: mla.PlanBuffers) -> None:
    assert benchmark(library_call(buffers)) == 0


def test_the_python_call(benchmark: Any, buffers: mla.PlanBuffers) -> None:
    benchmark(python_call(buffers))
    assert buffers.work_indptr[0] == 0
