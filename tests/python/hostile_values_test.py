"""Values that a caller may well hand over: each is taken as what it is, or refused by name."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import mla_testbed as mla
import numpy as np
import pytest
from mla_testbed import _tensors, kernels, planning
from mla_testbed.mla_bundle import sha256
from steps import make_prefill, make_step

STEP: dict[str, Any] = {"seqlens_qo_indptr": [0, 4, 5], "seqlens_kv_indptr": [0, 900, 1413],
                        "num_cu": 4}


def test_numpy_numbers_and_dtypes_of_a_call_give_the_plan_of_pythons() -> None:
    plain = mla.plan({**STEP, "dtype_kv": "fp8"})
    other = mla.plan({**STEP, "num_cu": np.int64(4), "is_causal": np.bool_(True),
                      "num_heads_per_head_k": np.int32(16), "dtype_q": "bfloat16",
                      "dtype_kv": "float8_e4m3fnuz"})
    assert other.scalars == plain.scalars
    for name, array in plain.arrays.items():
        np.testing.assert_array_equal(other.arrays[name], array, err_msg=name)


@pytest.mark.parametrize("name", ["seqlens_qo_indptr", "seqlens_kv_indptr"])
@pytest.mark.parametrize(("value", "why"), [
    ([0, 4.5, 5.0], "expected a list of whole numbers"), (["0", "4", "5"], "whole numbers"),
    (np.array([0, 2**32 + 4, 2**32 + 5]), "has 4294967300; expected -2147483648 to 2147483647"),
    ([[0, 4, 5]], "2 dimensions"), ([0, [4], 5], "is no list of numbers"),
])
def test_lists_of_other_numbers_are_refused_by_name(name: str, value: Any, why: str) -> None:
    with pytest.raises(mla.UsageError, match=f"{name} .*{why}"):
        mla.plan({**STEP, name: value})


@pytest.mark.parametrize("mask", [False, [False, True, False]])
def test_a_mask_is_refused_by_name(mask: Any) -> None:
    masked = np.ma.array(np.array([0, 4, 5], np.int32), mask=mask)
    with pytest.raises(mla.TensorError, match="seqlens_qo_indptr: expected an array without a m"):
        mla.plan({**STEP, "seqlens_qo_indptr": masked})
    buffers = planning.allocate(planning.decode_sizes(2, 4, 16, compute_units=4))
    with pytest.raises(mla.TensorError, match="seqlens_qo_indptr: expected an array without a m"):
        planning.plan_decode(masked, np.array([0, 900, 1413], np.int32), np.ones(2, np.int32), 16,
                             1, True, buffers, compute_units=4, max_seqlen_qo=4)


def test_a_longest_query_of_minus_one_is_told_to_the_planner_and_none_is_the_longest() -> None:
    call = {**STEP, "seqlens_qo_indptr": [0, 3, 6], "seqlens_kv_indptr": [0, 33, 546],
            "num_cu": 256}
    assert mla.plan(call).scalars["max_seqlen_qo"] == 3
    with pytest.raises(mla.RefusedError, match="max_qo_len = -1"):
        mla.plan({**call, "max_seqlen_qo": -1})
    assert mla.plan({**call, "max_seqlen_qo": -1}, as_aiter=True).scalars["max_seqlen_qo"] == -1


def buffers_with(work_info_set: Any) -> tuple[planning.PlanBuffers, Any]:
    buffers = planning.allocate(planning.decode_sizes(2, 4, 16, compute_units=4))
    changed = work_info_set(buffers.work_info_set)
    return buffers._replace(work_info_set=changed), changed


def plan_into(buffers: planning.PlanBuffers) -> None:
    planning.plan_decode(np.array([0, 4, 5], np.int32), np.array([0, 900, 1413], np.int32),
                         np.ones(2, np.int32), 16, 1, True, buffers, compute_units=4,
                         max_seqlen_qo=4)


def test_a_read_only_output_is_refused_and_keeps_what_it_holds(tmp_path: pathlib.Path) -> None:
    def mapped(array: np.ndarray) -> Any:
        np.save(tmp_path / "w.npy", array)
        return np.load(tmp_path / "w.npy", mmap_mode="r")

    for make in (mapped, lambda a: np.frombuffer(a.tobytes(), np.int32).reshape(a.shape)):
        buffers, array = buffers_with(make)
        with pytest.raises(mla.TensorError, match="work_info_set: .* read-only"):
            plan_into(buffers)
        assert (np.asarray(array) == planning.POISON).all()


@pytest.mark.parametrize(("rows", "strides"), [
    (4, (0, 512, 1)), (2, (100, 512, 1)), (2, (16 * 512 - 1, 512, 1)), (1, (16 * 512, 511, 1)),
])
def test_an_output_whose_elements_share_memory_is_refused(
        rows: int, strides: tuple[int, ...]) -> None:
    shared = np.lib.stride_tricks.as_strided(np.zeros(4 * 16 * 512, np.uint16), (rows, 16, 512),
                                             tuple(2 * stride for stride in strides))
    with pytest.raises(mla.TensorError, match="final_output: expected memory of its own .* shape "
                                              rf"\({rows}, 16, 512\) with strides"):
        kernels.reduce(np.zeros((4, 1, 16, 512), np.float32), np.zeros((4, 1, 16, 1), np.float32),
                       np.zeros(2, np.int32), None, np.zeros(1, np.int32), shared)
    assert not shared.any()


@pytest.mark.parametrize(("shape", "strides", "shared"), [
    ((2, 16, 512), (100, 512, 1), True), ((2, 16, 512), (16 * 512, 512, 1), False),
    ((3, 2), (1, 3), False), ((4, 1, 5), (5, 0, 1), False), ((0, 4), (0, 0), False),
    ((2, 3, 8), (2 * 10 + 8, 10, 1), False), ((2, 3, 8), (2 * 10 + 7, 10, 1), True),
    ((4,), (-1,), False), ((), (), False),
])
def test_elements_share_memory_where_a_step_stays_within_smaller_ones(
        shape: tuple[int, ...], strides: tuple[int, ...], shared: bool) -> None:
    assert _tensors._shared(shape, strides, 1) is shared
    in_bytes = tuple(4 * stride for stride in strides)
    assert _tensors._shared(shape, in_bytes, 4) is shared


@pytest.mark.parametrize("call", [
    lambda: mla.draw(2**64, 0), lambda: mla.draw(-1, 0), lambda: mla.draw(0, 2**63),
    lambda: planning.decode_sizes(2**64 + 2, 4, 16),
    lambda: kernels.expand_pages(np.zeros((1, 1), np.int32), np.zeros(2, np.int32),
                                 np.zeros(1, np.int32), 2**64 + 2),
    lambda: reduced_step(mla.reference, page_size=2**64 + 1),
])
def test_a_number_beyond_64_bits_is_refused(call: Any) -> None:
    with pytest.raises(mla.UsageError, match="expected -?[0-9]+ to [0-9]+"):
        call()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e39])
def test_a_reference_that_would_be_nan_everywhere_is_refused(value: float) -> None:
    with pytest.raises(mla.UsageError, match=r"softmax_scale is -?(nan|inf); expected a finite"):
        reduced_step(mla.reference, softmax_scale=value)
    with np.errstate(over="ignore"):
        scale = np.array([value], np.float32)
    step = make_step([40], 1, 16, q_fp8=True, kv_fp8=True)
    lists = step.qo_indptr, step.kv_indptr, step.indices, step.last
    one = np.ones(1, np.float32)
    for name in ("q_scale", "kv_scale"):
        scales = {"q_scale": one, "kv_scale": one, name: scale}
        with pytest.raises(mla.UsageError, match=f"{name} is -?(nan|inf); expected a finite"):
            mla.reference(step.q, step.kv, *lists, 1.0, **scales)


def reduced_step(call: Any, **changes: Any) -> None:
    """Calls `reference`, stage 1 or prefill on a step of one request."""
    step = make_step([40], 1, 16)
    lists = step.qo_indptr, step.kv_indptr, step.indices, step.last
    if call is mla.reference:
        mla.reference(step.q, step.kv, *lists, **{"softmax_scale": 1.0, **changes})
    elif call is kernels.decode_stage1:
        kernels.decode_stage1(
            step.q, step.kv, *lists, np.array([0, 1], np.int32), None, None, None, 1, 1, 1,
            changes.pop("softmax_scale", 1.0), np.zeros((1, 1, 16, 512), np.float32),
            np.zeros((1, 1, 16, 1), np.float32), np.zeros((1, 16, 512), np.uint16), **changes)
    else:
        prefill = make_prefill([40], 1)
        scale, causal = prefill.arguments[8:]
        kernels.prefill(*prefill.arguments[:8], changes.get("softmax_scale", scale),
                        changes.get("causal", causal), *prefill.outputs)


CALLS = [mla.reference, kernels.decode_stage1, kernels.prefill]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("value", ["0", "False", None, 0.0, 2, -1, [True]])
def test_a_mask_that_is_no_truth_value_is_refused(call: Any, value: Any) -> None:
    with pytest.raises(mla.UsageError, match="causal is .*; expected a bool"):
        reduced_step(call, causal=value)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("value", [None, "x", "1.0", b"1", [1.0], 10**400])
def test_a_softmax_scale_that_is_no_number_is_refused(call: Any, value: Any) -> None:
    with pytest.raises(mla.UsageError, match="softmax_scale is .*; expected a number"):
        reduced_step(call, softmax_scale=value)


@pytest.mark.parametrize("call", CALLS)
def test_numbers_and_truth_values_of_numpy_are_taken(call: Any) -> None:
    for causal in (np.False_, np.int32(1), 0):
        reduced_step(call, causal=causal, softmax_scale=np.float32(0.5))


def planned(**changes: Any) -> None:
    buffers = planning.allocate(planning.decode_sizes(1, 1, 16, compute_units=4))
    one = np.array([0, 1], np.int32)
    given = {"is_causal": True, **changes}
    planning.plan_decode(one, one, one[1:], 16, 1, given.pop("is_causal"), buffers,
                         **{"compute_units": 4, "max_seqlen_qo": 1, **given})


@pytest.mark.parametrize(("call", "name"), [
    (lambda: planning.decode_sizes(None, 1, 16), "batch_size"),
    (lambda: planning.decode_sizes(2, 1, None), "num_head_qo"),
    (lambda: planning.prefill_sizes(2, 1, 40, None), "qlen_granularity"),
    (lambda: planned(is_causal=None), "is_causal"), (lambda: planned(topk=None), "topk"),
    (lambda: planned(page_size=None), "page_size"), (lambda: planned(page_size=[]), "page_size"),
    (lambda: planned(compute_units="4"), "compute_units"), (lambda: planned(kernel=[]), "kernel"),
    (lambda: planned(dtype_q=[]), "dtype_q"), (lambda: planned(arch=None), "arch"),
    (lambda: planned(arch=[]), "arch"),
])
def test_an_argument_that_is_no_number_takes_no_default(call: Any, name: str) -> None:
    with pytest.raises(mla.UsageError, match=f"^{name} is .*; expected"):
        call()


def test_a_float_is_no_page_size_whatever_was_planned_before() -> None:
    for _ in range(2):
        planned(page_size=1)
        with pytest.raises(mla.UsageError, match="page_size is 1.0; expected a whole number"):
            planned(page_size=1.0)


@pytest.mark.parametrize("name", sorted(planning.PLAN_DEFAULTS))
@pytest.mark.parametrize("value", [None, "x", [1]])
def test_an_option_of_plan_that_is_no_number_is_refused_by_name(name: str, value: Any) -> None:
    if name == "num_cu" and value is None:
        value = "4"
    with pytest.raises(mla.UsageError, match=f"^{name} is .*; expected"):
        mla.plan({**STEP, name: value})


@pytest.mark.parametrize(("call", "error", "why"), [
    (lambda: mla.plan(None), mla.UsageError, r"plan\(\) got None; expected a case"),
    (lambda: mla.plan({**STEP, 7: 7}), mla.UsageError, r"plan\(\) does not know 7"),
    (lambda: mla.run(None), mla.UsageError, "case is None; expected a text"),
    (lambda: mla.run("mla1:1q1s17", backend=None), mla.UsageError, "backend is None; expected"),
    (lambda: mla.run("mla1:1q1s17", properties=None), mla.UsageError, "properties is None; exp"),
    (lambda: mla.run("mla1:1q1s17", properties="P05"), mla.UsageError, "properties is 'P05'; exp"),
    (lambda: mla.run("mla1:1q1s17", properties=[""]), mla.UsageError, "properties has ''; exp"),
    (lambda: mla.run("mla1:1q1s17", properties=["P05", None]), mla.UsageError, "has None; exp"),
    (lambda: mla.run("\udc00"), mla.UsageError, "expected a text of Unicode"),
    (lambda: mla.simpler([]), mla.UsageError, r"case is \[\]; expected a text"),
    (lambda: mla.poisoned(2, np.int8), mla.UsageError, "dtype is int8; expected float32, uint16"),
    (lambda: mla.poisoned(2, "bf16"), mla.UsageError, "dtype is 'bf16'; expected float32, uint16"),
    (lambda: plan_into(buffers_with(np.copy)[0][:5]), mla.UsageError,
     "buffers is 5 arrays; expected the six of a plan, work_meta_data, work_indptr"),
    (lambda: plan_into(None), mla.UsageError, "buffers is None; expected the six of a plan"),
    (lambda: kernels.quantise_fp8(None, None, None, []), mla.UsageError, r"scale is '\[\]'"),
    (lambda: mla.reference(np.zeros(576, np.uint16), *[None] * 5, 1.0), mla.TensorError,
     r"q: expected an array of 3 dimensions, found shape \(576,\)"),
    (lambda: mla.reference(*[None] * 6, 1.0), mla.TensorError, "q: .* found None"),
    *((lambda name=name: kernels.concat_and_cache(*[np.zeros(1)] * 4, name, None), mla.UsageError,
       f"kv_cache_dtype is .*{why}") for name, why in ((None, "a text"), ("fp8\0", "NUL byte"))),
])
def test_what_is_no_argument_of_a_function_is_refused_by_name(call: Any, error: Any,
                                                              why: str) -> None:
    with pytest.raises(error, match=why):
        call()


def test_scalars_of_numpy_are_saved_as_pythons(tmp_path: pathlib.Path) -> None:
    bundle = mla.plan("mla1:2q1s900;heads=16;cu=4")
    plain = dict(bundle.scalars)
    sizes = {key: [np.int32(n) for n in shape] for key, shape in plain["buffer_sizes"].items()}
    bundle.scalars |= {"num_cu": np.int64(4), "is_causal": np.True_, "softmax_scale": np.float32(2),
                       "buffer_sizes": sizes}
    assert mla.check(bundle).valid
    bundle.save(tmp_path)
    again = mla.Bundle.load(tmp_path).scalars
    assert {**again, "format": plain["format"]} == {**plain, "softmax_scale": 2.0}
    bundle.scalars["dtype_q"] = {1, 2}
    for call in (mla.check, lambda b: b.save(tmp_path)):
        with pytest.raises(mla.UsageError, match="scalar 'dtype_q' .* is {1, 2}; expected numbers"):
            call(bundle)


def test_a_text_with_a_nul_byte_is_refused() -> None:
    with pytest.raises(mla.UsageError, match="NUL byte"):
        mla.run("mla1:1q1s17\0;heads=999", properties=["P05"])


@pytest.mark.parametrize(("damage", "why"), [
    (lambda folder: (folder / "manifest.json").write_text("[]"), "has format None"),
    (lambda folder: (folder / "manifest.json").write_text(
        '{"format": "mla-testbed bundle 1", "arrays": {"q": {}}}'), "no file for array 'q'"),
    (lambda folder: (folder / "work_info.npy").unlink(), "work_info.npy' cannot be read"),
    (lambda folder: (folder / "work_info.npy").write_bytes(b"x"), "work_info.npy' cannot be read"),
    (lambda folder: (folder / "work_info.npy").write_bytes(
        (folder / "work_info.npy").read_bytes()[:-1] + b"\1"),
     r"was changed after .*\(sha256 [0-9a-f]{64}, the man"),
])
def test_a_damaged_bundle_is_refused_by_the_file(tmp_path: pathlib.Path, damage: Any,
                                                 why: str) -> None:
    mla.plan("mla1:2q1s900;heads=16;cu=4").save(tmp_path)
    damage(tmp_path)
    with pytest.raises(mla.UsageError, match=why):
        mla.Bundle.load(tmp_path)


def rewritten(key: str, change: Any) -> Any:
    """Damage: another array in the file of a list, with its right sum."""
    def damage(folder: pathlib.Path) -> None:
        file = folder / f"{key}.npy"
        np.save(file, change(np.load(file)))
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["arrays"][key]["sha256"] = sha256(file.read_bytes())
        (folder / "manifest.json").write_text(json.dumps(manifest))
    return damage


def manifest_with(old: str, new: str) -> Any:
    """Damage: another text in the manifest."""
    def damage(folder: pathlib.Path) -> None:
        text = (folder / "manifest.json").read_text()
        assert old in text
        (folder / "manifest.json").write_text(text.replace(old, new, 1))
    return damage


@pytest.mark.parametrize(("damage", "why"), [
    *((rewritten("seqlens_kv_indptr", lambda a, d=dtype: a.astype(d)),
       f"npy' has elements of {dtype} for list 'seqlens_kv_indptr'")
      for dtype in ("<i8", "<i2", ">i4", "<u8", "<f4")),
    (rewritten("work_info", lambda a: a.astype(np.int8)), r"has elements of \|i1 for list 'work_"),
    (rewritten("work_info", lambda a: np.asfortranarray(a.reshape(-1, 8))),
     r"array 'work_info' of shape \([0-9]+, 8\) in the order of Fortran"),
    (manifest_with('"arch"', '"arrays": {}, "arch"'), "key 'arrays' stands there twice"),
    (manifest_with('"page_size": 1', '"page_size": 16, "page_size": 1'),
     "key 'page_size' stands there twice, with 16 and 1"),
    (manifest_with('"page_size": 1', '"page_size": 1, "work_info": 3'),
     "has array 'work_info' and a value of this name, 3"),
    *((manifest_with('"work_info.npy"', f'"{name}"'), f"names the file '{shown}' for array 'work")
      for name, shown in (("../x/work_info.npy", "../x/work_info.npy"), ("..", ".."), ("", ""),
                          ("x\\\\work_info.npy", r"x\\\\work_info.npy"))),
    (manifest_with('"arrays"', '"lists"'), 'has no object "arrays"'),
])
def test_load_refuses_what_the_command_refuses(tmp_path: pathlib.Path, damage: Any,
                                               why: str) -> None:
    mla.plan("mla1:2q1s900;heads=16;cu=4").save(tmp_path)
    damage(tmp_path)
    with pytest.raises(mla.UsageError, match=why):
        mla.Bundle.load(tmp_path)


def test_the_splits_of_a_launch_without_a_plan_are_a_list(tmp_path: pathlib.Path) -> None:
    bundle = mla.plan("mla1:2q1s900;heads=16;cu=4")
    bundle.arrays["launch_num_kv_splits_indptr"] = np.array([0, 2, 4])
    bundle.save(tmp_path)
    assert mla.Bundle.load(tmp_path).arrays["launch_num_kv_splits_indptr"].dtype == np.int32


def test_arrays_of_any_order_come_back_from_disk(tmp_path: pathlib.Path) -> None:
    bundle = mla.plan("mla1:2q1s900;heads=16;cu=4")
    bundle.arrays["kv_indices"] = np.arange(1800, dtype=">i4")
    bundle.arrays["q"] = np.asfortranarray(np.zeros((4, 16, 576), np.uint16))
    bundle.save(tmp_path)
    again = mla.Bundle.load(tmp_path).arrays
    assert again["kv_indices"].dtype == np.dtype("<i4")
    assert again["q"].flags.c_contiguous
