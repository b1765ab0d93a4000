"""`check` sees the tensors of a bundle, as the command does."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
from typing import Any

import mla_testbed as mla
import numpy as np
import pytest

CASE = "mla1:2q2s90;heads=16;cu=4"
ROWS, HEADS = 4, 16


def step(**tensors: Any) -> mla.Bundle:
    bundle = mla.plan(CASE)
    bundle.scalars.pop("decisions", None)  # of a plan of ours
    bundle.arrays["kv_indices"] = np.arange(1, 181, dtype=np.int32)
    bundle.arrays.update(tensors)
    return bundle


def of_the_command(bundle: mla.Bundle, folder: pathlib.Path) -> dict[str, Any]:
    bundle.save(folder)
    run = subprocess.run([os.environ["MLA_TESTBED_COMMAND"], "check", "--json", str(folder)],
                         capture_output=True, text=True, check=False)
    assert run.returncode in (0, 1), run.stderr
    return json.loads(run.stdout)["plans"][0]


TENSORS = {
    "none": {},
    "the rows of the batch": {"q": np.zeros((ROWS, HEADS, 576), np.uint16)},
    "a row too few in Q": {"q": np.zeros((ROWS - 1, HEADS, 576), np.uint16)},
    "a row more in Q": {"q": np.zeros((ROWS + 1, HEADS, 576), np.uint16)},
    "other heads in the output": {"out": np.zeros((ROWS, HEADS // 2, 512), np.uint16)},
    "a row too few in the LSE": {"lse": np.zeros((ROWS - 1, HEADS), np.float32)},
    "rows in the order of Fortran": {"q": np.asfortranarray(
        np.zeros((ROWS - 1, HEADS, 576), np.uint16))},
    "a cache that ends before the last page id": {"kv_cache": np.zeros((8, 1, 576), np.uint16)},
    "pages that the dump does not hold": {"kv_cache": np.zeros((2, 1, 576), np.uint16),
                                          "kv_cache_pages": np.array([1, 2], np.int64)},
    "an output of float64": {"out": np.zeros((ROWS + 2, HEADS, 512))},
}


@pytest.mark.parametrize("name", TENSORS)
def test_the_package_finds_in_a_bundle_what_the_command_finds(
        name: str, tmp_path: pathlib.Path) -> None:
    bundle = step(**TENSORS[name])
    answer = mla.check(bundle)
    theirs = of_the_command(bundle, tmp_path / "bundle")
    assert [v._asdict() for v in answer.violations] == theirs["violations"]
    assert list(answer.notes) == theirs.get("notes", [])
    assert answer.diagnosis == theirs.get("diagnosis", "")


def test_q_without_a_row_of_the_batch_is_a_violation_and_one_more_a_note() -> None:
    few = mla.check(step(q=np.zeros((ROWS - 1, HEADS, 576), np.uint16)))
    assert [v.what for v in few.violations] == ["q has 3 rows, seqlens_qo_indptr is for 4"]
    more = mla.check(step(q=np.zeros((ROWS + 1, HEADS, 576), np.uint16)))
    assert more.valid
    assert any("q has 5 rows, seqlens_qo_indptr is for 4" in note for note in more.notes)


def test_a_page_id_beyond_a_cache_that_was_dumped_whole_is_a_violation() -> None:
    assert mla.check(step(kv_cache=np.zeros((181, 1, 576), np.uint16))).valid
    answer = mla.check(step(kv_cache=np.zeros((180, 1, 576), np.uint16)))
    assert any("180" in v.what for v in answer.violations)


@pytest.mark.parametrize("array", [np.zeros(4, np.complex64), np.array(["a"])])
def test_a_tensor_that_has_no_numbers_is_refused_by_name_and_dtype(array: Any) -> None:
    with pytest.raises(mla.UsageError, match=f"array 'q' of bundle .* is of {array.dtype}"):
        mla.check(step(q=array))
