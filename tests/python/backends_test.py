"""Backends of `mla_testbed.kernels`: emulator, AITER's code objects, this project's kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import mla_testbed as mla
import numpy as np
import pytest
from mla_testbed import kernels
from steps import (
    ENCODING,
    SCALE,
    decode_with_plan,
    expected,
    expected_prefill,
    make_prefill,
    make_step,
    rounding_bound,
)

needs_aiter = pytest.mark.skipif(
    not os.environ.get("AITER_HSA"), reason="needs AITER_HSA, AITER's code objects")


@pytest.fixture(autouse=True)
def backend_is_put_back() -> Iterator[None]:
    yield
    mla.set_backend("cpu")


@pytest.fixture
def hip() -> None:
    """Skips where this build has no device code, and only there."""
    mla.set_backend("hip")
    try:
        kernels.reduce(np.zeros((2, 16, 512), np.float32), np.zeros((2, 16), np.float32),
                       np.array([0, 2], np.int32), np.array([[0, 1]], np.int32),
                       np.array([0, 1], np.int32), np.zeros((1, 16, 512), np.uint16))
    except mla.UnsupportedError as e:
        assert "code" in str(e)
        pytest.skip(f"this build has no device code: {e}")


def test_an_unknown_backend_is_refused_and_the_default_is_cpu() -> None:
    assert mla.backend() == "cpu"
    with pytest.raises(mla.UsageError, match="backend is 'gpu'; expected cpu, aiter or hip"):
        mla.set_backend("gpu")


def _in_a_process(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    here = os.path.dirname(os.path.abspath(__file__))
    whole = f"import sys; sys.path.insert(0, {here!r})\n{code}"
    return subprocess.run([sys.executable, "-c", whole], env={**os.environ, **variables},
                          capture_output=True, text=True, check=False)


def test_a_timing_in_the_environment_is_taken_and_other_words_are_refused(hip: None) -> None:
    code = ("import mla_testbed as mla, steps; mla.set_backend('hip'); "
            "print(steps.decode_with_plan(steps.make_step([70, 33], 2, 16))[0].sum())")
    usual = _in_a_process(code)
    assert usual.returncode == 0, usual.stderr
    late = _in_a_process(code, MLA_TESTBED_SCHEDULE="slice=64", MLA_TESTBED_ARRIVAL="late")
    assert late.stdout == usual.stdout
    wrong = _in_a_process(code, MLA_TESTBED_ARRIVAL="soon")
    assert "UsageError: MLA_TESTBED_ARRIVAL has value 'soon': expected early" in wrong.stderr


@needs_aiter
def test_aiters_own_kernel_gives_attention_and_the_emulators_plan_runs_on_it() -> None:
    step = make_step([700, 33], 2, 16)
    mla.set_backend("aiter")
    out, _ = decode_with_plan(step)
    mla.set_backend("cpu")
    np.testing.assert_allclose(out, expected(step)[0], atol=2e-2)
    assert (out != decode_with_plan(step)[0]).any(), "the emulator ran"


def test_backend_aiter_without_an_installation_names_the_variable(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AITER_HSA", raising=False)
    mla.set_backend("aiter")
    with pytest.raises(mla.UsageError, match="AITER_HSA"):
        decode_with_plan(make_step([100], 1, 16))
    step = make_prefill([40], 1)
    with pytest.raises(mla.UsageError, match="AITER_HSA"):
        kernels.prefill(*step.arguments, *step.outputs)


@needs_aiter
def test_prefill_by_aiters_code_object_gives_attention_with_any_v_scale() -> None:
    step = make_prefill([300, 90], 2)
    mla.set_backend("aiter")
    kernels.prefill(*step.arguments, *step.outputs, None, None, np.array([0.5], np.float32))
    by_object = step.merge()
    np.testing.assert_allclose(by_object, expected_prefill(step, 0.5), atol=6e-2)
    mla.set_backend("cpu")
    again = make_prefill([300, 90], 2)
    kernels.prefill(*again.arguments, *again.outputs, None, None, np.array([0.5], np.float32))
    assert (by_object != again.merge()).any(), "the emulator ran"


@needs_aiter
def test_prefill_by_aiters_code_object_leaves_other_rows_alone() -> None:
    step = make_prefill([300], 1)
    step.arguments[6][1:] = step.arguments[6][1]  # the works of the first compute unit only
    before = step.outputs[0].copy()
    mla.set_backend("aiter")
    kernels.prefill(*step.arguments, *step.outputs)
    changed = (step.outputs[0].view(np.uint32) != before.view(np.uint32)).any((1, 2))
    assert 0 < np.count_nonzero(changed) <= 256


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("dtypes", [("bf16", "bf16"), ("fp8", "fp8")])
def test_this_projects_kernels_give_attention(
        hip: None, arch: str, dtypes: tuple[str, str]) -> None:
    step = make_step([170, 33, 1], 1, 16, page=16, arch=arch, q_fp8=dtypes[0] == "fp8",
                     kv_fp8=dtypes[1] == "fp8")
    out, lse = decode_with_plan(step, arch=arch, dtypes=dtypes)
    bound = rounding_bound(step, ENCODING[arch] if "fp8" in dtypes else None)
    assert (np.abs(out - expected(step)[0]) <= bound).all()
    mla.set_backend("cpu")
    emulated, emulated_lse = decode_with_plan(step, arch=arch, dtypes=dtypes)
    assert (np.abs(emulated - expected(step)[0]) <= bound).all()
    assert (emulated != out).any(), "the kernels ran"
    np.testing.assert_array_equal(np.isnan(lse), np.isnan(emulated_lse))


def test_this_projects_kernels_take_several_rows_and_skip_gaps_between_pages(hip: None) -> None:
    step = make_step([300, 77], 4, 16, page=16)
    wide = np.zeros((step.kv.shape[0], 20, 1, 576), np.uint16)
    wide[:, :16] = step.kv
    out, _ = decode_with_plan(step._replace(kv=wide[:, :16]))
    np.testing.assert_allclose(out, expected(step)[0], atol=2e-2)


def test_this_projects_kernels_take_heads_folded_into_rows(hip: None) -> None:
    step = make_step([300, 77], 1, 128)
    folded = step._replace(q=step.q.reshape(-1, 16, 576))
    out, _ = decode_with_plan(folded)
    np.testing.assert_allclose(out.reshape(2, 128, 512), expected(step)[0], atol=2e-2)


@pytest.mark.parametrize("splits", [1, 3])
def test_this_projects_kernels_run_splits_without_a_plan(hip: None, splits: int) -> None:
    step = make_step([150, 40], 1, 16, q_fp8=True, kv_fp8=True)
    out = np.full((2, 16, 512), 0x7FA5, np.uint16)
    split = np.full((2, splits, 16, 512), np.nan, np.float32)
    lse = np.full((2, splits, 16, 1), np.nan, np.float32)
    one = np.ones(1, np.float32)
    target = out.reshape(2, 1, 16, 512) if splits == 1 else split
    kernels.decode_stage1(
        step.q, step.kv, step.qo_indptr, step.kv_indptr, step.indices, step.last,
        np.arange(3, dtype=np.int32) * splits, None, None, None, 1, 1, 1, SCALE, target, lse, out,
        None, one, one)
    found = att_of(out) if splits == 1 else merged(split, lse)
    np.testing.assert_allclose(found, expected(step)[0], atol=0.1)


def att_of(words: np.ndarray) -> np.ndarray:
    return (words.astype(np.uint32) << 16).view(np.float32)


def merged(split: np.ndarray, lse: np.ndarray) -> np.ndarray:
    weights = np.where(np.isnan(lse), 0, np.exp(lse - np.nanmax(lse, 1, keepdims=True)))
    parts = np.where(weights > 0, split, 0)
    return (parts * weights).sum(1) / weights.sum(1)


def test_this_projects_prefill_gives_attention_and_refuses_a_v_scale(hip: None) -> None:
    step = make_prefill([150, 40], 2)
    kernels.prefill(*step.arguments, *step.outputs)
    np.testing.assert_allclose(step.merge(), expected_prefill(step), atol=6e-2)
    with pytest.raises(mla.UnsupportedError, match="v_scale is 0.5"):
        kernels.prefill(*step.arguments, *step.outputs, None, None, np.array([0.5], np.float32))


@pytest.mark.parametrize("pieces", [2, 5])
def test_this_projects_reduce_writes_strided_rows_and_nothing_else(hip: None, pieces: int) -> None:
    rng = np.random.default_rng(pieces)
    parts = rng.normal(size=(pieces, 16, 512)).astype(np.float32)
    lses = rng.normal(size=(pieces, 16)).astype(np.float32)
    wide = np.full((3, 16, 600), 0x1234, np.uint16)
    lse = np.zeros((3, 16), np.float32)
    kernels.reduce(parts, lses, np.array([0, pieces], np.int32), np.array([[1, 2]], np.int32),
                   np.arange(pieces, dtype=np.int32), wide[..., :512], lse)
    weights = np.exp(lses.astype(np.float64))
    wanted = np.einsum("ph,phd->hd", weights / weights.sum(0), parts)
    np.testing.assert_allclose(att_of(wide[1, :, :512]), wanted, atol=2e-2)
    np.testing.assert_allclose(lse[1], np.log(weights.sum(0)), atol=1e-4)
    assert (wide[[0, 2]] == 0x1234).all()
    assert (wide[..., 512:] == 0x1234).all()
    assert not lse[[0, 2]].any()


def test_a_device_of_another_architecture_or_name_is_refused(hip: None) -> None:
    mla.set_backend("hip", "emulated:gfx950")
    with pytest.raises(mla.UnsupportedError, match="'emulated:gfx950' is a gfx950; the call is "
                                                   "for gfx942"):
        decode_with_plan(make_step([100], 1, 16))
    mla.set_backend("hip", "gpu0")
    with pytest.raises(mla.UsageError, match="device 'gpu0' is unknown"):
        decode_with_plan(make_step([100], 1, 16))
    with pytest.raises(mla.UsageError, match="backend 'cpu' takes none"):
        mla.set_backend("cpu", "hip:0")


def test_a_wrong_index_never_reaches_a_device(hip: None) -> None:
    step = make_step([100, 50], 1, 16)
    step.indices[110] = 9999
    with pytest.raises(mla.FaultError, match="entry 110 of kv_indices leads to cache slot 9999"):
        decode_with_plan(step)
    prefill = make_prefill([150, 40], 1)
    prefill.arguments[7][0, 0] = 7
    with pytest.raises(mla.FaultError, match=r"request 7 is not in \[0, 2\)"):
        kernels.prefill(*prefill.arguments, *prefill.outputs)
    prefill = make_prefill([150, 40], 1)
    prefill.arguments[3][1] = 500
    with pytest.raises(mla.UsageError, match=r"qo_indptr\[2\] is 190; expected at least 500"):
        kernels.prefill(*prefill.arguments, *prefill.outputs)
    with pytest.raises(mla.FaultError, match="partial row"):
        kernels.reduce(np.zeros((2, 16, 512), np.float32), np.zeros((2, 16), np.float32),
                       np.array([0, 2], np.int32), np.array([[0, 1]], np.int32),
                       np.array([0, 99], np.int32), np.zeros((1, 16, 512), np.uint16))
