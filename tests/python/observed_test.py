"""What mla_capture watches keeps its own errors, and what it notes of a launch."""

import math
import types

import numpy as np
import pytest
from mla_testbed import mla_bundle, mla_capture


def tensor(dtype, *shape):
    return types.SimpleNamespace(dtype=dtype, shape=shape)


# A call as AITER binds it where the engine names only the heads.
DEFAULTS = {"page_size": 1, "num_kv_splits": None, "g_kv_indptr": None, "cp_world_size": 1,
            "cp_rank": 0, "causal": True, "sm_scale": None, "q_scale": None, "kv_scale": None}


def planner(rows, block_size=1):
    return rows * block_size


def test_arguments_that_a_function_does_not_take_end_in_its_own_error_and_are_not_kept():
    seen = []
    watched = mla_capture.observed(planner, lambda arguments: seen.append(dict(arguments)))
    assert watched(2) == 2
    with pytest.raises(TypeError, match=r"planner\(\) got an unexpected keyword.*need_lse"):
        watched(2, need_lse=True)
    assert seen == [{"rows": 2, "block_size": 1}]


def test_what_is_said_before_a_call_comes_along_after_it_and_not_after_one_that_raised():
    told = iter(("first", "second", "third"))
    seen = []
    watched = mla_capture.observed(
        lambda rows: 1 // rows, lambda arguments, token: seen.append((arguments["rows"], token)),
        lambda _: next(told))
    watched(1)
    with pytest.raises(ZeroDivisionError):
        watched(0)
    watched(2)
    assert seen == [(1, "first"), (2, "third")]


def test_bundles_of_one_name_get_folders_of_their_own(tmp_path):
    folders = {mla_bundle.new_folder(str(tmp_path), "step-000000") for _ in range(4)}
    assert len(folders) == 4


def test_a_launch_is_noted_by_what_its_kernel_is_chosen_by():
    call = {"q": tensor("torch.bfloat16", 6, 32, 576), "o": tensor("torch.bfloat16", 6, 32, 512),
            "kv_buffer": tensor("torch.float8_e4m3fnuz", 9, 1, 1, 576), "max_seqlen_q": 2}
    assert mla_capture.launch_arguments({**call, **DEFAULTS}) == {
        "launch_num_heads": 32, "launch_dtype_q": "bf16", "launch_dtype_kv": "fp8",
        "launch_max_seqlen_q": 2, "launch_page_size": 1, "launch_causal": True,
        "launch_cp_world_size": 1, "launch_cp_rank": 0}
    given = {"num_kv_splits": 16, "causal": 0, "cp_world_size": 4, "cp_rank": 3, "page_size": 64}
    found = mla_capture.launch_arguments({**call, **DEFAULTS, **given, "g_kv_indptr": [0, 9]})
    assert found["launch_num_kv_splits"] == 16
    assert found["launch_causal"] is False
    assert (found["launch_cp_world_size"], found["launch_cp_rank"]) == (4, 3)
    assert found["launch_page_size"] == 64
    # Without g_kv_indptr the ordinary kernel is launched.
    found = mla_capture.launch_arguments({**call, **DEFAULTS, **given})
    assert found["launch_cp_world_size"] == 1


def test_the_keys_of_all_ranks_are_a_list_of_the_launch_where_it_has_them():
    call = {**DEFAULTS, "q": tensor("torch.bfloat16", 3, 16, 576), "max_seqlen_q": 3,
            "o": tensor("torch.bfloat16", 3, 16, 512),
            "kv_buffer": tensor("torch.bfloat16", 9, 1, 1, 576),
            "qo_indptr": np.array([0, 3], np.int32), "kv_indptr": np.array([0, 2], np.int32),
            "kv_indices": np.array([4, 7], np.int32), "cp_world_size": 2}
    _, arrays = mla_capture.launch_of({**call, "g_kv_indptr": np.array([0, 3], np.int32)})
    assert arrays["launch_g_kv_indptr"].tolist() == [0, 3]
    assert "launch_g_kv_indptr" not in mla_capture.launch_of(call)[1]


def test_a_launch_of_an_older_aiter_leaves_out_what_it_does_not_have_and_packed_bytes_are_named():
    call = {"q": tensor("torch.bfloat16", 6, 16, 576), "o": tensor("torch.bfloat16", 6, 16, 512),
            "kv_buffer": tensor("torch.uint8", 9, 656)}
    assert mla_capture.launch_arguments(call) == {
        "launch_num_heads": 16, "launch_dtype_q": "bf16", "launch_dtype_kv": "torch.uint8"}


def test_a_softmax_scale_that_is_not_given_is_the_one_that_aiter_takes():
    call = {**DEFAULTS, "q": tensor("torch.bfloat16", 6, 16, 576)}
    assert mla_capture.scales_of(call) == {"softmax_scale": pytest.approx(1 / math.sqrt(576))}
    assert mla_capture.scales_of({**call, "sm_scale": 0.5}) == {"softmax_scale": 0.5}


def test_a_scale_of_several_elements_is_noted_by_its_shape():
    call = {**DEFAULTS, "q": tensor("torch.bfloat16", 6, 16, 576), "sm_scale": 1,
            "q_scale": np.full((6, 1), 0.5, np.float32), "kv_scale": np.full(1, 0.25, np.float32)}
    assert mla_capture.scales_of(call) == {"softmax_scale": 1, "q_scale_shape": [6, 1],
                                           "kv_scale": 0.25}
    assert mla_capture.scales_of({**call, "q_scale": 2, "kv_scale": None})["q_scale"] == 2


def test_a_flag_that_a_caller_gives_as_a_number_is_a_flag_in_the_manifest():
    scalars, _ = mla_capture.bundle_of(
        {"fast_mode": 1, "is_causal": True, "intra_batch_mode": 0, "page_size": 1}, {})
    assert [scalars["fast_mode"], scalars["is_causal"], scalars["intra_batch_mode"]] == [
        True, True, False]
    assert all(isinstance(scalars[name], bool) for name in mla_capture.FLAGS if name in scalars)
    assert type(scalars["page_size"]) is int
