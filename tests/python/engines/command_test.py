"""mla-testbed-engines: what it prints, its exit codes, its files, on engines of our own."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

import pytest
from mla_testbed import UsageError
from mla_testbed.engines import ledger
from mla_testbed.engines.findings import Finding

COMMAND = [sys.executable, "-m", "mla_testbed.engines"]


def run(*arguments, code=None, **options):
    done = subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True,
                          timeout=300, check=False, **options)
    if code is not None:
        assert done.returncode == code, done.stdout + done.stderr
    return done


def engine(plant):
    return "--engine", f"fake_engine:{plant}"


def test_a_run_over_a_sound_engine_holds_and_says_what_ran():
    done = run("run", *engine("Sound"), "--cases", 40, "--attend", 5, code=0)
    assert re.search(r"cases 40: \d+ pass", done.stdout)
    assert re.search(r"steps \d+ built, \d+ planned, \d+ for graphs, 5 attended", done.stdout)
    assert re.search(r"\d+\.\d cases a second", done.stdout)


def test_a_failure_is_a_block_whose_repro_line_fails_alike_and_whose_bundles_check_reads(tmp_path):
    done = run("run", *engine("WrongPage"), "--cases", 12, "--bundles", tmp_path, "--seed", 5,
               code=1)
    first = next(line for line in done.stdout.splitlines() if line.startswith("FAIL P01"))
    assert first.endswith("engine=fake_engine:WrongPage 1.0 aiter=none")
    repro = next(line for line in done.stdout.splitlines() if line.startswith("REPRO: "))
    words = shlex.split(repro.removeprefix("REPRO: "))
    assert words[0] == "mla-testbed-engines"
    again = run(*words[1:], code=1)
    assert again.stdout.splitlines()[0] == first
    assert "mla1:1q1s4;" in first  # one request, one row; its last key has the wrong page
    printed = [shlex.split(line)[1] for line in done.stdout.splitlines()
               if line.startswith("    bundle: ")]
    assert sorted(printed) == sorted(str(p.parent) for p in tmp_path.rglob("manifest.json"))
    assert printed
    if "MLA_TESTBED_COMMAND" in os.environ:
        check = subprocess.run([os.environ["MLA_TESTBED_COMMAND"], "check", *printed],
                               capture_output=True, text=True, check=False)
        assert check.returncode in (0, 1), check.stderr


def test_shrinking_ends_at_a_case_that_is_as_small_as_the_defect_allows():
    done = run("run", *engine("RowsOff"), "--cases", 60, code=1)
    first = next(line for line in done.stdout.splitlines() if line.startswith("FAIL P04"))
    assert re.match(r"FAIL P04 mla1:1q2s4;heads=16;block=1;", first), first


def test_shrinking_stays_with_the_failure_that_it_began_with():
    done = run("run", *engine("TwoDefects"), "--cases", 30, code=1)
    blocks = [line for line in done.stdout.splitlines() if re.match("FAIL P.. mla1", line)]
    assert sorted(line.split()[1] for line in blocks) == ["P04", "P04", "P28", "P28"]  # two archs
    assert all("mla1:1q2s4" in line for line in blocks if "P28" in line)


def test_failures_alike_are_one_block_and_counted():
    done = run("run", *engine("LastPage"), "--cases", 40, "--arch", "gfx942", code=1)
    assert len(re.findall("^FAIL P04 mla1", done.stdout, re.MULTILINE)) == 1
    assert int(re.search(r"^FAIL P04, (\d+) cases", done.stdout, re.MULTILINE)[1]) > 20


@pytest.mark.parametrize(("arguments", "code", "text"), [
    (("run", *engine("Sound"), "--cases", "many"), 2, "'many' is no number"),
    (("run", *engine("Sound"), "--arch", "gfx90a"), 2, "gfx90a"),
    (("run",), 2, "--engine"),
    (("fuzz", *engine("Sound"), "--for", "soon"), 2, "'soon' is no time"),
    (("replay", "mla1:oops", *engine("Sound")), 2, "oops"),
    (("replay", "mla1:1q0s9", *engine("Sound")), 10, "an engine schedules none"),
    (("run", *engine("Sound"), "--kind", "encode"), 2, "invalid choice: 'encode'"),
    (("run", *engine("Sound"), "--option", "dcp"), 2, "'dcp' is no option; expected NAME=VALUE"),
    (("run", *engine("Sound"), "--seed", 1 << 70), 2, "seed"),
    (("replay", "mla1:1q1s9", "--engine", "vlmm"), 3, "engine 'vlmm' is unknown; expected vllm"),
    (("run", *engine("NotHere")), 3, "the fake engine is not installed: it is planted"),
    (("run", "--engine", "no_module:Engine"), 3, "No module named 'no_module'"),
    (("run", *engine("Sound"), "--python", "/nowhere"), 3, "'/nowhere' is no virtual environment"),
    (("run", *engine("Sound"), "--ledger", "/nowhere"), 2, "ledger '/nowhere' cannot be read"),
    (("run", *engine("Sound"), "--junit", "/nowhere/x.xml"), 2, "cannot be written"),
    (("run", *engine("Sound"), "--cases-file", "/nowhere"), 2, "--cases-file '/nowhere' cannot be"),
    (("run", *engine("Sound"), "--cases-file", "/"), 2, "--cases-file '/' cannot be read"),
    (("run", *engine("Sound"), "--cases-file", __file__), 2, f"'{__file__}', line 1: "),
    (("run", *engine("Sound"), "--cases", "\u0663"), 2, "is no number"),
    (("run", *engine("Sound"), "--junit", "/"), 2, "--junit '/' cannot be written"),
    (("run", *engine("Sound"), "--bundles", __file__), 2, f"--bundles '{__file__}' is no folder"),
    (("run", *engine("Sound"), "--ledger", "/proc/self/fd"), 2, "is a folder without a .json"),
    (("replay", "mla1:1q1s9", *engine("WrongPage"), "--bundles", __file__), 2, "is no folder"),
    (("fuzz", *engine("Sound"), "--database", __file__), 2, f"--database '{__file__}' cannot be"),
    (("replay", "mla1:1q1s9", "--engine", ""), 3, "engine '' is unknown; expected vllm"),
    (("replay", "mla1:1q1s9", "--engine", ":x"), 3, "expected module:class of an adapter"),
    (("replay", "mla1:1q1s9", "--engine", "..:x"), 3, "expected module:class of an adapter"),
    (("replay", "mla1:1q1s9", "--engine", "os:path"), 3, "module os has no class 'path'"),
    (("replay", "mla1:1q1s9", "--engine", "os:no"), 3, "module os has no class 'no'"),
    (("replay", "mla1:1q1s9;kind=fa", "--engine", "sglang"), 3, "no adapter for kind fa; expected"),
    (("replay", "mla1:1q1s9", *engine("Sound"), "--python", __file__), 3, "is no Python: Perm"),
    (("replay", "mla1:1q1s9", *engine("Sound"), "--python", "/bin/echo"), 3, "it answered: -m"),
    (("replay", "mla1:1q1s9;kind=fa", *engine("Sound")), 4, "or an adapter of another kind: "),
    (("replay", "mla1:1q1s1;kind=prefill", "--engine", "sglang"), 10, "sglang, aiter not asked"),
    (("replay", "mla1:1q1s9", *engine("RefusesAll")), 10, "the fake engine takes nothing"),
    (("run", *engine("RefusesAll"), "--cases", 5), 4, "5 refused"),
    (("run", *engine("Sound"), "--cases", 0), 4, "cases 0: none"),
])
def test_bad_input_ends_with_its_code_and_a_sentence(arguments, code, text):
    done = run(*arguments, code=code)
    assert text in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_lines_of_a_file_are_all_read_before_the_first_is_judged(tmp_path):
    (tmp_path / "cases.txt").write_text("  # indented\nmla1:1q1s9\nmla1:oops\n")
    done = run("run", *engine("Dies"), "--cases-file", tmp_path / "cases.txt", code=2)
    assert f"'{tmp_path / 'cases.txt'}', line 3: " in done.stderr
    (tmp_path / "cases.txt").write_bytes(b"\xff\xfe\n")
    done = run("run", *engine("Dies"), "--cases-file", tmp_path / "cases.txt", code=2)
    assert "cannot be read" in done.stderr


def test_two_runs_into_one_folder_keep_the_bundles_of_both(tmp_path):
    for number, plant in enumerate(("WrongPage", "LastPage"), 1):
        done = run("run", *engine(plant), "--cases", 6, "--arch", "gfx942", "--bundles", tmp_path,
                   code=1)
        assert f"bundle: {tmp_path}/{number:03d}-" in done.stdout
    saved = {path.name: path.read_text() for path in tmp_path.glob("*/case.txt")}
    texts = sorted(path.parent.name for path in tmp_path.glob("*/case.txt"))
    assert texts == ["001-P01", "002-P04"], saved


def test_a_run_that_loses_its_engine_for_one_machine_reports_the_others(tmp_path):
    (tmp_path / "half_engine.py").write_text(
        "from fake_engine import FakeEngine\n"
        "def Half(machine):\n"
        "    if machine.arch == 'gfx950':\n        raise ImportError('not for gfx950')\n"
        "    return FakeEngine(machine, 'LastPage')\n")
    path = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
    (tmp_path / "cases.txt").write_text("mla1:1q1s9\nmla1:1q1s9;arch=gfx950;cu=256\n")
    done = run("run", "--engine", "half_engine:Half", "--cases-file", tmp_path / "cases.txt",
               "--junit", tmp_path / "out.xml", code=3, env={**os.environ, "PYTHONPATH": path})
    assert "cases 1: 1 fail" in done.stdout
    assert "interrupted" in done.stdout
    assert "cannot be imported for gfx950: ImportError: not for gfx950" in done.stderr
    assert ET.parse(tmp_path / "out.xml").getroot().find(".//failure") is not None


def test_a_process_that_dies_is_a_failure_with_its_signal():
    done = run("replay", "mla1:1q1s9", *engine("Dies"), code=1)
    assert "ended with SIGSEGV" in done.stdout


def test_a_case_that_takes_too_long_is_inconclusive():
    done = run("replay", "mla1:1q1s9", *engine("Hangs"), "--timeout", "2s", code=4)
    assert "inconclusive: took longer than 2 s" in done.stdout


def test_an_engine_that_prints_does_not_disturb_the_answers(tmp_path):
    (tmp_path / "loud_engine.py").write_text(
        "import os\nfrom fake_engine import FakeEngine\n"
        "class Loud(FakeEngine):\n"
        "    def __init__(self, machine):\n        super().__init__(machine, 'Sound')\n"
        "    def refuses(self, step):\n        print('{}'); os.system('echo noise')\n")
    path = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
    run("replay", "mla1:1q1s9", "--engine", "loud_engine:Loud", code=0,
        env={**os.environ, "PYTHONPATH": path})


def test_cases_come_from_a_file_too(tmp_path):
    (tmp_path / "cases.txt").write_text("# two\nmla1:1q1s9\n\nmla1:2q2s30;pad=1\n")
    done = run("run", *engine("Sound"), "--cases-file", tmp_path / "cases.txt", code=0)
    assert "cases 2: 2 pass" in done.stdout


def entry(**changes):
    return {"id": "T-1", "link": "https://example.org/1", "why": "planted",
            "engine": "fake_engine:RowsOff", "properties": ["P04"], "where": {"rows": {"min": 2}},
            "text": "expected", "witness": "mla1:1q2s4", **changes}


def written(tmp_path, *entries):
    path = tmp_path / "ledger.json"
    path.write_text(json.dumps({"format": ledger.FORMAT, "entries": entries}))
    return path


def test_what_the_ledger_explains_is_counted_and_fails_nothing(tmp_path):
    done = run("run", *engine("RowsOff"), "--cases", 40, "--ledger", written(tmp_path, entry()),
               "--junit", tmp_path / "out.xml", code=0)
    assert re.search(r"known-fail T-1: \d+ cases: planted \(https://example.org/1\)", done.stdout)
    suite = ET.parse(tmp_path / "out.xml").getroot()
    assert suite.get("failures") == "0"
    assert {case.get("name") for case in suite} == {"cases that passed", "T-1"}


@pytest.mark.parametrize("changes", [
    {"where": {"rows": {"min": 3}}, "witness": ""}, {"properties": ["P05"], "witness": ""},
    {"text": "no such sentence", "witness": ""}, {"versions": ["2.*"]}, {"aiter": ["e4*"]},
    {"engine": "vllm"}, {"where": {"arch": "gfx950"}, "witness": ""}, {"kind": "fa"},
    {"options": {"draft": ["1", "2"]}},
])
def test_an_entry_explains_nothing_else(tmp_path, changes):
    run("run", *engine("RowsOff"), "--cases", 40, "--arch", "gfx942", "--ledger",
        written(tmp_path, entry(**changes)), code=1)


def test_a_witness_that_passes_is_an_unexpected_pass(tmp_path):
    done = run("run", *engine("Sound"), "--cases", 5, "--ledger",
               written(tmp_path, entry(engine="fake_engine:Sound")), code=5)
    assert "unexpected pass: T-1 on its witness mla1:1q2s4" in done.stdout


def test_a_witness_that_passes_unattended_is_named_as_not_judged(tmp_path):
    done = run("run", *engine("NoAttention"), "--cases", 5, "--ledger", written(
        tmp_path, entry(engine="fake_engine:NoAttention"),
        entry(engine="fake_engine:NoAttention", id="T-2")), code=0)
    assert ("not judged, because nothing is attended in this run: the witness of T-1, T-2"
            in done.stdout)
    assert "unexpected" not in done.stdout
    assert ", 0 attended" in done.stdout


def test_a_run_without_aiter_says_so_to_the_adapter_and_in_the_repro_line():
    done = run("run", *engine("RowsOff"), "--cases", 12, "--arch", "gfx942", code=1)
    assert "--without-aiter" not in done.stdout
    assert "aiter=none" in done.stdout
    done = run("run", *engine("RowsOff"), "--cases", 12, "--arch", "gfx942", "--without-aiter",
               "--late-copies", code=1)
    assert "aiter=left out" in done.stdout
    repro = next(line for line in done.stdout.splitlines() if line.startswith("REPRO: "))
    assert repro.endswith("--arch gfx942 --late-copies --without-aiter")


@pytest.mark.parametrize(("text", "message"), [
    ("{", "cannot be read"), ("[]", "has no format"), ('{"format": "x"}', "has no format"),
    ("[" * 100000, "cannot be read"),
    (f'{{"format": "{ledger.FORMAT}", "entries": {{}}}}', "entries is no list of objects"),
])
def test_a_file_that_is_no_ledger_is_refused(tmp_path, text, message):
    (tmp_path / "ledger.json").write_text(text)
    done = run("run", *engine("Sound"), "--ledger", tmp_path / "ledger.json", code=2)
    assert message in done.stderr


@pytest.mark.parametrize(("broken", "message"), [
    ({"id": "A", "whre": {}}, "entry A: unknown key whre"), ({"id": "A"}, "entry A: "),
    (entry(text="("), "entry T-1: "),
    (entry(kind="encode"), "entry T-1: kind 'encode' is unknown; expected "),
    (entry(versions="1.0"), "entry T-1: versions is '1.0'; expected a list of texts"),
    (entry(options=["a=1"]), "entry T-1: options is ['a=1']; expected an object"),
    (entry(options={"a": "1"}), "entry T-1: options a is '1'; expected a list of texts"),
    (entry(properties=["P04", 5]), "entry T-1: properties is ['P04', 5]; expected a list"),
    (entry(where=[1]), "entry T-1: where is [1]; expected an object"),
    (entry(where={"rows": {"min": "2"}}), "entry T-1: where rows is {'min': '2'}; expected numb"),
    (entry(where={"rows": {"min": 1, "max": "9"}}), "entry T-1: where rows is {'min': 1, 'max':"),
    (entry(where={"rows": {"mni": 2}}), "entry T-1: where rows is {'mni': 2}; expected numbers"),
    (entry(text=7), "entry T-1: text is 7; expected a text"),
    (entry(witness="mla1:oops"), "entry T-1: case field 'requests' has value 'oops'"),
    ({"id": "A", "link": "", "why": ""}, "entry A: it has no engine"), (7, "entries is no list"),
])
def test_a_malformed_entry_is_named(tmp_path, broken, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        ledger.read(written(tmp_path, broken))
    with pytest.raises(UsageError, match="entry T-1 twice"):
        ledger.read(written(tmp_path, entry(), entry()))


def test_an_entry_must_explain_every_finding():
    known = ledger.Known("A", "", "", "fake", text="one")
    assert known.explains(Finding("P01", 0, "one"), {})
    assert not known.explains(Finding("P01", 0, "two"), {})
    assert known.explains(Finding("P01", 0, "two", ("and one",)), {})


def test_the_shipped_ledger_can_be_read():
    assert isinstance(ledger.read(ledger.SHIPPED), list)


def test_junit_has_each_failure_once(tmp_path):
    run("run", *engine("LastPage"), "--cases", 20, "--junit", tmp_path / "out.xml", code=1)
    suite = ET.parse(tmp_path / "out.xml").getroot()
    failures = suite.findall(".//failure")
    assert len(failures) == int(suite.get("failures")) >= 1
    assert "kv_last_page_lens of request 0 is 2" in failures[0].get("message")
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_was_found(tmp_path, number):
    process = subprocess.Popen(
        [*COMMAND, "run", *engine("LastPage"), "--cases", "100000", "--junit",
         str(tmp_path / "out.xml")], stdout=subprocess.PIPE, text=True)
    first = process.stdout.readline()
    assert first.startswith("FAIL P04")
    time.sleep(0.5)
    process.send_signal(number)
    rest, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "interrupted" in rest
    assert re.search(r"cases \d+: ", rest)
    assert ET.parse(tmp_path / "out.xml").getroot().find(".//failure") is not None


def test_an_interrupt_before_any_failure_is_inconclusive(tmp_path):
    path = tmp_path / "begun"
    (tmp_path / "marking_engine.py").write_text(
        "import pathlib\nfrom fake_engine import FakeEngine\n"
        "class Marking(FakeEngine):\n"
        "    def __init__(self, machine):\n        super().__init__(machine, 'Sound')\n"
        "    def start(self, steps):\n"
        f"        pathlib.Path({str(path)!r}).touch()\n        super().start(steps)\n")
    variables = {**os.environ,
                 "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])}
    process = subprocess.Popen([*COMMAND, "run", "--engine", "marking_engine:Marking", "--cases",
                                "100000"], stdout=subprocess.PIPE, text=True, env=variables)
    try:
        until = time.monotonic() + 120
        while not path.exists() and time.monotonic() < until:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 4
    assert "interrupted" in rest


def test_fuzzing_finds_keeps_and_goes_on(tmp_path):
    arguments = ("fuzz", *engine("RowsOff"), "--for", "4s", "--database", tmp_path / "db",
                 "--no-ledger")
    first = run(*arguments, code=1)
    counts = re.search(r"fuzz: (\d+) executions, [\d.]+ a second; (\d+) in", first.stdout)
    assert counts and counts[1] == counts[2] != "0"
    findings = [json.loads(line)
                for line in (tmp_path / "db/findings.jsonl").read_text().splitlines()]
    assert {f["properties"][0] for f in findings} == {"P04"}
    corpus = (tmp_path / "db/corpus.txt").read_text().splitlines()
    assert corpus[0].startswith("mla1:")
    assert len(corpus) < int(counts[1]) / 2  # only cases that ran a new line
    second = run(*arguments, code=1)
    again = re.search(r"fuzz: (\d+) executions, [\d.]+ a second; (\d+) in", second.stdout)
    assert int(again[2]) == int(again[1]) + int(counts[2])
    after = (tmp_path / "db/findings.jsonl").read_text().splitlines()
    assert len({json.loads(line)["signature"] for line in after}) == len(after)


@pytest.mark.parametrize(("name", "content"), [
    ("state.json", b"{"), ("state.json", b"[]"), ("state.json", b'{"executions": "many"}'),
    ("findings.jsonl", b"{\n"), ("findings.jsonl", b'{"what": 1}\n'),
    ("findings.jsonl", b'{"case": "mla1:1q1s9"}\n'), ("findings.jsonl", b'{"case": 7}\n'),
    ("corpus.txt", b"mla1:1q1s9\nno case\n"), ("corpus.txt", b"\xff\xfe\n"),
])
def test_a_damaged_database_is_refused_by_the_name_of_the_file(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    done = run("fuzz", *engine("Sound"), "--for", "1s", "--database", tmp_path, code=2)
    assert f"{name}' is damaged" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_row_of_the_table_counts_stages_and_names_defects(tmp_path):
    done = run("table", *engine("RowsOff"), "--arch", "gfx942", "--cases", 30, "--attend", 5,
               "--ledger", written(tmp_path, entry()), code=0)
    head, _, row = done.stdout.splitlines()
    assert head.startswith("| engine | AITER | arch | imports | builds")
    assert re.match(r"\| fake_engine:RowsOff 1.0 \| none \| gfx942 \| yes \| \d+/\d+: T-1 \d+ \| "
                    r"(\d+)/\1 \| ([45])/\2 \|", row), row


def test_a_table_of_an_engine_that_is_not_there_says_so():
    done = run("table", *engine("NotHere"), "--arch", "gfx950", code=0)
    assert "| gfx950 | no: engine 'fake_engine:NotHere' cannot be imported" in done.stdout


def test_a_replay_prints_each_field_that_was_changed_for_the_engine():
    done = run("replay", "mla1:1q1s9;causal=0;pad=127", *engine("Sound"), code=0)
    changed = [line.partition(": ")[2] for line in done.stdout.splitlines()
               if line.startswith("changed for the engine: ")]
    assert changed == ["causal=0 became 1", "pad=127 became 64"]
    assert "changed" not in run("replay", "mla1:1q1s9;heads=16", *engine("Sound"), code=0).stdout
