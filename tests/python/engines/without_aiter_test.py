"""AITER's planners without AITER: names, parameters and results; everything else refuses."""

import inspect
import os
import re
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="without_aiter answers with torch's dtypes")

from mla_testbed import TensorError, _library, planning  # noqa: E402
from mla_testbed.engines import without_aiter  # noqa: E402

PLANNERS = without_aiter.planners("gfx942", 304)


def test_size_queries_answer_in_the_order_and_form_of_the_original():
    found = PLANNERS["get_mla_metadata_info_v1"](
        3, 4, 16, torch.bfloat16, torch.bfloat16, is_sparse=False, fast_mode=True)
    sizes = planning.decode_sizes(3, 4, 16)
    assert [shape for shape, _ in found] == [
        2, sizes.work_indptr, (sizes.work_items, 8), sizes.reduce_indptr,
        (sizes.reduce_final_rows, 2), sizes.reduce_partial_map]
    assert [dtype for _, dtype in found] == [torch.uint64] + 5 * [torch.int32]
    prefill = PLANNERS["get_ps_metadata_info_v1"](2, 16, 900)
    assert prefill[1] == (305, torch.int32)
    assert prefill[2][0] == (planning.prefill_sizes(2, 16, 900).work_items, 8)


def tensors(sizes):
    return [torch.full(shape if isinstance(shape, tuple) else (shape,), 7, dtype=dtype)
            if dtype == torch.int32 else torch.zeros(shape, dtype=dtype) for shape, dtype in sizes]


def test_the_decode_planner_fills_the_buffers_that_its_positions_name():
    meta, indptr, info, reduce_indptr, final, partial = made = tensors(
        PLANNERS["get_mla_metadata_info_v1"](2, 1, 16, torch.bfloat16, torch.bfloat16, False))
    qo, kv, last = (torch.tensor(v, dtype=torch.int32) for v in ([0, 1, 2], [0, 900, 940], [1, 1]))
    PLANNERS["get_mla_metadata_v1"](qo, kv, last, 16, 1, True, meta, info, indptr, reduce_indptr,
                                    final, partial, max_seqlen_qo=1, uni_seqlen_qo=1)
    ours = planning.allocate(planning.decode_sizes(2, 1, 16))
    planning.plan_decode(qo.numpy(), kv.numpy(), last.numpy(), 16, 1, True, ours, max_seqlen_qo=1,
                         uni_seqlen_qo=1)
    for tensor, array in zip(made[1:], ours[1:], strict=True):
        written = array != planning.POISON
        assert written.any()
        np.testing.assert_array_equal(tensor.numpy()[written], array[written])


def test_the_prefill_planner_takes_lists_of_the_host_only(monkeypatch):
    meta, indptr, info, *rest = tensors(PLANNERS["get_ps_metadata_info_v1"](1, 16, 40))
    lists = [torch.tensor(v, dtype=torch.int32) for v in ([0, 40], [0, 40], [40])]
    call = [*lists, 1, 16, meta, indptr, info, *rest]
    PLANNERS["get_ps_metadata_v1"](*call, qhead_granularity=1, qlen_granularity=256,
                                   kvlen_granularity=128, block_size=1)
    assert int(indptr[-1]) == 16
    monkeypatch.setattr(without_aiter, "on_device", lambda tensor: tensor is lists[1])
    with pytest.raises(TensorError, match="pages_kv_indptr: expected a tensor in host memory"):
        PLANNERS["get_ps_metadata_v1"](*call)


FORWARDED = {"get_mla_metadata_info_v1": "decode_sizes", "get_mla_metadata_v1": "plan_decode",
             "get_ps_metadata_info_v1": "prefill_sizes", "get_ps_metadata_v1": "plan_prefill"}


@pytest.mark.parametrize("name", FORWARDED)
def test_every_argument_reaches_the_planner_under_its_name(monkeypatch, name):
    ours = without_aiter.planners("gfx950", 80)[name]
    target = getattr(planning, FORWARDED[name])
    seen = {}

    def record(*args, **kwargs):
        seen.update(inspect.signature(target).bind(*args, **kwargs).arguments)
        return planning.BufferSizes(1, 2, 3, 4, 5, 6)

    monkeypatch.setattr(planning, FORWARDED[name], record)
    monkeypatch.setattr(without_aiter, "on_device", lambda _: False)
    given = {}
    for number, parameter in enumerate(inspect.signature(ours).parameters.values()):
        switch = isinstance(parameter.default, bool) or parameter.name == "is_causal"
        given[parameter.name] = not parameter.default if switch else 100 + number
    given["is_causal"] = False
    ours(**{n: v for n, v in given.items() if n in inspect.signature(ours).parameters})
    expected = {n: v for n, v in given.items() if n in inspect.signature(target).parameters}
    device = {"arch": "gfx950", "compute_units": 80, "as_aiter": True}
    expected.update({n: v for n, v in device.items() if n in inspect.signature(target).parameters})
    buffers = seen.pop("buffers", None)
    assert seen == expected
    if buffers is not None:
        info = "work_info_set" if "work_info_set" in given else "work_info"
        assert buffers == planning.PlanBuffers(
            given["work_metadata_ptrs"], given["work_indptr"], given[info],
            given["reduce_indptr"], given["reduce_final_map"], given["reduce_partial_map"])


def test_dtypes_that_are_left_out_are_bf16(monkeypatch):
    seen = {}
    monkeypatch.setattr(planning, "plan_decode", lambda *_, **named: seen.update(named))
    PLANNERS["get_mla_metadata_v1"](*range(12))
    assert (seen["dtype_q"], seen["dtype_kv"]) == (torch.bfloat16, torch.bfloat16)


def test_places_are_checked_again_after_a_prefill_plan():
    before = _library.check_places(True)
    try:
        with pytest.raises(RuntimeError, match="in between"), without_aiter._buffers_anywhere({}):
            assert not _library.check_places(False)
            raise RuntimeError("in between")
        assert _library.check_places(True)
    finally:
        _library.check_places(before)


@pytest.mark.skipif("AITER_SRC" not in os.environ, reason="AITER_SRC names no source of AITER")
def test_parameters_are_those_of_aiter_in_its_order():
    path = os.path.join(os.environ["AITER_SRC"], "aiter", "ops", "attention.py")
    with open(path, encoding="utf-8") as source:
        text = source.read()
    for name, ours in PLANNERS.items():
        theirs = re.search(rf"^def {name}\((.*?)^\)", text, re.M | re.S)[1]
        named = re.findall(r"^ {4}(\w+):[^=\n]*(?:= ([^,\n]+))?", theirs, re.M)
        expected = [n for n, _ in named if n not in (
            "mla_version", "dtype_q_nope", "dtype_q_rope", "dtype_kv_nope", "dtype_kv_rope")]
        assert list(inspect.signature(ours).parameters) == expected
        defaults = {n: d for n, d in named if d and n in expected and d != "None"}
        assert {n: str(inspect.signature(ours).parameters[n].default)
                for n in defaults} == defaults


def run(code):
    done = subprocess.run(
        [sys.executable, "-c", "from mla_testbed.engines import Machine, without_aiter\n" + code],
        capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_name_that_was_not_listed_is_missing_and_a_listed_one_refuses():
    assert run("""
without_aiter.install(Machine("gfx950", 128), all_names=False)
import aiter
from aiter.jit.utils.chip_info import get_gfx, get_cu_num
print(get_gfx(), get_cu_num(), aiter.dtypes.fp8)
for text in ("from aiter import topk_softmax", "import aiter.tuned_gemm",
             "from aiter.jit.core import AITER_CSRC_DIR"):
    try:
        exec(text)
    except ImportError as e:
        print(type(e).__name__)
from aiter.mla import mla_decode_fwd
try:
    mla_decode_fwd(1, o=2)
except ImportError as e:
    print(e)
""").splitlines() == [
        "gfx950 128 torch.float8_e4m3fn", "ImportError", "ModuleNotFoundError", "ImportError",
        "aiter.mla.mla_decode_fwd was called in a run without AITER; a run with it, and AITER_SRC "
        "naming its source tree, has it"]


def test_with_all_names_everything_is_imported_and_refuses_to_be_called():
    assert run("""
without_aiter.install(Machine("gfx942", 304), all_names=True)
from aiter import QuantType, get_hip_quant, get_mla_metadata_v1
from aiter.ops.triton.utils.types import e4m3_dtype
import aiter.dtypes
assert e4m3_dtype is aiter.dtypes.fp8 is __import__("torch").float8_e4m3fnuz
from aiter.ops.shuffle import shuffle_weight
quant = get_hip_quant(QuantType.per_1x128)
print(get_mla_metadata_v1.__name__, type(quant).__name__)
for refused in (quant, shuffle_weight, QuantType.per_1x128):
    try:
        refused(1)
    except ImportError as e:
        print(str(e).split(" was called")[0])
""").splitlines() == ["get_mla_metadata_v1 Absent", "aiter.get_hip_quant()",
                      "aiter.ops.shuffle.shuffle_weight", "aiter.QuantType.per_1x128"]


def test_an_aiter_that_is_there_already_is_not_covered():
    assert run("""
import sys, types
sys.modules["aiter"] = types.ModuleType("aiter")
try:
    without_aiter.install(Machine("gfx942", 304), all_names=True)
except ImportError as e:
    print(e)
""") == "aiter is imported already, so that it cannot be left out"
