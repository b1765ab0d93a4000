"""AITER's tests as a suite, with a source tree and tests written here."""

import dataclasses
import json
import math
import pathlib
import textwrap
import xml.etree.ElementTree as ET

import pytest

torch = pytest.importorskip("torch", reason="the suite needs torch, which is not installed")

import aiter_caller  # noqa: E402
from mla_testbed import aiter_suite, python_command  # noqa: E402
from mla_testbed.aiter.suite import ledger, report, runner, shipped, smallest  # noqa: E402
from mla_testbed.aiter.suite.opus_tests import OPUS_TESTS  # noqa: E402
from mla_testbed.aiter.suite.sparse_tests import SPARSE_TESTS  # noqa: E402
from mla_testbed.aiter.suite.tests import AiterTest  # noqa: E402
from mla_testbed.aiter.suite.triton_tests import TRITON_TESTS  # noqa: E402

# What a test imports, with the calling sequence of AITER's: no line of it is AITER's.
TEST_COMMON = """
import torch

def checkAllclose(a, b, rtol=1e-2, atol=1e-2, tol_err_ratio=0.05, msg="", printNum=8):
    wrong = (~torch.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)).float().mean().item()
    return wrong

def benchmark():
    def decorator(function):
        def wrapper(*args, **kwargs):
            function(*args, **kwargs)
        return wrapper
    return decorator

def run_perftest(func, *args, num_iters=101, **kwargs):
    for _ in range(num_iters):
        result = func(*args, **kwargs)
    return result, 1.0
"""

SCRIPT = """
import os
import sys
import torch
from aiter.test_common import benchmark, checkAllclose, run_perftest

torch.set_default_device("cuda")
calls = []

@benchmark()
def test(kind, nhead):
    a = torch.ones(100)
    _, us = run_perftest(calls.append, 1)
    assert us > 0
    b = a.clone()
    if kind == "wrong":
        b[:20] = 2
    if kind == "few":
        b[:3] = 2
    if kind == "nan":
        a[0] = float("nan")
    if kind == "raises":
        raise ValueError("no kernel for 7 heads")
    checkAllclose(a, b, msg=f"{kind} [ref vs out]")
    if kind == "variable":
        print("AITER's own C++ ran: module_" + os.environ["CHOSEN"])
    if kind == "said" or kind == "variable":
        return {"us": us, "all_close_fast": kind != "said", "all_close": True}

for kind in sys.argv[1:]:
    test(kind, 16)
assert len(calls) == len(sys.argv[1:])
"""


@pytest.fixture
def tree(tmp_path):
    made = aiter_caller.write_tree(tmp_path / "tree")
    (made / "aiter" / "test_common.py").write_text(TEST_COMMON)
    (made / "op_tests").mkdir()
    (made / "op_tests" / "script.py").write_text(textwrap.dedent(SCRIPT))
    return made


def plan_of(tree, **changes):
    return runner.Plan(**{"tree": tree, "arch": "gfx942", "backend": "cpu",
                          "original_grid": False, "timeout": 120, **changes})


def run(tree, *kinds, known=(), **changes):
    return runner.run(AiterTest("script", "script.py", small=kinds), plan_of(tree, **changes),
                      list(known))


def known(**changes):
    return ledger.Known(**{
        "id": "T1", "tests": ("script",), "archs": ("gfx942",), "backends": ("cpu",),
        "case": {"kind": "wrong"}, "text": r"\[ref vs out\]", "why": "", "link": "",
        "always": False, **changes})


def test_comparisons_within_the_tolerance_pass_and_run_once(tree):
    outcome = run(tree, "right", "few")
    assert (outcome.verdict, outcome.cases, outcome.comparisons) == ("pass", 2, 2)


def test_what_aiter_only_logs_fails_and_the_other_cases_still_run(tree):
    outcome = run(tree, "wrong", "nan", "raises", "right")
    assert (outcome.verdict, outcome.cases, outcome.comparisons) == ("fail", 4, 3)
    assert [line.split(" [kind=")[0] for line in outcome.failures] == [
        "wrong [ref vs out] (20.0% outside the tolerance)",
        "nan [ref vs out] (1.0% outside the tolerance)",
        "ValueError: no kernel for 7 heads",
    ]


def test_a_verdict_that_a_benchmark_only_puts_into_its_table_fails(tree):
    outcome = run(tree, "said", "right")
    assert (outcome.verdict, outcome.cases, outcome.comparisons) == ("fail", 2, 4)
    assert outcome.failures == ["all_close_fast (100.0% outside the tolerance) "
                                "[kind=said nhead=16]"]
    of_it = known(case={"kind": "said"}, text="^all_close_fast ")
    assert run(tree, "said", known=[of_it]).verdict == "known-fail"


def test_a_test_whose_module_did_not_run_is_inconclusive(tree):
    test = AiterTest("script", "script.py", small=("variable",), modules=("module_of_mine",),
                     environment=(("CHOSEN", "of_mine"),))
    assert runner.run(test, plan_of(tree), []).verdict == "pass"
    other = dataclasses.replace(test, environment=(("CHOSEN", "of_yours"),))
    outcome = runner.run(other, plan_of(tree), [])
    assert (outcome.verdict, outcome.reason) == ("inconclusive", "did not run: module_of_mine")
    failed = dataclasses.replace(other, small=("variable", "wrong"))
    assert runner.run(failed, plan_of(tree), []).verdict == "fail"


def test_a_failure_that_the_ledger_explains_is_a_known_one(tree):
    outcome = run(tree, "wrong", "right", known=[known()])
    assert (outcome.verdict, outcome.known) == ("known-fail", {"T1": 1})
    assert report.exit_code([outcome]) == 0


def test_a_failure_beside_a_known_one_is_a_failure(tree):
    outcome = run(tree, "wrong", "raises", known=[known()])
    assert (outcome.verdict, outcome.known) == ("fail", {"T1": 1})
    assert report.exit_code([outcome]) == 1


def test_a_known_failure_that_is_always_seen_is_missed(tree):
    outcome = run(tree, "right", known=[known(always=True)])
    assert (outcome.verdict, report.exit_code([outcome])) == ("unexpected-pass", 5)


def test_a_run_without_a_case_is_inconclusive(tree):
    outcome = run(tree)
    assert (outcome.verdict, report.exit_code([outcome])) == ("inconclusive", 4)


def test_modules_that_lie_about_are_not_imported(tree, tmp_path, monkeypatch):
    (tmp_path / "re.py").write_text("raise RuntimeError")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert run(tree, "right").verdict == "pass"


def test_a_test_that_takes_too_long_is_inconclusive(tree):
    (tree / "op_tests" / "script.py").write_text("import time\ntime.sleep(600)\n")
    outcome = run(tree, timeout=8)
    assert (outcome.verdict, outcome.reason) == ("inconclusive", "time-out")


@pytest.mark.parametrize(("test", "changes", "reason"), [
    (AiterTest("t", "gone.py"), {}, "this AITER has no op_tests/gone.py"),
    (AiterTest("t", "script.py", archs=("gfx950",)), {}, "AITER has it for gfx950 only"),
    (AiterTest("t", "script.py"), {"backend": "aiter"}, "nothing of it runs in AITER's decode"),
])
def test_a_test_that_is_not_run_says_why(tree, test, changes, reason):
    outcome = runner.run(test, plan_of(tree, **changes), [])
    assert outcome.verdict == "skip"
    assert outcome.reason.startswith(reason)


TRITON_TEST = """
import pathlib
import time
import pytest

@pytest.mark.parametrize("n", [64, 8, 512])
@pytest.mark.parametrize("m", [[4, 16], [2, 16]])
def test_product(m, n):
    assert (m, n) == ([2, 16], 8)

@pytest.mark.parametrize("n", [2, 1])
def test_skipped(n):
    pytest.skip(f"no {n}")

class TestMore:
    @pytest.mark.parametrize("n", [3, 2])
    def test_product(self, n):
        assert n == 2
"""


def triton_outcome(tree, text, known=(), **changes):
    folder = tree / "op_tests" / "triton_tests"
    folder.mkdir()
    (folder / "test_x.py").write_text(text)
    test = AiterTest("x", "triton_tests/test_x.py", pytest=True, smallest=True)
    return runner.run(test, plan_of(tree, **changes), list(known))


def test_of_each_function_of_a_triton_test_the_smallest_case_runs(tree):
    outcome = triton_outcome(tree, TRITON_TEST)
    assert (outcome.verdict, outcome.cases, outcome.skipped) == ("pass", 3, {"no 1": 1})
    assert outcome.reason == "1 skipped: no 1"


def test_with_the_original_grid_every_case_of_a_triton_test_runs(tree):
    outcome = triton_outcome(tree, TRITON_TEST, original_grid=True)
    assert (outcome.verdict, outcome.cases, len(outcome.failures)) == ("fail", 10, 6)


def test_a_triton_test_that_skips_all_is_skipped_with_its_reason(tree):
    outcome = triton_outcome(tree, "import pytest\ndef test():\n    pytest.skip('gfx950 only')\n")
    assert (outcome.verdict, outcome.reason) == (
        "skip", "the test skips itself; 1 skipped: gfx950 only")


def test_a_case_that_takes_too_long_ends_and_the_others_run(tree):
    outcome = triton_outcome(
        tree, "import time\ndef test_slow():\n    time.sleep(600)\ndef test():\n    pass\n",
        timeout=60)
    assert (outcome.verdict, outcome.reason) == ("inconclusive", "time-out of 1 cases")
    assert outcome.cases == 2


def test_a_test_file_that_cannot_be_imported_fails_with_what_it_raised(tree):
    text = "raise ValueError('no such key: N')\n"
    outcome = triton_outcome(tree, text)
    assert outcome.failures[0].startswith("collection failure: ValueError: no such key: N")
    explained = known(tests=("x",), case={}, text="no such key: N")
    assert runner.run(AiterTest("x", "triton_tests/test_x.py", pytest=True, smallest=True),
                      plan_of(tree), [explained]).verdict == "known-fail"


def test_of_a_long_message_the_end_is_kept(tree):
    text = "def test():\n    raise ValueError('at 99:15:' + 40 * '\\nline' + '\\nrank 0')\n"
    outcome = triton_outcome(tree, text)
    assert outcome.failures[0].startswith("ValueError: at 99:15:")
    assert "rank 0 [test=test]" in outcome.failures[0]


def test_numbers_of_a_case_are_its_size_and_nothing_else_is():
    assert smallest.size_of({"a": 8, "b": [2, 4], "c": "x", "d": True, "e": None}) == \
        pytest.approx(math.log(64))
    assert smallest.size_of({"a": 0, "b": -5, "c": 1, "d": float("inf")}) == 0


def test_every_triton_test_has_a_name_and_a_file_of_its_own(capsys):
    assert aiter_suite.main(["--triton", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len({line.split()[1] for line in lines}) == len(lines) == len(TRITON_TESTS)
    assert lines[0].split() == ["attention/mla", "op_tests/triton_tests/attention/test_mla.py"]


def test_junit_has_a_failure_for_each_failed_test(tmp_path):
    outcomes = [runner.Outcome("a", "gfx942", "cpu", "pass"),
                runner.Outcome("b", "gfx942", "cpu", "fail", failures=["x"]),
                runner.Outcome("c", "gfx942", "cpu", "skip", reason="why"),
                runner.Outcome("d", "gfx942", "cpu", "unexpected-pass")]
    report.write_junit(outcomes, tmp_path / "junit.xml")
    suite = ET.parse(tmp_path / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("4", "2")
    assert suite.find("testcase[@name='c']/skipped").get("message") == "why"


def test_the_shipped_ledger_names_tests_that_exist():
    names = {test.name for test in (*aiter_suite.TESTS, *TRITON_TESTS, *SPARSE_TESTS, *OPUS_TESTS)}
    for entry in ledger.read():
        assert set(entry.tests) <= names
        assert entry.link.startswith("https://github.com/")


def test_a_script_is_an_opus_test_only_under_the_variable_that_chooses_opus(monkeypatch):
    script = pathlib.Path("aiter/op_tests/test_mla_persistent.py")
    monkeypatch.delenv("AITER_MLA_USE_OPUS", raising=False)
    assert not {"mla_opus_one_row", "mla_opus_rows"} & set(shipped.names(script))
    assert {"mla_persistent", "mla_ds32_opus"} <= set(shipped.names(script))
    monkeypatch.setenv("AITER_MLA_USE_OPUS", "1")
    assert {"mla_opus_one_row", "mla_opus_rows"} <= set(shipped.names(script))


@pytest.mark.parametrize(("text", "sentence"), [
    ("[]", "is no ledger"),
    (json.dumps({"known": [{"id": "X"}]}), "entry X: 'tests'"),
    (json.dumps({"known": [{"id": "X", "tests": [], "text": "(", "why": "", "link": ""}]}),
     "entry X: missing"),
])
def test_a_malformed_ledger_is_refused(tmp_path, text, sentence):
    path = tmp_path / "ledger.json"
    path.write_text(text)
    with pytest.raises(ledger.LedgerError, match=sentence):
        ledger.read(path)


def test_a_missing_source_tree_is_an_environment_error(tmp_path, capsys):
    assert aiter_suite.main(["--aiter", str(tmp_path)]) == 3
    assert "has no op_tests" in capsys.readouterr().err


def test_an_unknown_test_is_a_usage_error(tree, capsys):
    assert aiter_suite.main(["--aiter", str(tree), "--test", "nope"]) == 2
    assert "no test nope" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "code", "sentence"), [
    ([], 2, "no script named"),
    (["--", "gone.py"], 2, "no file 'gone.py'"),
    (["--arch", "gfx90a", "--", __file__], 2, "architecture 'gfx90a' is unknown"),
    (["--aiter", "/nowhere", "--", __file__], 3, "'/nowhere' is no source tree of AITER"),
])
def test_the_command_refuses_what_it_cannot_run(capsys, arguments, code, sentence):
    assert python_command.main(arguments) == code
    assert sentence in capsys.readouterr().err


def test_a_script_keeps_its_exit_code_and_arguments(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["before"])
    script = tmp_path / "script.py"
    script.write_text("import sys, torch\nprint(sys.argv[1:], torch.zeros(1).cuda().device)\n"
                      "sys.exit(7)\n")
    assert python_command.main(["--", str(script), "-x", "1"]) == 7
    assert "['-x', '1'] cuda:0" in capsys.readouterr().out


def test_the_plugin_runs_a_suite_as_on_a_gpu(pytester, tree):
    pytester.makepyfile("""
        import torch
        def test_it():
            assert torch.zeros(1, device="cuda").is_cuda
            assert torch.cuda.get_device_properties(0).multi_processor_count == 8
    """)
    result = pytester.runpytest_subprocess(
        "-p", "mla_testbed.pytest_plugin", "--mla-testbed-arch", "gfx950", "--mla-testbed-cu", "8")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["mla-testbed: AMD Instinct MI355X (gfx950), 8 compute units*"])


AITER = pathlib.Path(__import__("os").environ.get("AITER_SRC", ""))


@pytest.mark.skipif(not (AITER / "op_tests").is_dir(),
                    reason="AITER_SRC names no source tree of AITER")
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_aiters_own_merge_test_passes(arch):
    pytest.importorskip("triton", reason="AITER's Python needs Triton, which is not installed")
    assert aiter_suite.main(["--aiter", str(AITER), "--arch", arch, "--test", "mla_reduce"]) == 0


@pytest.mark.parametrize(("options", "what"), [
    (["--sparse"], "--modules is 'auto'; expected own"),
    (["--sparse", "--modules", "ported"], "--modules is 'ported'; expected own"),
    (["--sparse", "--triton"], "--triton and --sparse are lists of tests; expected one"),
    (["--opus"], "--modules is 'auto'; expected own, since the tests of --opus call"),
    (["--opus", "--modules", "own", "--sparse"], "--sparse and --opus are lists of tests"),
    (["--sparse", "--modules", "own", "--test", "mla_persistent"], "no test mla_persistent")])
def test_tests_of_sparse_stages_need_own_modules_and_are_a_list_of_their_own(
        tmp_path, capsys, options, what):
    (tmp_path / "op_tests").mkdir()
    assert aiter_suite.main(["--aiter", str(tmp_path), *options]) == 2
    assert what in capsys.readouterr().err


def test_tests_of_sparse_stages_are_listed_with_their_files(capsys):
    assert aiter_suite.main(["--sparse", "--list"]) == 0
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()] == [
        ["indexer_k_quant_and_cache", "op_tests/test_indexer_k_quant_and_cache.py"],
        ["pa_sparse_prefill_opus", "op_tests/test_pa_sparse_prefill_opus.py"],
        ["topk_per_row", "op_tests/test_topk_per_row.py"],
        ["topk_per_row_stable", "op_tests/test_topk_per_row_stable.py"],
        ["topk_row_prefill", "op_tests/test_topk_row_prefill.py"]]


def test_tests_of_opus_name_the_module_that_has_to_run(capsys):
    assert aiter_suite.main(["--opus", "--list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == [test.name for test in OPUS_TESTS] == list(dict.fromkeys(names))
    assert {test.name for test in OPUS_TESTS if not test.modules} == {"pa_sparse_prefill_opus"}
    assert all(test.archs == ("gfx950",) for test in OPUS_TESTS)
