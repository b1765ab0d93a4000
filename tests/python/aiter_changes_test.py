"""Two answers to one case: which changes are worse, which are of their own kind, what is told."""

import pytest

pytest.importorskip("torch", reason="AITER's suite needs torch, which is not installed")

from mla_testbed.aiter_cases import Failure, Judged  # noqa: E402
from mla_testbed.aiter_changes import Difference, Kind, differences, refused  # noqa: E402

PLAN = {"work_indptr": [0, 1, 2], "work_info_set": [0, -1, 0, 1]}
HOLDS = Judged({}, {}, PLAN)
FAILS = Judged({"P38": Failure("mla1:1q1s1", "out is wrong")}, {}, PLAN)
SKIPS = Judged({}, {"P38": "no request is long enough"}, PLAN)
OTHERS = Judged({}, {"P38": "no plan"}, PLAN)


@pytest.mark.parametrize("same", [HOLDS, FAILS, SKIPS])
def test_the_same_answers_are_no_change(same):
    assert differences(same, same) == []


def test_another_reason_is_no_change():
    assert differences(SKIPS, OTHERS) == []


# (before, after): what goes down in "fails, is not judged, holds" is worse, but for its middle.
CHANGES = [
    (HOLDS, FAILS, Kind.WORSE, "P38 fails: out is wrong", "P38"),
    (HOLDS, SKIPS, Kind.WORSE, "P38 held, and is not judged now: no request is long enough", ""),
    (SKIPS, FAILS, Kind.NEW_FAILURE,
     "P38 fails, and was not judged before (no request is long enough): out is wrong", "P38"),
    (FAILS, SKIPS, Kind.NOT_JUDGED, "P38 failed, and is not judged now: no request is long enough",
     ""),
    (FAILS, HOLDS, Kind.OTHER, "P38 holds, and did not", ""),
    (SKIPS, HOLDS, Kind.OTHER, "P38 holds, and was not judged", ""),
]


@pytest.mark.parametrize(("before", "after", "kind", "what", "name"), CHANGES)
def test_each_change_has_its_kind_and_sentence(before, after, kind, what, name):
    assert differences(before, after) == [Difference(kind, what, name)]


def test_what_is_worse_is_red_and_so_is_a_new_failure():
    assert [kind for kind in Kind if kind.worse] == [Kind.WORSE, Kind.NEW_FAILURE]


def test_each_property_is_told_by_itself():
    failures = {name: Failure("a", "b") for name in ("P38", "P09")}
    before = Judged(failures, {"P31": "no kernel"}, PLAN)
    after = Judged({"P31": Failure("a", "race")}, {"P38": "too short", "P05": "refused"}, PLAN)
    assert [(one.kind, one.what.split()[0]) for one in differences(before, after)] == [
        (Kind.WORSE, "P05"), (Kind.OTHER, "P09"), (Kind.NEW_FAILURE, "P31"),
        (Kind.NOT_JUDGED, "P38")]


def test_of_failures_with_one_message_the_first_is_made_smaller():
    same, other = Failure("a", "does not compile"), Failure("a", "race")
    after = Judged({"P01": same, "P02": other, "P03": same, "P04": same}, {}, PLAN)
    for before in (HOLDS, Judged({}, {"P03": "no kernel"}, PLAN)):
        assert [one.name for one in differences(before, after)] == ["P01", "P02", "", ""]
    known = Judged({"P01": same}, {}, PLAN)
    assert [one.name for one in differences(known, after)] == ["P02", "P03", ""]
    silent = Judged({"P01": Failure("a", ""), "P02": Failure("a", "")}, {}, PLAN)
    assert [one.name for one in differences(HOLDS, silent)] == ["P01", "P02"]


def test_a_case_is_refused_by_its_own_step_and_not_by_its_variations():
    assert refused(SKIPS) == ""
    assert refused(HOLDS) == ""
    assert refused(Judged({}, {"P38": "too short", "P05": "AITER: nhead=17"}, {})) == (
        "AITER: nhead=17")


def test_another_plan_is_told_by_its_first_word_and_is_not_worse():
    other = Judged({}, {}, {**PLAN, "work_info_set": [0, -1, 3, 4]})
    assert differences(HOLDS, other) == [
        Difference(Kind.OTHER, "another plan: work_info_set[2] is 3, was 0 (2 of 4 differ)")]
    longer = Judged({}, {}, {**PLAN, "work_indptr": [0, 1]})
    assert differences(HOLDS, longer)[0].what == \
        "another plan: work_indptr has 2 words, of 3 before"


def test_a_plan_that_is_not_made_any_more_is_worse():
    none = Judged({}, {}, {}, "error: planted")
    assert differences(HOLDS, none) == [
        Difference(Kind.WORSE, "no plan: error: planted")]
    assert differences(none, HOLDS) == [
        Difference(Kind.OTHER, "is planned, and was not: error: planted")]
