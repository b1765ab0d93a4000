"""Errors speak of the parameters of the call, not of those of the library or the command."""

from __future__ import annotations

from typing import Any

import mla_testbed as mla
import numpy as np
import pytest

STEP = {"seqlens_qo_indptr": [0, 4, 5], "seqlens_kv_indptr": [0, 900, 1413], "num_cu": 4}
CASE = "mla1:1q1s9;cu=4"


@pytest.mark.parametrize(("changes", "message"), [
    ({"num_cu": 0}, "num_cu is 0; expected 1 to 4096"),
    ({"seqlens_qo_indptr": [0, 4, 2]}, "seqlens_qo_indptr falls"),
    ({"seqlens_kv_indptr": [0, 900, 3]}, "seqlens_kv_indptr falls"),
    ({"page_size": 16, "kv_last_page_lens": [1]}, "kv_last_page_lens has 1 entries"),
    ({"num_heads_k": 2000}, "num_heads_per_head_k * num_heads_k is 32000; expected 1 to 1024"),
])
def test_an_argument_of_plan_is_named_as_it_was_given(
        changes: dict[str, Any], message: str) -> None:
    with pytest.raises(mla.MlaError) as caught:
        mla.plan({**STEP, **changes})
    assert str(caught.value).startswith(message)


def test_a_list_of_plan_decode_is_named_as_its_parameter() -> None:
    one = np.ones(1, np.int32)
    with pytest.raises(mla.UsageError, match="^seqlens_kv_indptr falls"):
        mla.plan_decode(np.array([0, 1], np.int32), np.array([3, 0], np.int32), one, 16, 1, True,
                        mla.allocate(mla.decode_sizes(1, 1, 16, compute_units=4)),
                        compute_units=4)


@pytest.mark.parametrize(("options", "message"), [
    ({"properties": ["P99"]}, "properties: 'P99' matches no property"),
    ({"device": "emulated:gfx942"}, "device emulated:gfx942 goes with backend hip or aiter"),
    ({"plant": "BUG-9999"}, "'BUG-9999' is not a plant"),
])
def test_an_argument_of_run_is_no_option_of_the_command(
        options: dict[str, Any], message: str) -> None:
    with pytest.raises(mla.UsageError) as caught:
        mla.run(CASE, **options)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("value", [True, np.True_])
@pytest.mark.parametrize("name", ["num_heads_per_head_k", "page_size", "num_cu", "topk"])
def test_a_truth_value_is_no_number(name: str, value: Any) -> None:
    with pytest.raises(mla.UsageError, match=f"^{name} is .*True.*; expected a whole number"):
        mla.plan({**STEP, name: value})


@pytest.mark.parametrize(("options", "what"), [
    ({"backend": "hip", "device": "hip:99"}, ""),
    ({"backend": "aiter", "device": "emulated:gfx942", "aiter_hsa": "/nowhere"}, "/nowhere"),
    ({"backend": "aiter", "device": "emulated:gfx942", "aiter_hsa": ""}, "aiter_hsa, or AITER_HSA"),
])
def test_what_is_not_there_is_a_device_error(options: dict[str, Any], what: str) -> None:
    with pytest.raises(mla.DeviceError) as caught:
        mla.run(CASE, **options)
    assert what in str(caught.value)
    assert isinstance(caught.value, mla.FaultError)


def test_a_kernel_call_on_a_device_that_is_not_there_is_a_device_error() -> None:
    before = mla.backend()
    try:
        mla.set_backend("hip", "hip:99")
        with pytest.raises(mla.DeviceError):
            mla.kernels.reduce(
                np.zeros((1, 1, 16, 512), np.float32), np.zeros((1, 1, 16, 1), np.float32),
                np.array([0, 1], np.int32), None, np.zeros(1, np.int32),
                np.zeros((1, 16, 512), np.uint16))
    finally:
        mla.set_backend(before)
