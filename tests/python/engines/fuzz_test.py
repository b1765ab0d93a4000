"""The fuzzer's folder and its changed cases, without a worker."""

import fcntl
import json
import pathlib
import random
from types import SimpleNamespace

import fake_engine
import pytest
from mla_testbed import UsageError
from mla_testbed.engines import Machine, client, fuzz
from mla_testbed.engines.client import EngineMissing
from mla_testbed.engines.decode.kind import Decode
from mla_testbed.engines.fa.kind import Fa
from mla_testbed.engines.findings import Finding, Judgement
from mla_testbed.engines.judge import judge
from mla_testbed.engines.line import CaseLine
from mla_testbed.engines.mutate import mutated

CASE = "mla1:1q1s9"


def test_a_failure_whose_shrinking_is_interrupted_is_in_the_database(tmp_path):
    tally = SimpleNamespace(blocks={}, engine="e", version="1", aiter="none")
    found = Judgement(CASE, "fail", (Finding("P04", 0, "planted"),))

    def case(text, *, attend):
        tally.blocks["key"] = SimpleNamespace(judgement=found)
        raise KeyboardInterrupt

    database = fuzz.Database(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        fuzz._one(SimpleNamespace(tally=tally, case=case), database, CASE, attend=False,
                  known=False)
    kept = json.loads((tmp_path / "findings.jsonl").read_text())
    assert (kept["case"], kept["properties"], kept["what"]) == (CASE, ["P04"], "planted")
    assert database.executions == 0


def test_counts_are_kept_where_a_worker_cannot_be_started(tmp_path, capsys):
    def case(text, *, attend):
        if len(asked) == 2:
            raise EngineMissing("planted")
        asked.append(text)
        return Judgement(text, "pass", built=1, fresh_lines=1)

    asked = []
    setting = SimpleNamespace(kind="decode")
    run = SimpleNamespace(tally=SimpleNamespace(blocks={}, engine="e"), case=case, cover=False,
                          covered=0, imports=0.0, plan=SimpleNamespace(setting=setting))
    with pytest.raises(EngineMissing, match="planted"):
        fuzz.fuzz(run, 60.0, tmp_path, 1, attend=False)
    assert json.loads((tmp_path / "state.json").read_text())["executions"] == 2
    assert "fuzz: 2 executions" in capsys.readouterr().out


def test_an_import_that_takes_too_long_says_how_long(monkeypatch):
    monkeypatch.setattr(client, "LOADING", 0.001)
    with pytest.raises(EngineMissing, match=r"it did not answer within 0\.001 s: nothing was"):
        client.Worker(client.Setting("fake_engine:Sound"), "gfx942", 304).hello()


def test_a_database_in_use_is_refused_until_it_is_free(tmp_path):
    first = fuzz.Database(tmp_path)
    with pytest.raises(UsageError, match="is in use by another run"):
        fuzz.Database(tmp_path)
    fcntl.flock(first._lock, fcntl.LOCK_UN)
    assert fuzz.Database(tmp_path).executions == 0


@pytest.mark.parametrize(("kind", "own"), [
    ("fa", {"workspace", "kvheads", "dim", "window", "draft"}), ("prefill", {"workspace"}),
    ("decode", set())])
def test_changed_cases_stay_of_their_kind_and_vary_the_fields_that_only_it_has(kind, own):
    given = {"workspace": "128", "kvheads": "2", "dim": "64", "window": "40", "draft": "1"}
    text = "".join(f";{name}={value}" for name, value in given.items() if name in own)
    source, changed = random.Random(1), set()
    for _ in range(400):
        line = CaseLine.parse(mutated(f"mla1:1q3s9;kind={kind}", f"mla1:1q5s9;kind={kind}{text}",
                                      source))
        assert line["kind"] == kind
        changed |= {name for name in given if line[name] == given[name]}
    assert changed == own


@pytest.mark.parametrize(("heads", "kv_heads", "asked"), [(1, 2, 2), (16, 8, 16), (9, 4, 12)])
def test_heads_of_flash_attention_become_a_multiple_of_its_kv_heads(heads, kv_heads, asked):
    line = CaseLine.parse(f"mla1:1q3s9;kind=fa;heads={heads};kvheads={kv_heads}")
    assert Fa().adapt(line)["heads"] == str(asked)


def test_a_bundle_that_cannot_be_saved_takes_no_finding_away(tmp_path):
    file = pathlib.Path(tmp_path / "file")
    file.touch()
    found = judge(Decode(), fake_engine.FakeEngine(Machine("gfx942", 304), "WrongPage"), CASE,
                  bundles=str(file))
    assert (found.verdict, found.properties) == ("fail", ("P01",))
    assert found.reason.startswith("the bundle is not saved: ")
