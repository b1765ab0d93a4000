"""Two commits beside each other: what counts as a change, what is worse, how it is told."""

import pytest

pytest.importorskip("torch", reason="AITER's suite needs torch, which is not installed")

from mla_testbed import aiter_cases, aiter_command, aiter_compare  # noqa: E402
from mla_testbed.aiter_cases import Failure, Judged  # noqa: E402
from mla_testbed.aiter_history import Commit  # noqa: E402

PLAN = {"work_indptr": [0, 1, 2], "work_info_set": [0, -1, 0, 1]}
HOLDS = Judged({}, {}, PLAN)
FAILS = Judged({"P05": Failure("mla1:1q1s1", "out is wrong")}, {}, PLAN)
SKIPS = Judged({}, {"P05": "AITER: nhead=17"}, PLAN)


def test_the_same_answers_are_no_change():
    assert aiter_compare.differences(FAILS, FAILS) == []
    assert aiter_compare.differences(HOLDS, HOLDS) == []


def test_a_property_that_fails_now_is_worse_and_shown_by_its_smallest_case():
    assert aiter_compare.differences(HOLDS, FAILS) == [
        ("P05 fails: out is wrong", True, "mla1:1q1s1")]
    assert aiter_compare.differences(FAILS, HOLDS) == [("P05 holds, and did not", False, "")]


def test_a_property_that_is_not_judged_any_more_is_worse_also_where_it_failed():
    for before in (HOLDS, FAILS):
        assert aiter_compare.differences(before, SKIPS) == [
            ("P05 is not judged: AITER: nhead=17", True, "")]
    assert aiter_compare.differences(SKIPS, SKIPS) == []
    assert aiter_compare.differences(SKIPS, HOLDS) == [("P05 holds, and was not judged", False, "")]


def test_a_case_whose_step_is_refused_is_refused_and_one_that_fails_elsewhere_fails():
    assert aiter_cases.verdict_of({}, {}).verdict == "pass"
    assert aiter_cases.verdict_of({}, {"P38": "no key"}).verdict == "pass"
    assert aiter_cases.verdict_of({}, {"P05": "no"}) == aiter_cases.Verdict("refused", "no")
    assert aiter_cases.verdict_of(FAILS.failures, {"P05": "no"}).verdict == "fail"


REPORT = {"backends": [{"properties": [{"id": "P04"}, {"id": "P05"}, {"id": "P00"}], "failures": [
    {"property": "P04", "case": "small", "original": "b", "message": "wrong"},
    {"property": "P00", "case": "b", "message": "canary"}]}]}


def test_a_report_and_its_record_say_of_each_case_what_fails_and_what_is_skipped():
    record = {"texts": ["refused", "says nothing"], "backends": [{"cases": [
        {"i": 0, "v": "psn", "m": [[1, 0], [2, 1]]}, {"i": 1, "v": "fpf", "m": []}]}]}
    assert aiter_cases.read_answers(REPORT, record, ["a", "b"]) == {
        "a": ({}, {"P05": "refused"}), "b": ({"P04": Failure("small", "wrong")}, {})}


def test_a_run_that_left_out_a_case_is_no_answer():
    record = {"texts": [], "backends": [{"cases": [{"i": 0, "v": "ppp", "m": []}]}]}
    with pytest.raises(aiter_cases.UsageError, match="1 of 2 cases were judged"):
        aiter_cases.read_answers(REPORT, record, ["a", "b"])


def test_another_plan_is_told_by_its_first_word_and_is_not_worse():
    other = Judged({}, {}, {**PLAN, "work_info_set": [0, -1, 3, 4]})
    assert aiter_compare.differences(HOLDS, other) == [
        ("another plan: work_info_set[2] is 3, was 0 (2 of 4 differ)", False, "")]
    longer = Judged({}, {}, {**PLAN, "work_indptr": [0, 1]})
    assert aiter_compare.differences(HOLDS, longer)[0][0] == \
        "another plan: work_indptr has 2 words, of 3 before"


def test_a_plan_that_is_not_made_any_more_is_worse():
    none = Judged({}, {}, {}, "error: planted")
    assert aiter_compare.differences(HOLDS, none) == [("no plan: error: planted", True, "")]
    assert aiter_compare.differences(none, HOLDS)[0][1] is False


def test_a_report_has_the_changes_and_the_line_that_shows_the_first():
    commit = Commit("0123456789abcdef", "2026-08-22", "title", "key")
    change = aiter_compare.Change("gfx942", "mla1:1q1s1", "P05 fails: a|b", True)
    found = aiter_compare.Comparison(commit, commit, ["aiter/mla.py"], 8, [change])
    assert found.worse
    assert "8 cases on each side, 1 answers changed, 1 for the worse" in found.text()
    page = found.markdown()
    assert "| **worse** | gfx942 | `mla1:1q1s1` | P05 fails: a\\|b |" in page
    assert "mla-testbed replay 'mla1:1q1s1' --backend aiter --device emulated:gfx942" in page
    assert not aiter_compare.Comparison(commit, commit, [], 8, []).worse


def run(capsys, *words):
    code = aiter_command.main(words)
    return code, capsys.readouterr().err


def test_what_is_missing_or_asked_wrongly_is_one_sentence(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv("AITER_SRC", raising=False)
    assert run(capsys, "judge", "--rev", "A..B") == (
        3, "mla-testbed aiter: --aiter or AITER_SRC names a git clone of AITER\n")
    place = ("--aiter", str(tmp_path))
    code, error = run(capsys, "bisect", "--good", "A", "--bad", "B", *place)
    assert (code, error) == (2, "mla-testbed aiter: bisect takes a case or --test NAME\n")
    code, error = run(capsys, "judge", "--rev", "A..B", "--test", "none", *place)
    assert code == 2
    assert "no test 'none'" in error
    code, error = run(capsys, "compare", "--base", "A", "--head", "B", *place)
    assert code == 3
    assert "git log" in error
    empty = tmp_path / "cases.txt"
    empty.write_text("# nothing\n")
    code, error = run(capsys, "compare", "--base", "A", "--head", "B", "--cases", str(empty),
                      *place)
    assert (code, error) == (2, f"mla-testbed aiter: '{empty}' has no case\n")


def test_what_was_said_of_the_same_files_is_not_asked_again(tmp_path, monkeypatch):
    monkeypatch.setenv("MLA_TESTBED_CACHE", str(tmp_path / "cache"))
    asked = []

    def judge(tree, arch, cases):
        asked.append((tree.name, arch))
        return {case: FAILS if tree.name == "head" else HOLDS for case in cases}

    monkeypatch.setattr(aiter_compare, "judge_tree", judge)
    monkeypatch.setattr(aiter_compare, "take_out", lambda *_: None)
    monkeypatch.setattr(aiter_compare, "git", lambda *_: "aiter/mla.py\n")
    monkeypatch.setattr(aiter_compare, "full_case", lambda line, _: line)
    base, head = (Commit(name, "2026-08-22", name, f"key {name}") for name in ("base", "head"))
    for _ in range(2):
        found = aiter_compare.compare(tmp_path, base, head, {"gfx942": ("mla1:1q1s1",)})
        assert [change.what for change in found.changes] == ["P05 fails: out is wrong"]
        assert found.files == ["aiter/mla.py"]
    assert asked == [("base", "gfx942"), ("head", "gfx942")]
