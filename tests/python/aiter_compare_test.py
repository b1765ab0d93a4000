"""Two commits beside each other: what counts as a change, what is worse, how it is told."""

import dataclasses
import os
import pathlib
import subprocess

import pytest

pytest.importorskip("torch", reason="AITER's suite needs torch, which is not installed")

from mla_testbed import (  # noqa: E402
    aiter_cases,
    aiter_compare,
    aiter_comparison,
    aiter_kept,
    aiter_report,
    aiter_script,
)
from mla_testbed.aiter_cases import Failure, Judged  # noqa: E402
from mla_testbed.aiter_changes import Kind  # noqa: E402
from mla_testbed.aiter_history import Commit, commit_of  # noqa: E402

PLAN = {"work_indptr": [0, 1, 2], "work_info_set": [0, -1, 0, 1]}
HOLDS = Judged({}, {}, PLAN)
FAILS = Judged({"P05": Failure("mla1:1q1s1", "out is wrong")}, {}, PLAN)
REFUSES = Judged({}, {"P05": "AITER: nhead=17"}, PLAN)


def test_a_case_whose_step_is_refused_is_refused_and_one_that_fails_elsewhere_fails():
    verdict_of, too_short = aiter_cases.verdict_of, Judged({}, {"P38": "no key"}, {})
    assert verdict_of(HOLDS).verdict == "pass"
    assert verdict_of(too_short).verdict == "pass"
    assert verdict_of(too_short, True).verdict == "refused"
    no = Judged({}, {"P05": "no"}, {})
    assert verdict_of(no) == aiter_cases.Verdict("refused", "no")
    assert verdict_of(dataclasses.replace(no, failures=FAILS.failures)).verdict == "fail"


def test_a_case_that_may_have_an_answer_another_time_is_inconclusive_and_not_refused():
    full = Judged({}, {"P05": "not enough memory"}, {}, "", ["P05"])
    assert aiter_cases.verdict_of(full) == aiter_cases.Verdict("inconclusive", "not enough memory")
    assert aiter_cases.verdict_of(dataclasses.replace(full, inconclusive=["P31"])).verdict == \
        "refused"


def verdict(name, word, message=""):
    return {"id": name, "name": name.lower(), "verdict": word, "message": message}


def test_of_each_case_is_told_what_fails_and_what_is_not_judged(monkeypatch, tmp_path):
    asked = []

    def replayed(_, arch, case, words, timeout):
        asked.append((arch, case, *words, timeout))
        return [verdict("P01", "pass"), verdict("P22", "not-applicable", "of prefill"),
                verdict("P05", "skip", "refused"), verdict("P41", "inconclusive", "time-out"),
                verdict("P04", "fail", f"wrong on {case}")]

    monkeypatch.setattr(aiter_cases, "replayed", replayed)
    monkeypatch.setattr(aiter_cases, "planned", lambda *_: (PLAN, ""))
    found = aiter_cases.judge_tree(tmp_path, "gfx950", ["a", "b"])
    # What failed on "a" is asked again on "b".
    assert found == {case: Judged({"P04": Failure(case, f"wrong on {case}")},
                                  {"P05": "refused", "P41": "time-out"}, PLAN, "", ["P41"])
                     for case in "ab"}
    assert sorted(asked) == [("gfx950", "a", None), ("gfx950", "b", None)]


FAKE_TREE = pathlib.Path(__file__).parents[1] / "hip_backend/aiter_tree/fake_tree.py"
STEP = "mla1:1q1s9_1q1s5;heads=16;cu=4;arch=gfx942;planner="


@pytest.mark.parametrize(("how", "planner", "first", "why"), [
    ("right", "v12", [0, 1, 2, 2, 2], ""), ("right", "none", None, ""),
    ("refuses", "v12", None, "AITER: AssertionError: nhead=17 (mla.py:9)"),
    ("faults", "v12", None, "module_mla_asm: out-of-bounds"),
    ("checks", "v12", None, "AITER: asm_mla.cu:9 no kernel for nhead=17 (it ends its process)")])
def test_a_plan_is_what_the_command_says_of_a_tree_or_why_there_is_none(
        monkeypatch, tmp_path, how, planner, first, why):
    monkeypatch.setenv("MLA_TESTBED_PYTHON", str(FAKE_TREE))
    (tmp_path / how).mkdir()
    lists, said = aiter_cases.planned(tmp_path / how, STEP + planner)
    assert lists.get("work_indptr") == first
    assert said == why
    if first is not None:
        assert list(lists) == list(aiter_script.LISTS)
        assert lists["work_info_set"][:8] == [0, -1, 0, 1, 0, 9, 0, 0]


def test_of_a_prefill_step_it_is_that_of_its_new_tokens_and_a_flash_step_has_none(
        monkeypatch, tmp_path):
    monkeypatch.setenv("MLA_TESTBED_PYTHON", str(FAKE_TREE))
    (tmp_path / "right").mkdir()
    step = "mla1:1q9s9;heads=2;cu=32;kind=prefill;arch=gfx950;dtype=bf16/"
    lists, said = aiter_cases.planned(tmp_path / "right", f"{step}fp8")
    assert (lists["work_indptr"][:2], lists["work_info_set"][:8]) == (
        [0, 16], [0, -1, 0, 9, 0, 9, 0, 1 << 16])
    assert said == ""
    assert aiter_cases.planned(tmp_path / "right", f"{step}bf16") == ({}, "")


@pytest.mark.parametrize("line", ["mla1:1q1s9", "mla1:1q9s9;kind=prefill",
                                  "mla1:1q9s9;block=16;kind=fa"])
def test_a_case_with_all_its_fields_is_of_one_architecture(line):
    full = aiter_cases.full_case(line, "gfx950")
    assert full is not None
    assert "arch=gfx950" in full.split(";")
    assert aiter_cases.full_case(f"{line};arch=gfx942", "gfx950") is None


COMMIT = Commit("0123456789abcdef", "2026-08-22", "title")
CHANGE = aiter_comparison.Change("gfx942", "mla1:1q1s1", "P05 fails: a|b", Kind.WORSE)


def comparison(files=(), unread=(), cases=8, changes=(), refused=()):
    return aiter_comparison.Comparison(COMMIT, COMMIT, list(files), list(unread), cases,
                                       list(changes), list(refused), "")


def test_a_report_has_the_changes():
    found = comparison(["aiter/mla.py"], changes=[CHANGE])
    assert found.worse
    assert found.judged
    assert "\nWORSE gfx942 mla1:1q1s1\n  P05 fails: a|b\n" in found.text()
    assert found.text().endswith("\n8 cases on each side, 1 answers changed, 1 for the worse")
    assert "8 cases on each side, 1 answers changed, 1 for the worse." in found.markdown()
    assert "| **worse** | gfx942 | `mla1:1q1s1` | P05 fails: a\\|b |" in found.markdown()
    assert "NOT JUDGED" not in found.text() + found.markdown()
    assert not comparison().worse


def test_what_was_not_judged_before_or_is_not_judged_now_is_told_and_counted():
    kinds = (Kind.OTHER, Kind.NEW_FAILURE, Kind.NOT_JUDGED, Kind.NOT_JUDGED)
    changes = [dataclasses.replace(CHANGE, kind=kind) for kind in kinds]
    found = comparison(["aiter/mla.py"], changes=changes)
    assert found.worse
    counts = ("4 answers changed, 1 for the worse, 1 not judged before, 2 failed and not judged "
              "now")
    for told in (found.text(), found.markdown()):
        assert f"8 cases on each side, {counts}" in told
    assert "\nNEW FAILURE gfx942 mla1:1q1s1\n" in found.text()
    assert "\nNOT JUDGED gfx942 mla1:1q1s1\n" in found.text()
    assert "| **new failure** | gfx942 |" in found.markdown()
    assert "| not judged | gfx942 |" in found.markdown()
    assert not comparison(changes=changes[2:]).worse


def refused(case, lost):
    return aiter_comparison.Refused("gfx942", case, "AITER: nhead=17", lost)


def test_a_comparison_of_cases_that_are_refused_is_no_judgement():
    one, lost = refused("mla1:1q1s1", lost=False), refused("mla1:1q1s2", lost=True)
    some = comparison(["aiter/mla.py"], cases=2, refused=[one])
    assert some.judged
    both = comparison(["aiter/mla.py"], cases=2, refused=[one, one])
    assert not both.judged
    assert comparison(cases=1, refused=[one]).judged  # nothing differs
    for files in ([], ["aiter/mla.py"]):
        assert not comparison(files, cases=8, refused=[lost]).judged
    for told in (some.text(), some.markdown()):
        assert "NOT JUDGED: both commits refuse mla1:1q1s1: AITER: nhead=17" in told
    assert ("NOT JUDGED: the head alone refuses mla1:1q1s2: AITER: nhead=17"
            in comparison(refused=[lost]).text())


@pytest.mark.parametrize(("file", "counts"), [
    ("csrc/kernels/cache_kernels.cu", True), ("csrc/pybind/cache_pybind.cu", True),
    ("csrc/include/ps.h", True), ("csrc/pybind/ps_metadata_pybind.cu", True),
    ("csrc/kernels/mla/metadata/v1_2_host.cuh", True), ("csrc/kernels/gemm.cu", False)])
def test_what_a_case_may_depend_on_and_what_fills_the_cache_are_files_of_the_mla(
        clone, monkeypatch, file, counts):
    (clone / file).parent.mkdir(parents=True, exist_ok=True)
    (clone / file).write_text("changed")
    for words in (("add", "."), ("commit", "-qm", "four")):
        subprocess.run(["git", "-C", clone, "-c", "user.name=a", "-c", "user.email=a@b", *words],
                       check=True)
    monkeypatch.setattr(aiter_compare, "judge_tree", lambda *_: {})
    found = aiter_compare.compare(clone, commit_of(clone, "three"), commit_of(clone, "HEAD"), {})
    assert found.files == found.unread == ([file] if counts else [])
    assert found.judged == (not counts)


def test_files_that_no_case_uses_are_named_and_nothing_was_judged_if_they_are_all():
    both = ["aiter/mla.py", "csrc/kernels/mla/new.cu"]
    some = comparison(both, both[1:])
    assert some.judged
    for told in (some.text(), some.markdown()):
        assert "NOT JUDGED: no case uses csrc/kernels/mla/new.cu" in told
    assert not comparison(both[1:], both[1:]).judged
    assert comparison().judged


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A clone of three commits: Python, a kernel that no case uses, Python again."""
    monkeypatch.setenv("MLA_TESTBED_CACHE", str(tmp_path / "cache"))
    place = tmp_path / "clone"
    place.mkdir()

    def git(*words):
        subprocess.run(["git", "-C", place, "-c", "user.name=a", "-c", "user.email=a@b", *words],
                       check=True, stdout=subprocess.DEVNULL)

    git("init", "-q", "-b", "main")
    for name, file, text in (("one", "aiter/mla.py", "1"), ("two", "csrc/kernels/mla/new.cu", "2"),
                             ("three", "aiter/mla.py", "3")):
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        (place / file).write_text(text)
        git("add", ".")
        git("commit", "-q", "-m", name)
        git("tag", name)
    return place


def tell(*names):
    (pathlib.Path(os.environ["MLA_TESTBED_READ"]) / "1").write_text("\n".join(names))


def test_only_what_was_used_is_judged_again_and_what_was_not_is_named(clone, monkeypatch):
    asked = []

    def judge(tree, arch, cases):
        asked.append(((tree / "aiter/mla.py").read_text(), arch))
        tell("aiter/mla.py", "made/by/the/build.cpp")
        return {case: FAILS if asked[-1][0] == "3" else HOLDS for case in cases}

    monkeypatch.setattr(aiter_compare, "judge_tree", judge)
    monkeypatch.setattr(aiter_compare, "smallest", lambda *_: "mla1:1q1s1")
    monkeypatch.setattr(aiter_compare, "full_case", lambda line, _: line)
    one, two, three = (commit_of(clone, name) for name in ("one", "two", "three"))
    for _ in range(2):
        same = aiter_compare.compare(clone, one, two, {"gfx942": ("mla1:1q1s1",)})
        assert (same.changes, same.files, same.unread, same.judged) == (
            [], ["csrc/kernels/mla/new.cu"], ["csrc/kernels/mla/new.cu"], False)
        other = aiter_compare.compare(clone, two, three, {"gfx942": ("mla1:1q1s1",)})
        assert [change.what for change in other.changes] == ["P05 fails: out is wrong"]
        assert (other.files, other.unread, other.judged) == (["aiter/mla.py"], [], True)
    assert asked == [("1", "gfx942"), ("3", "gfx942")]
    assert "MLA_TESTBED_READ" not in os.environ


@pytest.mark.parametrize(("over_base", "over_head", "lost", "judged"), [
    (FAILS, REFUSES, [True], False), (REFUSES, REFUSES, [False], False),
    (REFUSES, HOLDS, [], True), (FAILS, HOLDS, [], True)])
def test_a_case_that_the_head_refuses_is_lost_if_the_base_takes_it(
        clone, monkeypatch, over_base, over_head, lost, judged):
    def judge(tree, _, cases):
        tell("aiter/mla.py")
        over = over_head if (tree / "aiter/mla.py").read_text() == "3" else over_base
        return dict.fromkeys(cases, over)

    monkeypatch.setattr(aiter_compare, "judge_tree", judge)
    monkeypatch.setattr(aiter_compare, "full_case", lambda line, _: line)
    found = aiter_compare.compare(clone, commit_of(clone, "two"), commit_of(clone, "three"),
                                  {"gfx942": ("large",)})
    assert [(one.arch, one.case, one.why, one.lost) for one in found.refused] == [
        ("gfx942", "large", "AITER: nhead=17", was) for was in lost]
    assert (found.judged, found.worse) == (judged, False)


@pytest.mark.parametrize(("over_base", "shown"), [("pass", "small"), ("fail", "large")])
def test_the_smallest_case_is_shown_unless_it_fails_over_the_base_too(
        clone, monkeypatch, over_base, shown):
    monkeypatch.setattr(aiter_compare, "judge_tree", lambda tree, _, cases: {
        case: FAILS if (tree / "aiter/mla.py").read_text() == "3" else HOLDS for case in cases})
    monkeypatch.setattr(aiter_compare, "smallest", lambda *_: "small")
    monkeypatch.setattr(aiter_compare, "replayed", lambda *_: [verdict("P05", over_base)])
    monkeypatch.setattr(aiter_compare, "full_case", lambda line, _: line)
    found = aiter_compare.compare(clone, commit_of(clone, "two"), commit_of(clone, "three"),
                                  {"gfx942": ("large",)})
    assert [change.case for change in found.changes] == [shown]


def test_an_answer_holds_for_this_judge_and_what_was_used(clone, monkeypatch):
    kept, one = aiter_kept.Kept(clone), commit_of(clone, "one")
    made = []

    def make():
        tell("aiter/mla.py")
        made.append(len(made))
        return str(made[-1])

    assert [kept.ask(one, "gfx942", ["x"], make) for _ in range(2)] == [("0", {"aiter/mla.py"})] * 2
    monkeypatch.setattr(aiter_kept, "judge", lambda: "another")
    assert kept.ask(one, "gfx942", ["x"], make)[0] == "1"
    assert kept.ask(one, "gfx950", ["x"], make)[0] == "2"
    assert kept.ask(one, "gfx942", ["y"], make)[0] == "3"


def test_an_answer_for_which_nothing_was_used_is_not_kept(clone):
    kept = aiter_kept.Kept(clone)
    said = iter("ab")
    for name, expected in (("one", "a"), ("three", "b")):
        assert kept.ask(commit_of(clone, name), "gfx942", ["x"], lambda: next(said)) == (
            expected, set())


CALL = {"name": "mla1:full", "arch": "gfx950", "num_cu": 8, "decisions": {
    "route": "persistent", "kernel": "a16w16 qh16"}, "seqlens_qo_indptr": [0, 2, 4, 5],
    "seqlens_kv_indptr": [0, 3, 6, 6], "kv_last_page_lens": [7, 7, 0], "page_size": 16,
    "num_heads_per_head_k": 16, "dtype_q": "bf16", "dtype_kv": "fp8", "is_causal": True}
NAMED = "missing-wait: wave 0 at K+0x1fc4 `v_mul_u32_u24 v18, v11, v9`, address 0x0: v11 is read"


def test_a_report_has_shape_version_verdicts_instruction_word_and_script(monkeypatch, tmp_path):
    asked = []

    def replayed(tree, arch, case, words=()):
        asked.append((tree.name, arch, case, list(words)))
        return [verdict("P05", "fail", NAMED if words else "out|is wrong"), verdict("P01", "pass"),
                verdict("P22", "not-applicable"), verdict("P04", "pass")]

    plans = {"base": {**PLAN, "work_indptr": [0, 2, 2]}, "head": PLAN}
    monkeypatch.setattr(aiter_report, "replayed", replayed)
    monkeypatch.setattr(aiter_report, "planned", lambda tree, *_: (plans[tree.name], ""))
    monkeypatch.setattr(aiter_report, "script", lambda _, lists, commit, title: (
        f"{title} {commit} {lists['work_indptr']}\n"))
    found = aiter_report.show(tmp_path / "head", COMMIT, CALL, tmp_path / "base")
    assert asked == [("head", "gfx950", "mla1:full", []),
                     ("head", "gfx950", "mla1:full", ["--checks", "--property", "P05"])]
    shape = "2 requests with 2 rows and 39 keys, 1 request with 1 row and 0 keys"
    page = found.markdown()
    assert page.startswith(f"### MLA decode with a plan is wrong on gfx950: {shape}, 16 heads, "
                           "bf16/fp8\n\nAITER `0123456789abcdef` (2026-08-22, title), gfx950 (MI3")
    assert "| P05 p05 | fail | out\\|is wrong |\n| 2 others | pass | |\n" in page
    assert "\n    K+0x1fc4: v_mul_u32_u24 v18, v11, v9\n" in page
    assert "the base: work_indptr[1] is 1, was 2 (1 of 3 differ)\n" in page
    assert (f"```python\nMLA decode of {shape}, 16 heads, bf16/fp8. 0123456789 [0, 1, 2]\n```"
            in page)
    assert found.wrong


def test_a_report_of_a_case_that_holds_or_has_no_script_says_so(monkeypatch, tmp_path):
    def no_script(*_):
        raise aiter_cases.UsageError("rope has no counterpart")

    monkeypatch.setattr(aiter_report, "replayed", lambda *_: [verdict("P05", "pass")])
    monkeypatch.setattr(aiter_report, "planned", lambda *_: (PLAN, ""))
    monkeypatch.setattr(aiter_report, "script", no_script)
    found = aiter_report.show(tmp_path, COMMIT, CALL)
    assert not found.wrong
    assert "### MLA decode with a plan holds on gfx950" in found.markdown()
    assert "rope has no counterpart" in found.markdown()
    assert "```python" not in found.markdown()
