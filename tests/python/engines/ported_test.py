"""C++ of AITER that was changed, and ports that ran in its place: said, and no verdict."""

import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
from fake_ported import FILE

CASE = "mla1:2q2s40;heads=16;arch=gfx942;cu=304"
RAN = "not AITER's C++ but mla-testbed's ports of AITER v7 ran: module_mla_metadata"
CHANGED = (f"{FILE} differs from AITER v7, and its change did not run: the port in place of "
           "module_mla_metadata does not contain it")


def engines(command, engine, *more):
    done = subprocess.run(
        [sys.executable, "-m", "mla_testbed.engines", *command, "--engine", f"fake_ported:{engine}",
         *map(str, more)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr


@pytest.mark.parametrize("command", [
    ["replay", CASE], ["run", "--cases", "2", "--no-ledger"],
    ["fuzz", "--for", "2s", "--no-ledger", "--database", "db"]])
def test_a_changed_source_ends_with_4_and_the_names_of_file_and_module(
        command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, lines, errors = engines(command, "Changed")
    assert (code, lines[0].startswith("FAIL")) == (4, False), errors
    assert RAN in lines
    assert CHANGED in lines
    assert lines[lines.index(CHANGED) + 1].endswith("or accept the ports with --ported")
    code, lines, errors = engines(command, "Changed", "--ported")
    assert code == 0, errors
    assert CHANGED in lines
    assert not any("accept the ports" in line for line in lines)


@pytest.mark.parametrize("command", [["replay", CASE], ["run", "--cases", "2", "--no-ledger"]])
def test_ports_are_named_and_nothing_else_where_the_sources_are_the_same(command):
    code, lines, errors = engines(command, "Same")
    assert code == 0, errors
    assert [line for line in lines if "AITER" in line] == [RAN]


def test_a_failure_over_a_changed_source_ends_with_1_and_the_change_is_named():
    code, lines, _ = engines(["replay", CASE], "Wrong")
    assert code == 1
    assert CHANGED in lines


def test_the_junit_report_has_no_pass_over_a_changed_source_unless_it_is_accepted(tmp_path):
    for more, skipped in (([], ["changed C++ of AITER did not run"]), (["--ported"], [])):
        engines(["run", "--cases", "2", "--no-ledger"], "Changed", "--junit",
                tmp_path / "junit.xml", *more)
        whole = ET.parse(tmp_path / "junit.xml").getroot()[0]
        assert [element.get("message") for element in whole.findall("skipped")] == skipped
