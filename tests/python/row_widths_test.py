"""Rows of other widths than 512 + 64 on arrays: reference, stage 1, captured steps, refusals."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator

import attention as att
import mla_testbed as mla
import numpy as np
import pytest
from captured_step_test import Engine, Typed, replayed
from mla_testbed import kernels
from steps import SCALE, Step, make_step

#: Elements of a row and of its value: no rope part, DeepSeek-V4's 448 + 64, smaller models, any.
WIDTHS = [(512, 512), (320, 256), (512, 448), (9, 7), (33, 33)]


@pytest.fixture()
def backend_is_put_back() -> Iterator[None]:
    yield
    mla.set_backend("cpu")


def narrow(step: Step, key: int) -> Step:
    """The same step with the first elements of each row."""
    return step._replace(q=step.q[..., :key].copy(), kv=step.kv[..., :key].copy(),
                         values=step.values[..., :key], cache=step.cache[:, :key])


def expected(step: Step, value: int) -> tuple[np.ndarray, np.ndarray]:
    found = []
    for r in range(len(step.last)):
        rows = step.values[step.qo_indptr[r]:step.qo_indptr[r + 1]]
        keys = np.repeat(step.keys(r)[:, None, :], step.values.shape[1], 1)
        found.append(att.dense(rows, keys, keys[..., :value], SCALE))
    return tuple(np.concatenate(part) for part in zip(*found, strict=True))


def stage_1(step: Step, value: int) -> np.ndarray:
    """One split of each request: the output, in float32."""
    rows, heads = step.q.shape[:2]
    split = np.full((rows, 1, heads, value), np.nan, np.float32)
    kernels.decode_stage1(
        step.q, step.kv, step.qo_indptr, step.kv_indptr, step.indices, step.last,
        np.arange(len(step.qo_indptr), dtype=np.int32), None, None, None, step.rows, step.page, 1,
        SCALE, split, np.full((rows, 1, heads, 1), np.nan, np.float32),
        np.zeros((rows, heads, value), np.uint16))
    return split[:, 0]


@pytest.mark.parametrize(("key", "value"), WIDTHS)
def test_the_reference_is_attention_and_stage_1_stays_within_its_bounds(key: int, value: int,
                                                                        ) -> None:
    step = narrow(make_step([70, 45], 2, 16, page=16), key)
    found = mla.reference(step.q, step.kv, step.qo_indptr, step.kv_indptr, step.indices, step.last,
                          SCALE, page_size=16, value_width=value)
    out, lse = expected(step, value)
    np.testing.assert_allclose(found.out, out, atol=1e-6)
    np.testing.assert_allclose(found.lse, lse, atol=1e-6)
    assert (np.abs(stage_1(step, value) - found.out) <= found.out_bound).all()


def test_a_value_that_is_no_part_of_a_row_is_refused_with_both_widths() -> None:
    step = narrow(make_step([9], 1, 16), 40)
    lists = (step.qo_indptr, step.kv_indptr, step.indices, step.last, SCALE)
    with pytest.raises(mla.TensorError, match="rows of 1 to 40 elements, as q has rows of 40, "
                                              "found 512"):
        mla.reference(step.q, step.kv, *lists)
    wide = np.zeros((1, 16, 577), np.uint16)
    with pytest.raises(mla.TensorError, match="q: expected rows of 1 to 576 elements, found 577"):
        mla.reference(wide, step.kv, *lists)


@pytest.mark.usefixtures("backend_is_put_back")
def test_our_hip_kernels_refuse_other_rows_with_their_width() -> None:
    mla.set_backend("hip", "emulated:gfx942")
    with pytest.raises(mla.UnsupportedError,
                       match=r"have rows of 512 \+ 64 built in, not 512 \+ 0"):
        stage_1(narrow(make_step([9], 1, 16), 512), 512)


def test_a_case_is_planned_and_judged_with_its_widths() -> None:
    case = "mla1:2q2s40;heads=16;cu=4;latent=448;value=512"
    assert mla.plan(case).scalars["latent"] == 448
    assert "latent" not in mla.plan("mla1:2q2s40;heads=16;cu=4").scalars
    verdict = mla.run(case, properties=["P12", "P45"])
    assert verdict.case.endswith(";latent=448;value=512")
    assert verdict.verdict == "pass"


def test_a_captured_step_has_the_widths_of_its_tensors(monkeypatch, tmp_path: pathlib.Path,
                                                       ) -> None:
    engine = Engine(monkeypatch, tmp_path, tensors=True)
    step = narrow(make_step([100, 70], 1, 16), 320)
    out = mla.reference(step.q, step.kv, step.qo_indptr, step.kv_indptr, step.indices, step.last,
                        SCALE, value_width=256).out.astype(np.float32)
    engine.kernel.update(q=step.q.view(Typed), kv_buffer=step.kv.view(Typed),
                         o=(out.view(np.uint32) >> 16).astype(np.uint16).view(Typed))
    engine.plans()
    folder = engine.launches()
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["latent"], manifest["rope"]) == (256, 64)
    assert mla.check(mla.Bundle.load(folder)).valid
    found = replayed(folder)
    assert "latent=256" in found.stdout
    assert "the engine's result: pass" in found.stdout
