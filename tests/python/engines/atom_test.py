"""ATOM's unmodified decode builder and drafter: sound cases, random cases, planted defects.

Skipped unless ATOM_SRC names ATOM's sources, AITER_SRC AITER's, and MLA_TESTBED_ATOM an environment
with what ATOM's import needs.
"""

import functools
import pathlib
import re

import atom_plants
import installed
import pytest
from mla_testbed.engines import ledger

installed.needed(("MLA_TESTBED_ATOM", "an environment for ATOM (docs/use/engines.md)"),
                 ("ATOM_SRC", "a source tree of ATOM"))
run = functools.partial(installed.run, "atom")

SOUND = [
    "mla1:2q1s600_1q1s33;heads=16;block=16",
    "mla1:2q3s600_1q3s44;heads=16;block=16;dtype=fp8/fp8;scale=0.5/0.5",
    "mla1:2q2s300+1q2s900;heads=8;block=1",
    "mla1:2q4s90_2q4s4;heads=12;block=64",
    "mla1:1q1s700;heads=128;block=16",
]


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("options", [[], ["--late-copies"], ["--option", "rejected=none"]])
def test_sound_cases_are_built_planned_and_attended(arch, options, tmp_path):
    (tmp_path / "cases.txt").write_text("\n".join(SOUND) + "\n")
    done = run("run", "--cases-file", tmp_path / "cases.txt", "--attend", len(SOUND), "--arch",
               arch, "--no-ledger", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"cases {len(SOUND)}: {len(SOUND)} pass" in done.stdout
    assert "steps 6 built, 6 planned" in done.stdout


@pytest.mark.parametrize(("draft", "heads"), [(1, 16), (2, 16), (3, 32)])
def test_draft_steps_are_planned_and_attended(draft, heads, tmp_path):
    cases = [f"mla1:2q1s300_1q1s44;heads={heads};block=16", "mla1:2q1s300_1q1s7;heads=32;block=16",
             "mla1:3q1s90;heads=4;block=16;dtype=fp8/fp8"]
    (tmp_path / "cases.txt").write_text("\n".join(cases) + "\n")
    done = run("run", "--cases-file", tmp_path / "cases.txt", "--attend", len(cases), "--arch",
               "gfx950", "--no-ledger", "--option", f"draft={draft}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"steps 3 built, 3 planned, 0 for graphs, [23] attended", done.stdout)


@pytest.mark.parametrize("options", [[], ["--option", "draft=1"], ["--option", "longest=exact"]])
def test_forty_random_cases_fail_only_as_the_ledger_says(options):
    done = run("run", "--cases", 40, "--attend", 15, "--arch", "gfx942", *options)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_longest_request_of_a_server_without_whole_blocks_has_no_room_in_the_table():
    done = run("replay", "mla1:1q1s600;heads=16;block=16", "--option", "longest=exact")
    assert done.returncode == 1
    assert "P28" in done.stdout
    assert "prepare_block_tables" in done.stdout


def test_every_entry_of_the_ledger_has_a_witness_and_a_page():
    entries = [known for known in ledger.read(ledger.SHIPPED) if known.engine == "atom"]
    assert len(entries) == 4
    for known in entries:
        assert known.witness
        assert pathlib.Path(known.link.partition("#")[0]).is_file()


@pytest.fixture(scope="module")
def planted():
    return installed.planted("atom", atom_plants)


@pytest.mark.parametrize("sound", ["", "sound drafts"])
def test_without_a_plant_the_same_process_passes(planted, sound):
    assert planted[sound][:2] == [[], ["pass"]]


@pytest.mark.parametrize("plant", atom_plants.PLANTS)
def test_a_defect_planted_in_atom_is_a_finding_of_its_property(plant, planted):
    properties, verdicts, _ = planted[plant]
    assert properties == [atom_plants.PLANTS[plant][0]]
    assert "fail" in verdicts
    assert "inconclusive" not in verdicts
