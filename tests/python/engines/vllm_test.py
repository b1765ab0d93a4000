"""vLLM's unmodified builder: a few cases of each kind, and the defects that its version has.

Skipped where installed_vllm.py says so.
"""

import pathlib
import re

import pytest
from installed_vllm import run
from mla_testbed.engines import ledger

SOUND = [
    "mla1:3q1s90_1q1s20;heads=16;block=16",
    "mla1:2q4s300;heads=16;block=64",
    "mla1:1q1s33_1q1s900;heads=128;dtype=fp8/fp8;scale=0.5/2",
    "mla1:4q1s200+1q1s9+2q1s700;heads=16;block=16",
    "mla1:2q2s90;heads=16;block=16;pad=2",
    "mla1:2q1s90_1q60s60_1q40s90;heads=16;block=16",
]


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_sound_cases_are_built_planned_and_attended(arch, tmp_path):
    (tmp_path / "cases.txt").write_text("\n".join(SOUND) + "\n")
    version = run("replay", SOUND[0], "--arch", arch)
    if "vllm 0.26" in version.stdout:
        pytest.skip("vLLM 0.26 has wrong lists for several rows (VLLM-05)")
    done = run("run", "--cases-file", tmp_path / "cases.txt", "--attend", len(SOUND), "--arch",
               arch, "--no-ledger")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"cases {len(SOUND)}: {len(SOUND)} pass" in done.stdout
    assert "steps 8 built, 8 planned, 1 for graphs" in done.stdout


def test_fifty_random_cases_fail_only_as_the_ledger_says(tmp_path):
    done = run("run", "--cases", 50, "--attend", 20, "--junit", tmp_path / "out.xml")
    assert done.returncode == 0, done.stdout + done.stderr
    attended = re.search(r"(\d+) attended", done.stdout)
    assert int(attended[1]) >= 10


def test_late_copies_change_nothing():
    done = run("run", "--cases", 40, "--late-copies", "--arch", "gfx942")
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_entry_of_the_ledger_has_a_witness_and_a_reason():
    entries = [known for known in ledger.read(ledger.SHIPPED) if known.engine == "vllm"]
    assert len(entries) >= 5
    for known in entries:
        assert known.text and known.link and known.why
        assert known.witness or "--option" in known.why  # witnesses run without options
        if known.link.startswith("docs/"):
            page = pathlib.Path(known.link.partition("#")[0])
            assert page.is_file()
