"""Predicted times of cases and bundles, and bundles with a plan that is predicted to be faster."""

from __future__ import annotations

import json
import pathlib

import mla_testbed
import numpy as np
import pytest

RAGGED = "mla1:5q1s300_2q1s900_1q1s3k;arch=gfx950;dtype=fp8/fp8"


def test_the_terms_of_a_prediction_add_up_and_its_interval_holds_it() -> None:
    found = mla_testbed.predict(RAGGED)
    terms = (found.launch_us, found.stage1_us, found.imbalance_us, found.reduce_us)
    assert found.total_us == pytest.approx(sum(terms))
    assert 0 < found.roofline_us < found.low_us < found.total_us < found.high_us
    assert not found.fitted and "keys" in found.beyond
    assert found.better is None and found.better_bundle is None


def test_a_bundle_has_the_time_of_its_case_and_says_so_in_its_scalars() -> None:
    bundle = mla_testbed.plan(RAGGED)
    assert mla_testbed.predict(bundle) == mla_testbed.predict(RAGGED)
    assert bundle.scalars["predicted"]["total_us"] == mla_testbed.predict(RAGGED).total_us


def test_a_better_bundle_is_valid_and_predicted_to_be_faster(tmp_path: pathlib.Path) -> None:
    bundle = mla_testbed.plan(RAGGED)
    bundle.arrays["launch_work_indptr"] = bundle.arrays["work_indptr"]
    found = mla_testbed.predict(bundle, better=True)
    assert found.better is not None and found.better_bundle is not None
    assert found.better.total_us < found.total_us
    better = found.better_bundle
    assert mla_testbed.check(better).valid
    assert "launch_work_indptr" not in better.arrays
    assert mla_testbed.predict(better).total_us == found.better.total_us
    assert better.scalars["predicted"]["total_us"] == found.better.total_us
    assert better.arrays["work_info"].size == bundle.arrays["work_info"].size
    better.save(tmp_path / "better")
    loaded = mla_testbed.Bundle.load(tmp_path / "better")
    assert np.array_equal(loaded.arrays["work_info"], better.arrays["work_info"])
    assert mla_testbed.predict(loaded).total_us == found.better.total_us
    assert mla_testbed.predict(RAGGED, better=True).better == found.better


def test_tensors_stay_and_the_result_of_the_old_plan_goes() -> None:
    bundle = mla_testbed.plan(RAGGED)
    rows = 8
    bundle.arrays["q"] = np.zeros((rows, 16, 576), np.uint8)
    bundle.arrays["out"] = np.zeros((rows, 16, 512), np.uint16)
    better = mla_testbed.predict(bundle, better=True).better_bundle
    assert better is not None
    assert np.array_equal(better.arrays["q"], bundle.arrays["q"])
    assert "out" not in better.arrays


def test_where_no_better_plan_is_found_there_is_none() -> None:
    found = mla_testbed.predict("mla1:256q1s1k;arch=gfx950;dtype=fp8/fp8", better=True)
    assert found.fitted and found.better is None


def test_what_cannot_be_predicted_is_refused_with_the_reason() -> None:
    with pytest.raises(mla_testbed.UnsupportedError, match="no published times of gfx942"):
        mla_testbed.predict("mla1:1q1s9")
    with pytest.raises(mla_testbed.UnsupportedError, match="decode steps"):
        mla_testbed.predict("mla1:1q8s8;kind=fa")
    with pytest.raises(mla_testbed.UsageError, match="expected a case or a Bundle"):
        mla_testbed.predict(3)  # type: ignore[arg-type]
    with pytest.raises(mla_testbed.UsageError, match="better"):
        mla_testbed.predict(RAGGED, better=2)  # type: ignore[arg-type]
    bundle = mla_testbed.plan(RAGGED)
    bundle.arrays["work_info"][0] = 1
    with pytest.raises(mla_testbed.RefusedError, match="not valid"):
        mla_testbed.predict(bundle)


def test_a_planned_document_keeps_its_prediction_as_json() -> None:
    document = json.loads(mla_testbed.plan("mla1:1q1s9").document())
    assert document["predicted"]["none"].startswith("outside of the fitted range")
