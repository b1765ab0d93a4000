"""The judge on engines with one planted defect each: which property fails, and its sentence."""

import re

import fake_engine
import pytest
from mla_testbed import Bundle, check
from mla_testbed.engines import Machine, raised
from mla_testbed.engines.decode.kind import Decode
from mla_testbed.engines.findings import FAIL, INCONCLUSIVE, PASS, REFUSED
from mla_testbed.engines.judge import judge

LIVE = "mla1:2q4s90_1q3s51;heads=16;block=16"
GRAPH = "mla1:2q1s90_1q1s51;heads=16;block=16;pad=2"
STEPS = "mla1:3q4s200+2q1s70;heads=16;block=16"


def judged(plant, case, attend=True, **options):
    engine = fake_engine.FakeEngine(Machine("gfx942", 304), plant)
    return judge(Decode(), engine, case, arch="gfx942", attend=attend, **options)


@pytest.mark.parametrize("case", [
    LIVE, GRAPH, STEPS, "mla1:1q1s1", "mla1:1q1s700;dtype=fp8/fp8;scale=0.5/2;layout=prefix.1",
    STEPS + ";pad=1",
])
def test_a_sound_engine_passes_and_was_asked(case):
    found = judged("Sound", case)
    assert (found.verdict, found.findings) == (PASS, ())
    steps = case.count("+") + 1
    assert (found.built, found.planned, found.attended) == (steps, steps, steps)
    assert found.replayed == (steps if "pad" in case else 0)


@pytest.mark.parametrize(("plant", "case", "property_id", "text"), [
    ("ShortIndices", LIVE, "P06", "kv_indices has room for"),
    ("WrongPage", LIVE, "P01", r"request 2, page 50: \d+; expected \d+; wrong are 1 of 51"),
    ("KeysOff", LIVE, "P04", "request 2 50 pages of 1; its 51 keys have 51"),
    ("RowsOff", LIVE, "P04", "gives request 0 3 rows; expected 4"),
    ("ArangeRows", LIVE, "P04", "gives request 0 1 rows; expected 4"),
    ("LastPage", LIVE, "P04", "kv_last_page_lens of request 0 is 2; expected 1"),
    ("LostRequest", LIVE, "P26", r"have requests \[0, 0, 1\]; expected each of 3 once"),
    ("StalePlan", STEPS, "P05", "work|coverage|reduce|final"),
    ("LateSplit", LIVE, "P05", "work 0"),
    ("StickyRows", STEPS, "P03", "max_seqlen_qo is 4 after other steps; 1 on fresh buffers"),
    ("PaddingPage", GRAPH, "P11", "padding request 3 reads page .*; the cache has pages 0 to"),
    ("PaddingKeys", GRAPH, "P34", "padding request 3 has 2 keys for 3 rows"),
    ("MovedAtReplay", "mla1:1q1s50+1q1s90;pad=2", "P04", "50|90|pages"),
    ("NoScale", "mla1:1q1s90;dtype=fp8/fp8;scale=1/2", "P05", "the reference has"),
    ("WrongShape", LIVE, "P05", r"the result has shape \(10, 16, 512\); expected \(11, 16, 512\)"),
    ("Raises", LIVE, "P28", r"fake raised AssertionError: planted: 7 is not 8 \(fake_engine.py:"),
    ("RaisesInForward", LIVE, "P28", "fake raised RuntimeError: planted: the forward fails"),
    ("SmallBuffers", LIVE, "P06", "fake raised OverrunError"),
    ("LateStart", LIVE, "P04", r"seqlens_kv_indptr is \[1, 90, .*; expected to start at 0"),
    ("PlansOnce", STEPS, "P03", "planned after other steps: False; on fresh buffers: True"),
    ("NanResult", LIVE, "P05", "request 2 row 2 head 15 dim 511 is nan, .*wrong are 1 of"),
    ("WrongHeads", "mla1:2q4s90", "P05", "."),
])
def test_a_planted_defect_fails_the_property_that_it_breaks(plant, case, property_id, text):
    found = judged(plant, case)
    assert found.verdict == FAIL
    assert found.properties == (property_id,)
    assert re.search(text, found.findings[0].what), found.findings[0].what


def test_a_defect_that_shows_in_a_later_step_names_that_step():
    found = judged("StalePlan", STEPS)
    assert found.findings[0].step == 1
    assert found.facts["step"] == 1


def test_an_engine_that_refuses_has_built_nothing():
    found = judged("RefusesAll", LIVE)
    assert (found.verdict, found.built) == (REFUSED, 0)
    assert found.reason == "the fake engine takes nothing"


def test_a_case_without_rows_is_refused():
    assert judged("Sound", "mla1:3q0s5").verdict == REFUSED


def test_what_is_not_here_is_inconclusive_and_no_pass(monkeypatch):
    monkeypatch.setattr(fake_engine.FakeEngine, "attend",
                        lambda *_: (_ for _ in ()).throw(ImportError("module_x is not served")))
    found = judged("Sound", LIVE)
    assert found.verdict == INCONCLUSIVE
    assert "module_x is not served" in found.reason


def test_an_engine_without_a_plan_is_judged_by_its_lists():
    found = judged("Unplanned", LIVE)
    assert (found.verdict, found.planned) == (PASS, 0)
    assert any("makes no plan, our core makes a plan" in o for o in found.opinions)


def test_another_decision_is_an_opinion_and_fails_nothing():
    # The fake engine plans all rows of a request together and says that rows are not uniform.
    found = judged("Sound", GRAPH)
    assert found.verdict == PASS
    assert "fake plans with uni_seqlen_qo -1, our core with 1" in found.opinions


def test_a_saved_bundle_is_one_that_check_reads(tmp_path):
    found = judged("LateSplit", LIVE, bundles=str(tmp_path))
    assert found.verdict == FAIL
    bundle = Bundle.load(tmp_path / "step-0-decode")
    assert not check(bundle).valid
    assert bundle.name.startswith(found.case)


def test_a_graph_is_captured_for_the_step_with_most_requests():
    class Spy(fake_engine.FakeEngine):
        captured = 0

        def capture(self, step):
            self.captured = step.requests
            return super().capture(step)

    spy = Spy(Machine("gfx942", 304), "Sound")
    found = judge(Decode(), spy, "mla1:1q1s9+3q1s9+2q1s9;pad=1")
    assert (found.verdict, found.replayed, spy.captured) == ("pass", 3, 3)


@pytest.mark.parametrize(("problem", "expected"), [("store-out-of-bounds", "P06"), ("", "P28")])
def test_an_access_out_of_bounds_is_p06_and_another_exception_p28(problem, expected):
    error = RuntimeError("planted")
    error.problem = problem
    assert raised._property(error, problem) == expected


def test_work_that_costs_too_much_is_not_attended():
    found = judged("NoScale", "mla1:8q4s4k;dtype=fp8/fp8;scale=1/2")
    assert (found.verdict, found.attended) == (PASS, 0)


def caught(body):
    """The verdict of an exception that `body` raises as an engine would."""
    found = []
    try:
        with raised.turned(found, Decode().steps(LIVE)[0], "fake"):
            body()
    except raised.NotJudged as e:
        return str(e)
    return found[0].property


def test_a_stand_in_that_is_called_otherwise_says_nothing_about_the_engine():
    def inner():
        raised.place(1, 2)

    said = "fake calls what stands in for its own function otherwise: place() "
    assert f"{said}takes 1 positional argument but 2 were given (judge_test.py" in caught(inner)
    assert f"{said}missing 1 required positional argument" in caught(lambda: raised.place())
    assert f"{said}got an unexpected keyword argument 'x'" in caught(lambda: raised.place(x=1))


def test_an_engine_that_calls_its_own_function_otherwise_fails():
    def own(x):
        return x

    assert caught(lambda: own(1, 2)) == "P28"
    assert caught(lambda: int("x", y=2)) == "P28"
    assert caught(lambda: 1 + "place() got it") == "P28"
