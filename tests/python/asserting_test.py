"""assert_valid: what a test that fails says."""

from __future__ import annotations

import mla_testbed as mla
import numpy as np
import pytest

CASE = "mla1:1q4s900_1q1s513;heads=16;cu=4"


def message_of(bundle: mla.Bundle) -> list[str]:
    with pytest.raises(AssertionError) as caught:
        mla.assert_valid(bundle)
    return str(caught.value).splitlines()


def test_a_plan_of_our_planner_is_valid() -> None:
    mla.assert_valid(mla.plan(CASE))


def test_a_word_that_was_changed_stands_beside_the_planners() -> None:
    bundle = mla.plan(CASE)
    planned = int(bundle.buffers.work_info_set[1, 5])
    bundle.buffers.work_info_set[1, 5] -= 16
    lines = message_of(bundle)
    assert lines[0] == f"the plan of bundle '{bundle.name}' is not valid for its batch"
    assert "\n".join(lines[1:]).startswith(str(mla.check(bundle)) + "\n")
    assert lines[-3:] == [
        "words that differ from the planner's:",
        f"work_info_set[1, 5] (kv_end): - {planned}",
        f"work_info_set[1, 5] (kv_end): + {planned - 16}"]


def test_a_plan_of_many_other_words_ends_with_their_number() -> None:
    bundle = mla.plan(CASE)
    bundle.buffers.work_info_set[:, :6] = 7
    lines = message_of(bundle)
    start = lines.index("words that differ from the planner's:")
    shown = lines[start + 1:-1]
    planned = mla.plan(CASE).buffers.work_info_set
    differing = 2 * int((planned != bundle.buffers.work_info_set).sum())
    assert len(shown) == 20
    assert lines[-1] == f"and {differing - 20} more"


def test_a_list_that_planners_refuse_leaves_the_sentences_of_check_alone() -> None:
    bundle = mla.plan(CASE)
    bundle.arrays["seqlens_kv_indptr"] = np.array([0, 900, 1], np.int32)
    lines = message_of(bundle)
    assert lines[1:] == str(mla.check(bundle)).splitlines()


def test_what_is_no_plan_is_a_usage_error_and_no_failed_assertion() -> None:
    with pytest.raises(mla.UsageError, match="expected a Bundle"):
        mla.assert_valid(7)  # type: ignore[arg-type]
