"""Drafts are held against the draft model, whether the target accepts them or not."""

import types

import pytest

torch = pytest.importorskip("torch", reason="the reference needs torch, which is not installed")

from mla_testbed.engines.e2e import drafts, model, worker  # noqa: E402
from mla_testbed.engines.e2e.judged import Result  # noqa: E402
from mla_testbed.engines.e2e.prompts import Floor  # noqa: E402
from mla_testbed.engines.e2e.reference import Reference  # noqa: E402
from mla_testbed.engines.e2e.scenario import Scenario  # noqa: E402
from mla_testbed.engines.e2e.traced import Served, Step  # noqa: E402
from mla_testbed.engines.moved import found  # noqa: E402

FLOOR = Floor(logits=0.01, regret=0.0, tensors={})
PROMPT = [7, 99, 3, 42, 250, 18]


@pytest.fixture(scope="module")
def made():
    return model.make(Scenario(heads=8, layers=1, spec="mtp", draft=3))


def drafted(made, shift):
    """A step that verifies what a sound draft model drafts, and the judge of it.

    shift: tokens of a prompt that the draft model does not get, or replaces by a zero embedding.
    """
    name, down = "model.embed_tokens.weight", "model.layers.0.mlp.down_proj.weight"
    weights = {**made.weights, down: made.weights[down] / 2,
               name: torch.cat([made.weights[name], torch.zeros(1, model.HIDDEN)])}
    draft = Reference(model.Model(made.config, weights, made.heads, made.layers, made.mla))
    target = Reference(made)
    tokens = [*PROMPT, int(target.logits(PROMPT)[-1].argmax())]
    start = len(PROMPT)
    for _ in range(3):
        inputs = tokens[1:] if shift == drafts.LEFT_OUT else [model.VOCABULARY, *tokens[2:]]
        tokens.append(int(draft.logits(inputs)[-1].argmax()))
    step = Step(3, [Served(0, 4, 0, ())], torch.tensor(tokens[start:]),
                torch.arange(start, start + 4))
    sequence = [*tokens[:start + 1], *(int(t) for t in target.logits(tokens)[start:].argmax(-1))]
    return step, drafts.Drafts(made, FLOOR, shift, [len(PROMPT)], [sequence])


@pytest.mark.parametrize("shift", [drafts.LEFT_OUT, drafts.MASKED])
def test_what_the_draft_model_drafts_is_right(made, shift):
    step, judge = drafted(made, shift)
    judge.judge([step])
    assert (judge.judged, judge.wrong) == (3, [])


@pytest.mark.parametrize("row", [1, 2, 3])
def test_a_draft_of_another_token_is_named_and_later_ones_are_held_against_what_follows_it(
        made, row):
    step, judge = drafted(made, drafts.LEFT_OUT)
    right = int(step.tokens[row])
    step.tokens[row] = (right + 1) % model.VOCABULARY
    judge.judge([step])
    assert judge.wrong[0].startswith(
        f"step 3, request 0: draft {row} at position {len(PROMPT) + row} is token "
        f"{(right + 1) % model.VOCABULARY}; the draft model has token {right} ahead by ")
    assert f"draft {row}" not in "".join(judge.wrong[1:])


def test_a_draft_that_is_not_ahead_of_the_next_token_is_not_judged(made):
    step, judge = drafted(made, drafts.LEFT_OUT)
    judge.floor = Floor(logits=100.0, regret=0.0, tensors={})
    step.tokens[1] += 1
    judge.judge([step])
    assert (judge.judged, judge.wrong) == (0, [])


def test_rows_of_a_prompt_and_rows_after_the_last_token_are_no_drafts(made):
    step, judge = drafted(made, drafts.LEFT_OUT)
    for start in (len(PROMPT) - 1, len(judge.sequences[0])):
        step.positions = torch.arange(start, start + 4)
        judge.judge([step])
    assert judge.judged == 0


@pytest.mark.parametrize(("wrong", "accepted", "verdict", "sentence"), [
    (["step 1: one"], 5, "fail", "1 of 9 drafts are not the draft model's: step 1: one"),
    ([], 5, "pass", ""),
    ([], 0, "inconclusive", "none of 12 drafts was accepted; expected some"),
])
def test_wrong_drafts_fail_and_a_run_without_an_accepted_one_does_not_pass(
        wrong, accepted, verdict, sentence):
    result = Result("e2e1:", drafts=12, accepted=accepted)
    worker._drafts(types.SimpleNamespace(judge=lambda _: None, judged=9, wrong=wrong), [], result)
    assert (result.verdict, result.drafted) == (verdict, 9)
    assert "".join(result.findings).startswith(sentence)


def test_a_package_that_the_engine_lacks_is_named_as_such(tmp_path, monkeypatch):
    (tmp_path / "engine_of_a_test.py").write_text("import package_that_is_not_there\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match="vLLM 9.9 imports package_that_is_not_there, which is "
                                          "not installed; docs/use/engines.md"):
        found("vLLM 9.9", "vLLM 0.33.0", "engine_of_a_test:x")
