"""A case that an engine cannot be asked for as it is written: what was changed stands beside the
verdict, in a value that travels with it. Bundles are printed as `check` takes them."""

import os
import re
import subprocess

import pytest
from command_test import engine, run
from mla_testbed.engines.adapted import Change, changes
from mla_testbed.engines.findings import Judgement
from mla_testbed.engines.line import CaseLine

SMALL = "heads=16;cu=304;block=16"


def changed(given, ran, arch=None):
    return [str(c) for c in changes(CaseLine.parse(given), CaseLine.parse(ran), arch)]


def test_fields_and_requests_that_differ_are_named_with_both_values():
    assert changed(f"mla1:1q1s40;{SMALL};causal=0;pad=127", f"mla1:1q1s212;{SMALL};pad=64") == [
        "requests of step 0 (1 of 1): 1q1s40 became 1q1s212", "causal=0 became 1",
        "pad=127 became 64"]
    assert changed(f"mla1:2q1s9_1q0s9;{SMALL}", f"mla1:2q1s9;{SMALL}") == [
        "requests of step 0: 3 of them became 2"]
    assert changed(f"mla1:1q2s9_1q1s8+1q1s9;{SMALL}", f"mla1:1q1s8_1q2s9+1q1s9;{SMALL}") == [
        "requests of step 0: the given order became a scheduler's"]
    assert changed(f"mla1:1q1s9+1q0s9;{SMALL}", f"mla1:1q1s9;{SMALL}") == ["steps=2 became 1"]
    assert changed(f"mla1:2q1s9;{SMALL}", f"mla1:2q1s9;{SMALL}") == []


def test_an_architecture_that_was_asked_for_is_no_change():
    given, ran = f"mla1:1q1s9;{SMALL};arch=gfx942", f"mla1:1q1s9;{SMALL};arch=gfx950"
    ran = ran.replace("cu=304", "cu=256")
    assert changed(given, ran, "gfx950") == []
    assert changed(given, ran) == ["arch=gfx942 became gfx950", "cu=304 became 256"]


def test_changes_travel_with_the_judgement():
    found = Judgement("mla1:1q1s9", "pass", adapted=(Change("pad", "127", "64"),))
    assert Judgement.of_json(found.as_json()) == found


def test_replay_says_beside_a_pass_what_was_changed():
    done = run("replay", f"mla1:1q1s2;{SMALL};causal=0;pad=127", *engine("Sound"), code=0)
    lines = done.stdout.splitlines()
    assert lines[lines.index("pass") + 1:][:3] == [
        "changed for the engine: requests of step 0 (1 of 1): 1q1s2 became 1q1s4",
        "changed for the engine: causal=0 became 1", "changed for the engine: pad=127 became 64"]


def test_another_architecture_is_no_change_where_the_command_asks_for_it():
    done = run("replay", f"mla1:1q1s9;{SMALL}", *engine("Sound"), "--arch", "gfx950", code=0)
    assert "changed" not in done.stdout


def test_a_run_counts_the_cases_that_were_changed_and_what_was(tmp_path):
    (tmp_path / "cases.txt").write_text(
        f"mla1:1q1s9;{SMALL}\nmla1:1q1s9;{SMALL};causal=0\nmla1:1q1s9;{SMALL};causal=0;pad=127\n")
    done = run("run", *engine("Sound"), "--cases-file", tmp_path / "cases.txt", code=0)
    assert ("changed for the engine: 2 cases (causal 2, pad 1)" in done.stdout.splitlines())


def test_a_failure_says_what_was_changed_and_its_repro_line_changes_nothing(tmp_path):
    (tmp_path / "cases.txt").write_text(f"mla1:1q2s9;{SMALL};causal=0\n")
    done = run("run", *engine("RowsOff"), "--cases-file", tmp_path / "cases.txt", code=1)
    assert "  changed for the engine: causal=0 became 1" in done.stdout.splitlines()
    case = re.search(r"REPRO: mla-testbed-engines replay '(.*?)'", done.stdout)[1]
    again = run("replay", case, *engine("RowsOff"), code=1)
    assert "changed" not in again.stdout


def bundles_in(text):
    return re.findall(r"^    bundle: (.*)$", text, re.MULTILINE)


@pytest.mark.parametrize("command", [
    ("run", "--cases", 6, "--seed", 5), ("replay", f"mla1:1q1s9;{SMALL}")])
def test_each_bundle_line_is_a_folder_that_check_reads(tmp_path, command):
    done = run(*command, *engine("WrongPage"), "--bundles", tmp_path, code=1)
    found = bundles_in(done.stdout)
    assert found
    for bundle in found:
        assert os.path.isfile(os.path.join(bundle, "manifest.json")), bundle
        if "MLA_TESTBED_COMMAND" in os.environ:
            check = subprocess.run([os.environ["MLA_TESTBED_COMMAND"], "check", bundle],
                                   capture_output=True, text=True, check=False)
            assert check.returncode in (0, 1), check.stderr


def test_a_failure_before_there_is_a_plan_says_that_there_is_no_bundle(tmp_path):
    done = run("run", *engine("Raises"), "--cases", 2, "--arch", "gfx942", "--bundles", tmp_path,
               code=1)
    assert bundles_in(done.stdout) == []
    assert f"    no bundle: {tmp_path}/001-P28 has the case, and no bundle that" in done.stdout
