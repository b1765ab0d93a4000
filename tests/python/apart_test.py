"""Outputs share memory with nothing else of a call; views of one pool that lie apart are taken."""

from __future__ import annotations

from typing import Any

import mla_testbed as mla
import numpy as np
import pytest
from mla_testbed import _tensors, kernels
from steps import SCALE, make_prefill, make_step

I32 = np.int32


def plan_into(qo: Any = (0, 4, 5), **views: Any) -> mla.PlanBuffers:
    """Plans into buffers of which some are replaced."""
    made = mla.allocate(mla.decode_sizes(2, 4, 16, compute_units=4))._replace(**views)
    qo = np.array(qo, I32) if isinstance(qo, tuple) else qo
    mla.plan_decode(qo, np.array([0, 900, 1413], I32), np.ones(2, I32), 16, 1, True, made,
                    compute_units=4, max_seqlen_qo=4)
    return made


def test_buffers_of_a_plan_that_overlap_are_refused_by_both_names() -> None:
    pool = np.full(64, mla.POISON, I32)
    with pytest.raises(mla.TensorError, match="work_indptr: expected memory of its own, found some "
                                              "of reduce_indptr in it"):
        plan_into(work_indptr=pool[:5], reduce_indptr=pool[2:5])
    assert (pool == mla.POISON).all()


def test_a_buffer_of_a_plan_that_overlaps_a_list_is_refused_by_both_names() -> None:
    pool = np.array([0, 4, 5, 0, 0, 0, 0], I32)
    with pytest.raises(mla.TensorError, match="work_indptr: expected memory of its own, found some "
                                              "of seqlens_qo_indptr in it"):
        plan_into(pool[:3], work_indptr=pool[2:])
    prefill = make_prefill([40], 1)
    lists = [np.array([0, 40], I32), np.array([0, 40], I32), np.array([40], I32)]
    with pytest.raises(mla.TensorError, match="reduce_indptr: .* found some of pages_kv_indptr"):
        mla.plan_prefill(*lists, 1, 1, prefill.buffers._replace(reduce_indptr=lists[1]))


def test_a_torch_tensor_that_overlaps_another_is_refused_by_both_names() -> None:
    torch = pytest.importorskip("torch")
    pool = torch.zeros(64, dtype=torch.int32)
    with pytest.raises(mla.TensorError, match="work_indptr: .* found some of reduce_indptr in it"):
        plan_into(work_indptr=pool[:5], reduce_indptr=pool[4:7])
    plan_into(work_indptr=pool[:5], reduce_indptr=pool[5:8])


def test_buffers_of_one_pool_that_lie_apart_get_the_plan_of_buffers_of_their_own() -> None:
    wanted = plan_into()
    pool = np.full(4096, mla.POISON, I32)
    views, at = {}, 0
    for name, array in zip(wanted._fields[1:], wanted[1:], strict=True):
        views[name] = pool[at:at + array.size].reshape(array.shape)
        at += array.size
    for name, array in plan_into(**views)._asdict().items():
        if name != "work_meta_data":
            np.testing.assert_array_equal(array, getattr(wanted, name), err_msg=name)


def stage1(**changes: Any) -> None:
    step = make_step([40], 1, 16)
    given = {"q": step.q, "kv": step.kv, "split_data": np.zeros((1, 1, 16, 512), np.float32),
             "split_lse": np.zeros((1, 1, 16, 1), np.float32),
             "output": np.zeros((1, 16, 512), np.uint16), **changes}
    outputs = [given.pop(name) for name in ("split_data", "split_lse", "output")]
    kernels.decode_stage1(*given.values(), step.qo_indptr, step.kv_indptr, step.indices, step.last,
                          np.array([0, 1], I32), None, None, None, 1, 1, 1, SCALE, *outputs)


@pytest.mark.parametrize(("one", "other"), [
    ("output", "q"), ("output", "kv"), ("split_data", "output"), ("split_data", "split_lse"),
    ("split_lse", "output"), ("split_lse", "q")])
def test_an_output_of_stage_1_that_overlaps_another_tensor_is_refused_by_both_names(
        one: str, other: str) -> None:
    shapes: dict[str, tuple[Any, tuple[int, ...]]] = {
        "q": (np.uint16, (1, 16, 576)), "kv": (np.uint16, (43, 1, 1, 576)),
        "split_data": (np.float32, (1, 1, 16, 512)), "split_lse": (np.float32, (1, 1, 16, 1)),
        "output": (np.uint16, (1, 16, 512))}
    pool = np.zeros(1 << 17, np.uint8)
    views = {}
    for name in (one, other):
        dtype, shape = shapes[name]
        views[name] = pool[:np.dtype(dtype).itemsize * int(np.prod(shape))].view(
            dtype).reshape(shape)
    with pytest.raises(mla.TensorError, match="expected memory of its own, found some of") as found:
        stage1(**views)
    assert one in str(found.value)
    assert other in str(found.value)
    assert not pool.any()


def test_a_single_split_in_bf16_is_the_output_and_not_what_lies_a_row_beside_it() -> None:
    pool = np.zeros((17, 512), np.uint16)
    output = pool[:16].reshape(1, 16, 512)
    with pytest.raises(mla.TensorError, match="split_data: .* found some of output in it"):
        stage1(output=output, split_data=pool[1:].reshape(1, 1, 16, 512))
    assert not pool.any()
    stage1(output=output, split_data=output.reshape(1, 1, 16, 512))
    assert output.any(-1).all()


def test_an_output_of_every_other_kernel_that_overlaps_an_input_is_refused_by_both_names() -> None:
    words, scale = np.zeros((4, 576), np.uint16), np.ones(1, np.float32)
    parts = np.zeros((4, 16, 512), np.float32)
    out = parts.reshape(-1).view(np.uint16)[:16 * 512].reshape(1, 16, 512)
    step = make_prefill([40], 1)
    many = [np.zeros(1, I32) for _ in range(13)]
    calls: list[tuple[Any, str]] = [
        (lambda: kernels.reduce(parts, np.zeros((4, 16), np.float32), np.array([0, 4], I32), None,
                                np.arange(4, dtype=I32), out), "final_output .* partial_output"),
        (lambda: kernels.prefill(*step.arguments, step.outputs[0], step.outputs[0][:, 0, 0:1],
                                 step.outputs[2]), "split_data .* split_lse"),
        (lambda: kernels.concat_and_cache(words[:, :512], words[:, 512:], words.reshape(4, 1, 576),
                                          np.arange(4), "auto", None), "kv_cache .* kv_c"),
        (lambda: kernels.expand_pages(many[0][:, None], np.array([0, 1], I32), many[0], 1),
         "kv_indices .* block_table"),
        (lambda: kernels.rope_and_cache(*many[:5], many[0], *many[6:12], True), "q_out .* q_nope"),
        (lambda: kernels.quantise_fp8(words, words.view(np.uint8)[:, ::2], scale),
         "output .* input"),
        (lambda: kernels.quantise_fp8(words, np.zeros((4, 576), np.uint8), words[:1, :2].view(
            np.float32)[0], "tensor"), "scales .* input"),
    ]
    for call, names in calls:
        one, other = names.split(" .* ")
        with pytest.raises(mla.TensorError, match=f"{one}: expected memory of its own, found some "
                                                  f"of {other} in it"):
            call()


def test_inputs_may_be_the_same_memory() -> None:
    step = make_prefill([40], 1)
    assert step.arguments[3] is step.arguments[4], "qo_indptr is kv_indptr"
    kernels.prefill(*step.arguments, *step.outputs)
    scale = np.ones(1, np.float32)
    kernels.prefill(*step.arguments, *step.outputs, scale, scale, scale)


WIDE = np.zeros((6, 20), np.uint16)


@pytest.mark.parametrize(("one", "other", "meet"), [
    (WIDE[:, :8], WIDE[:, 8:], False), (WIDE[:, :8], WIDE[:, 7:], True),
    (WIDE[:, 12:], WIDE[:, :12], False), (WIDE[::2], WIDE[1::2], False),
    (WIDE[::2], WIDE[2::2], True), (WIDE[::-1, :8], WIDE[:, 8:], False),
    (WIDE[::-1], WIDE[:1], True), (WIDE[:, :16], WIDE[2, 16:], False),
    (WIDE[:, :16], WIDE[2, 15:], True), (WIDE[:3], WIDE[3:], False), (WIDE[:4], WIDE[3:], True),
    (WIDE[:0], WIDE, False), (WIDE.reshape(6, 5, 4)[:, :2], WIDE.reshape(6, 5, 4)[:, 2:], False),
    (WIDE.reshape(3, 2, 20)[:, :, :9], WIDE.reshape(3, 2, 20)[:, :, 9:], False),
])
def test_rows_side_by_side_at_one_pitch_share_no_memory(one: Any, other: Any, meet: bool) -> None:
    assert np.shares_memory(one, other) is meet
    a, b = _tensors.describe(one, "one"), _tensors.describe(other, "other")
    for pair in ((a, b), (b, a)):
        assert _tensors._meet(*pair) is meet
        if not meet:
            _tensors.check_apart(("one", "other"), pair, ("one", "other"))
            continue
        with pytest.raises(mla.TensorError, match="one: expected memory of its own, found some of"):
            _tensors.check_apart(("one", "other"), pair, ("one",))
        _tensors.check_apart(("one", "other"), pair, ())


def test_heads_of_one_pool_that_lie_apart_are_taken_and_one_byte_in_common_is_not() -> None:
    pool = np.zeros((4, 32, 576), np.uint16)
    names = ("one", "other")
    apart = [_tensors.describe(pool[:, 16:, :512], "one"), _tensors.describe(pool[:, :16], "other")]
    _tensors.check_apart(names, apart, names)
    common = [_tensors.describe(pool[:, 15:, :512], "one"), apart[1]]
    with pytest.raises(mla.TensorError, match="one: expected memory of its own"):
        _tensors.check_apart(names, common, names)
