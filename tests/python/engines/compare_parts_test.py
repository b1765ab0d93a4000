"""The parts of mla-testbed-engines compare: the rule, lines that ran, words, trees."""

import importlib.util
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch", reason="aiter compare, which this shares, needs torch")

from mla_testbed import module_use  # noqa: E402
from mla_testbed.aiter_changes import Kind  # noqa: E402
from mla_testbed.aiter_comparison import Refused  # noqa: E402
from mla_testbed.aiter_history import Commit, commit_of  # noqa: E402
from mla_testbed.bundle import Bundle  # noqa: E402
from mla_testbed.engines import Built  # noqa: E402
from mla_testbed.engines.client import (  # noqa: E402
    EngineMissing,
    Setting,
    Tree,
    Worker,
)
from mla_testbed.engines.compare import trees  # noqa: E402
from mla_testbed.engines.compare.command import exit_code  # noqa: E402
from mla_testbed.engines.compare.comparison import (  # noqa: E402
    EngineChange,
    EngineComparison,
)
from mla_testbed.engines.compare.lines import unrun  # noqa: E402
from mla_testbed.engines.compare.told import changed  # noqa: E402
from mla_testbed.engines.findings import (  # noqa: E402
    FAIL,
    INCONCLUSIVE,
    PASS,
    REFUSED,
    Finding,
    Judgement,
)
from mla_testbed.engines.kind import MOST_WORDS, words_of  # noqa: E402
from mla_testbed.engines.kinds import KINDS  # noqa: E402
from mla_testbed.planning import POISON  # noqa: E402

FACTS = {"arch": "gfx942"}


def judged(verdict, *failing, **more):
    findings = tuple(Finding(name, 0, f"{name} is wrong") for name in failing)
    return Judgement("mla1:1q1s1", verdict, findings, facts=FACTS, **more)


HOLDS, TOO_LATE = judged(PASS), judged(INCONCLUSIVE, reason="took longer than 1 s")
NO = judged(REFUSED, reason="no such heads")


@pytest.mark.parametrize(("before", "after", "told"), [
    (HOLDS, HOLDS, []), (NO, NO, []), (NO, TOO_LATE, []),
    (judged(FAIL, "P01"), judged(FAIL, "P01"), []),
    (HOLDS, judged(FAIL, "P01"), [(Kind.WORSE, "P01 fails: step 0: P01 is wrong")]),
    (judged(FAIL, "P01"), HOLDS, [(Kind.OTHER, "P01 holds, and did not")]),
    (HOLDS, NO, [(Kind.WORSE, "the case held, and is not judged now: refused: no such heads")]),
    (NO, HOLDS, [(Kind.OTHER, "the case holds, and was not judged")]),
    (judged(FAIL, "P01"), TOO_LATE, [
        (Kind.NOT_JUDGED, "P01 failed, and is not judged now: inconclusive: took longer than 1 s")]
     ),
    (NO, judged(FAIL, "P05"), [
        (Kind.NEW_FAILURE, "P05 fails, and was not judged before (refused: no such heads): step 0: "
         "P05 is wrong")]),
    # The judge stops at the first property that fails: the others were not asked.
    (judged(FAIL, "P01"), judged(FAIL, "P05"), [
        (Kind.NOT_JUDGED, "P01 failed, and is not judged now: P05 fails, and ends the case"),
        (Kind.NEW_FAILURE, "P05 fails, and was not judged before (P01 fails, and ends the case): "
         "step 0: P05 is wrong")]),
    (judged(PASS, attended=1), HOLDS, [
        (Kind.WORSE, "P05 held, and is not judged now: nothing of the case is attended")]),
    (HOLDS, judged(PASS, attended=2), [(Kind.OTHER, "P05 holds, and was not judged")])])
def test_of_two_judgements_is_told_what_changed(before, after, told):
    assert [(one.kind, one.what) for one in changed(before, after)] == told


def test_words_are_compared_in_the_steps_that_both_came_to():
    two = {"step 0: a": [1], "step 1: a": [2]}
    assert changed(judged(PASS, words=two), judged(PASS, words=two)) == []
    found = changed(judged(PASS, words=two), judged(PASS, words={**two, "step 1: a": [3]}))
    assert [one.what for one in found] == ["another plan: step 1: a[0] is 3, was 2 (1 of 1 differ)"]
    found = changed(judged(PASS, words=two), judged(FAIL, "P01", words={"step 0: a": [1]}))
    assert [one.what for one in found] == ["P01 fails: step 0: P01 is wrong"]
    # A step that is left out by a head that passes.
    found = changed(judged(PASS, words=two), judged(PASS, words={"step 0: a": [1]}))
    assert [one.what for one in found] == ["another plan: a list is missing"]


def test_another_case_that_the_engine_is_asked_is_told():
    other = Judgement("mla1:1q1s2", PASS, facts=FACTS)
    assert [one.what for one in changed(HOLDS, other)] == [
        "the engine is asked another case: mla1:1q1s2, was mla1:1q1s1"]
    assert changed(HOLDS, Judgement("mla1:1q1s2", PASS)) == []  # the engine was not asked


def test_words_without_a_meaning_are_none_and_long_arrays_are_summed():
    array = np.array([1, 2, 3, 4], np.int32)
    assert words_of(({"name": "x", "n": 3, "l": (1, 2)}, {"a": array})) == {
        "n": [3], "l": [1, 2], "a": [1, 2, 3, 4]}
    assert words_of(({}, {"a": array}), lambda _, a: (a == 1) | (a == 3)) == {"a": [1, None, 3]}
    assert words_of(({}, {"a": array}), lambda *_: False) == {"a": []}
    long = np.arange(MOST_WORDS + 5)
    first = words_of(({}, {"a": long}))
    long[-1] += 1
    second = words_of(({}, {"a": long}))
    assert first["a"] == second["a"]
    assert len(first["a"]) == MOST_WORDS
    name = f"a after {MOST_WORDS} words"
    assert first[name][0] == second[name][0] == MOST_WORDS + 5
    assert first[name][1] != second[name][1]


def bundle_of(**more):
    lists = {"seqlens_kv_indptr": [0, 2, 3], "kv_indices": [7, 8, 9, 1, 1],
             "work_indptr": [0, POISON, 1, POISON], **more}
    return Bundle({"name": "x", "page_size": 1},
                  {name: np.array(words, np.int32) for name, words in lists.items()})


def test_words_of_a_plan_are_those_that_the_engine_wrote_and_a_kernel_reads():
    words = {"page_size": [1], "seqlens_kv_indptr": [0, 2, 3], "kv_indices": [7, 8, 9],
             "work_indptr": [0, None, 1]}
    built = Built(bundle_of(), (0, 1), None, others=(bundle_of(work_indptr=[5]),))
    other = {f"plan 0 {name}": told for name, told in {**words, "work_indptr": [5]}.items()}
    assert KINDS["decode"].words(built) == {**words, **other}
    assert KINDS["decode"].words(Built(None, (), None)) == {}
    part = SimpleNamespace(built=Built(bundle_of(), (0, 1), None),
                           rows=SimpleNamespace(page_size=16, lens=np.array([4, 5])))
    alone = SimpleNamespace(built=part.built, rows=None)
    told = KINDS["ranks"].words(SimpleNamespace(parts=(part, alone)))
    assert told["rank 0 row_lens"] == [4, 5]
    assert told["rank 1 kv_indices"] == [7, 8, 9]
    assert "rank 1 row_lens" not in told


def test_a_triton_function_counts_with_its_lines_once_it_was_compiled(tmp_path):
    (tmp_path / "kernels.py").write_text(
        "class Jit:\n    def __init__(self, fn):\n        self.fn, self.hash = fn, None\n"
        "        self.arg_names, self.cache_key = [], ''\n        self.__module__ = 'kernels'\n\n\n"
        "@Jit\ndef kernel(x):\n    y = x\n    return y\n\n\ndef other():\n    return 1\n")
    spec = importlib.util.spec_from_file_location("kernels", tmp_path / "kernels.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module_use.compiled(module) == []
    assert not module_use.counts(module)
    module.kernel.hash = "0"
    assert module_use.counts(module)
    found = module_use.compiled(module)
    assert [sorted(module_use.function_lines(one.fn.__code__)) for one in found] == [[10, 11]]


@pytest.fixture
def clone(tmp_path):
    def git(*words):
        subprocess.run(["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", *words],
                       check=True, capture_output=True)

    def commit(text, file="engine.py"):
        (tmp_path / file).write_text(text)
        git("add", "-A")
        git("commit", "-qm", "one")

    git("init", "-q")
    commit("ONE = 1\n\n\ndef a():\n    return 1\n\n\ndef b():\n    x = 1\n    return x\n")
    return tmp_path, commit


def between(clone):
    return [commit_of(clone, name) for name in ("HEAD~1", "HEAD")]


@pytest.mark.parametrize(("text", "ran", "told"), [
    # A line of a() that ran, over either commit.
    ("ONE = 1\n\n\ndef a():\n    return 2\n\n\ndef b():\n    x = 1\n    return x\n",
     ({}, {"engine.py": {5}}), ([], [])),
    ("ONE = 1\n\n\ndef a():\n    return 2\n\n\ndef b():\n    x = 1\n    return x\n",
     ({"engine.py": {5}}, {}), ([], ["engine.py:5"])),
    # Another one did.
    ("ONE = 1\n\n\ndef a():\n    return 2\n\n\ndef b():\n    x = 1\n    return x\n",
     ({"engine.py": {9}}, {"engine.py": {9}}), (["engine.py"], [])),
    # One of two in one place, and of three in two.
    ("ONE = 1\n\n\ndef a():\n    return 1\n\n\ndef b():\n    x = 2\n    return x + 1\n",
     ({}, {"engine.py": {9}}), ([], ["engine.py:10"])),
    ("ONE = 1\n\n\ndef a():\n    return 2\n\n\ndef b():\n    x = 2\n    return x + 1\n",
     ({}, {"engine.py": {5}}), ([], ["engine.py:9-10"])),
    # The line after it is another one.
    ("ONE = 1\n\n\ndef a():\n    return 1\n\n\ndef b():\n    x = 2\n    return x\n",
     ({}, {"engine.py": {10}}), (["engine.py"], [])),
    # Lines that are gone.
    ("ONE = 1\n\n\ndef a():\n    return 2\n\n\ndef b():\n    return 1\n",
     ({}, {"engine.py": {5}}), ([], ["engine.py:9"])),
    # A constant counts with its file; a comment does.
    ("ONE = 2\n\n\ndef a():\n    return 1\n\n\ndef b():\n    x = 1\n    return x\n",
     ({}, {"engine.py": {9}}), ([], [])),
    ("ONE = 2\n\n\ndef a():\n    return 1\n\n\ndef b():\n    x = 1\n    return x\n",
     ({}, {}), (["engine.py"], []))])
def test_changed_lines_count_where_a_case_ran_one(clone, text, ran, told):
    place, commit = clone
    commit(text)
    found = unrun(place, *between(place), ["engine.py"], ran)
    assert (found.files, found.lines) == told


def test_a_function_that_is_gone_is_named_by_its_lines_over_the_base(clone):
    place, commit = clone
    commit("ONE = 1\n\n\ndef a():\n    return 1\n")
    found = unrun(place, *between(place), ["engine.py"], ({}, {"engine.py": {5}}))
    assert (found.files, found.lines) == (["engine.py"], [])
    commit("ONE = 1\n\n\ndef a():\n    return 1\n\n\ndef b():\n    x = 1\n    return x\n")
    commit("ONE = 1\n\n\ndef a():\n    return 2\n")
    found = unrun(place, *between(place), ["engine.py"], ({"engine.py": {9}}, {}))
    assert (found.files, found.lines) == ([], ["engine.py:5"])
    commit("def b():\n    return 1\n\n\nONE = 1\n\n\ndef a():\n    return 3\n")
    commit("ONE = 1\n\n\ndef a():\n    return 4\n")
    found = unrun(place, *between(place), ["engine.py"], ({}, {"engine.py": {5}}))
    assert (found.files, found.lines) == ([], ["engine.py:2 (removed)"])
    commit("{", "data.json")
    found = unrun(place, *between(place), ["data.json"], ({}, {}))
    assert found.files == ["data.json"]
    commit("def a(:\n")  # no Python
    assert unrun(place, *between(place), ["engine.py"], ({"engine.py": {5}}, {})).files == []


def test_a_tree_gets_what_a_release_generates_and_nothing_that_it_has(tmp_path):
    installed, tree = tmp_path / "installed", tmp_path / "tree"
    for folder in (installed, tree / "python/sglang"):
        folder.mkdir(parents=True)
    (installed / "_version.py").write_text("1")
    layout, here = trees.layout_of("sglang"), trees.Installed(str(installed), ())
    assert layout.paths == ("python/sglang", "python/sglang.py")
    assert trees.take_in(tree, layout, here) == str(tree / "python")
    assert (tree / "python/sglang/_version.py").read_text() == "1"
    (installed / "_version.py").write_text("2")
    trees.take_in(tree, layout, here)
    assert (tree / "python/sglang/_version.py").read_text() == "1"
    trees.take_in(tree / "python", trees.layout_of("vllm"), trees.Installed("", ()))
    assert trees.layout_of("package.module:Class").paths == ("package", "package.py")


def test_an_engine_that_is_imported_from_elsewhere_is_not_judged(tmp_path):
    worker = Worker(Setting("fake_engine:Sound", tree=Tree(str(tmp_path), "/the/source")),
                    "gfx942", 304)
    with pytest.raises(EngineMissing, match=r"was imported from '.*/fake_engine\.py'; expected the "
                                            r"tree of '/the/source'"):
        worker.hello()


COMMIT = Commit("0123456789abcdef", "2026-08-22", "title")
WORSE = EngineChange("gfx942", "mla1:1q1s1", "P05 fails: a|b", Kind.WORSE, 3, "mla1:2q1s1", "abc")


def comparison(files=("a.py",), unread=(), changes=(), refused=(), unrun=()):
    return EngineComparison(
        COMMIT, COMMIT, [*files], [*unread], 8, [*changes], [*refused], "", "vllm 1", "2", [*unrun],
        "--engine vllm --src /x", ["ports ran"], 5)


def test_a_report_has_commands_counts_and_what_was_not_judged():
    lost = [Refused("gfx942", f"mla1:1q1s{n}", "refused: no", lost=True) for n in range(1, 11)]
    both = [Refused("gfx942", "mla1:9q1s9", "refused: no", lost=False)]
    found = comparison(changes=[WORSE], refused=lost + both, unrun=["a.py:7"])
    text, page = found.text(), found.markdown()
    for line in ("WORSE gfx942 mla1:1q1s1", "  3 cases, the first drawn as mla1:2q1s1", "ports ran",
                 "REPRO: mla-testbed-engines replay mla1:1q1s1 --engine vllm --src /x --rev abc",
                 "NOT JUDGED: no case runs a.py:7", "1 cases are refused, or not judged, over both",
                 "NOT JUDGED: 10 cases over the head alone, such as mla1:1q1s1: refused: no",
                 "5 other files differ; no case runs a function of them"):
        assert line in text.splitlines()
    assert "mla1:9q1s9" not in text
    assert "| **worse** | gfx942 | `mla1:1q1s1` | P05 fails: a\\|b |" in page
    assert "    REPRO: mla-testbed-engines replay mla1:1q1s1" in page
    assert "each commit's own builder and forward over AITER 2" in page


def test_exit_codes():
    refused = [Refused("gfx942", "mla1:1q1s1", "refused: no", lost=False)]
    assert exit_code(comparison()) == 0
    assert exit_code(comparison(files=())) == 0
    assert exit_code(comparison(changes=[WORSE])) == 1
    assert exit_code(comparison(unread=("a.py",))) == 4
    assert exit_code(comparison(refused=refused * 7)) == 0
    assert exit_code(comparison(refused=refused * 8)) == 4
    assert exit_code(comparison(files=(), refused=refused * 8)) == 4
    lost = [Refused("gfx942", "mla1:1q1s1", "refused: no", lost=True)]
    assert exit_code(comparison(refused=lost)) == 4
