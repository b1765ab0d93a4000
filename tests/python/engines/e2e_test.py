"""Whole engines, without one: scenarios, reference, floor, fault finder, command."""

import dataclasses
import json
import types

import pytest

torch = pytest.importorskip("torch", reason="the reference needs torch, which is not installed")

from mla_testbed import UsageError  # noqa: E402
from mla_testbed.bundle import Bundle  # noqa: E402
from mla_testbed.engines import ledger, moved  # noqa: E402
from mla_testbed.engines.__main__ import main  # noqa: E402
from mla_testbed.engines.decode.built import Built  # noqa: E402
from mla_testbed.engines.e2e import (  # noqa: E402
    command,
    finder,
    known,
    model,
    prompts,
    worker,
)
from mla_testbed.engines.e2e.judged import Result  # noqa: E402
from mla_testbed.engines.e2e.reference import Reference, Traced, exact, fp8  # noqa: E402
from mla_testbed.engines.e2e.scenario import NAMED, Scenario, drawn  # noqa: E402
from mla_testbed.engines.e2e.traced import Served, Step  # noqa: E402
from mla_testbed.ported import Ported  # noqa: E402

ENGINE = types.SimpleNamespace(name="vllm", supported="vLLM 0.33.0")
SMALL = Scenario(heads=8, requests=2, tokens=4, longest=9)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def small():
    made = model.make(SMALL)
    return made, prompts.ask(SMALL, made)


@pytest.mark.parametrize("scenario", [*NAMED.values(), *drawn(3, 200)])
def test_a_scenario_is_what_its_line_says(scenario):
    assert Scenario.parse(str(scenario)) == scenario


def test_a_cache_has_room_to_spare_or_is_that_of_the_requests_that_run():
    assert Scenario(block=16).blocks(9) == 256
    # Of 100 + 12 + 9 tokens each: not all of three can grow to their end without another's.
    assert Scenario(block=16, running=3).blocks(9) == 3 * 8 - 1
    assert Scenario(block=64, running=1).blocks(9) == 2


def test_requests_that_wait_end_at_different_times_and_every_third_shares_no_prefix():
    scenario = SMALL.changed(running=2, requests=4, tokens=5, longest=9, prefix=1)
    asked = prompts.ask(scenario, model.make(scenario))
    assert [len(expected) for expected in asked.expected] == [2, 5, 2, 5]
    assert [prompt[:6] == asked.prompts[0][:6] for prompt in asked.prompts] == [
        True, True, False, True]


def test_the_same_seed_draws_the_same_scenarios():
    assert list(drawn(5, 20)) == list(drawn(5, 20))
    assert list(drawn(5, 20)) != list(drawn(6, 20))


@pytest.mark.parametrize(("text", "sentence"), [
    ("bf61", "scenario 'bf61' is unknown; expected e2e1:FIELD=VALUE"),
    ("e2e1:head=8", "field 'head=8' is unknown; expected FIELD=VALUE with one of arch"),
    ("e2e1:heads=7", "field 'heads' is 7; expected 8, 16"),
    ("e2e1:heads=x", "field 'heads' is 'x'; expected a number"),
    ("e2e1:heads=8;heads=8", "field 'heads' is given twice"),
    ("e2e1:tokens=0", "field 'tokens' is 0; expected 1 to 256"),
    ("e2e1:spec=ngram", "'spec' and 'draft' are ngram and 0"),
    ("e2e1:spec=mtp;draft=1", "expected model=mla or dsa and layers=1, found model=mla;layers=2"),
    ("e2e1:scale=3", "field 'scale' is 3; expected 1, 2, 4, 8"),
    ("e2e1:scale=2", "expected 1, or model=mla and cache=fp8, found model=mla;cache=bf16"),
    ("e2e1:model=llama;cache=fp8", "expected cache=bf16 and block=16 or 32, found cache=fp8"),
])
def test_a_bad_scenario_is_refused_by_its_field(text, sentence):
    with pytest.raises(UsageError) as caught:
        Scenario.parse(text)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("scenario", [SMALL, Scenario(model="llama", heads=8, layers=2)])
def test_a_sequence_that_is_continued_has_the_logits_of_the_whole(scenario):
    reference, tokens = Reference(model.make(scenario)), [3, 7, 250, 7, 19, 4]
    whole = reference.logits(tokens)
    first, past = reference.forward(torch.tensor([tokens[:4]]), None)
    second, _ = reference.forward(torch.tensor([tokens[4:]]), past)
    assert torch.allclose(whole, torch.cat([first[0], second[0]]), atol=1e-4)


def test_absorbed_attention_over_latents_is_the_expanded_one():
    made, tokens = model.make(SMALL), list(range(20))
    plain, absorbed = (Reference(made, exact, cached).logits(tokens) for cached in (None, exact))
    assert torch.allclose(plain, absorbed, atol=1e-3)
    assert not torch.allclose(plain, Reference(made, exact, fp8("gfx942")).logits(tokens), atol=0.1)


def test_an_echo_draft_has_its_targets_weights_but_for_half_of_the_mlp():
    made = model.make(Scenario(layers=1, spec="mtp", draft=2))
    for name, value in made.weights.items():
        if name.startswith("model.layers.0."):
            share = 0.5 if name.endswith("mlp.down_proj.weight") else 1
            assert made.weights[name.replace("layers.0", "layers.1")].equal(share * value)
    norms = made.weights["model.embed_tokens.weight"].float().square().mean(-1)
    assert (norms - 1).abs().max() < 0.01


def test_prompts_keep_their_margin_in_every_step(small):
    made, scenario = small[0], SMALL.changed(tokens=12, requests=3)
    reference, asked = Reference(made), prompts.ask(scenario, made)
    assert len(asked.prompts) == scenario.requests
    assert max(map(len, asked.prompts)) == scenario.longest
    for prompt, expected in zip(asked.prompts, asked.expected, strict=True):
        logits = reference.logits([*prompt, *expected])[len(prompt) - 1:-1]
        assert logits.argmax(-1).tolist() == expected
        best = logits.topk(2).values
        assert (best[:, 0] - best[:, 1]).min() >= asked.margin - 1e-3


def test_an_fp8_cache_has_a_higher_floor_and_no_margin(small):
    asked = prompts.ask(SMALL.changed(cache="fp8"), small[0])
    assert asked.margin == 0
    assert asked.floor.logits > 2 * small[1].floor.logits


def served(made, asked):
    """Steps of an engine that makes no error: prompts, then a token of each request a step."""
    reference, whole = Reference(made), [[*p, *e] for p, e in zip(
        asked.prompts, asked.expected, strict=True)]
    traced = [Traced() for _ in whole]
    logits = [reference.logits(w, t) for w, t in zip(whole, traced, strict=True)]
    steps = []
    for number in range(SMALL.tokens):
        spans = [(0, len(p)) if number == 0 else (len(p) + number - 1, len(p) + number)
                 for p in asked.prompts]
        firsts = [0, spans[0][1] - spans[0][0]]
        batch = [Served(i, end - start, firsts[i], tuple(range(10 * i, 10 * i + 2)))
                 for i, (start, end) in enumerate(spans)]
        step = Step(number, batch)
        step.tokens = torch.tensor([t for w, (a, b) in zip(whole, spans, strict=True)
                                    for t in w[a:b]])
        step.positions = torch.cat([torch.arange(a, b) for a, b in spans])
        for layer in range(SMALL.layers):
            step.layers[layer] = {name: torch.cat([t.layers[layer][name][a:b] for t, (a, b) in zip(
                traced, spans, strict=True)]) for name in ("query", "key", "attention")}
        step.logits = torch.stack([g[b - 1] for g, (_, b) in zip(logits, spans, strict=True)])
        step.logit_rows = torch.tensor([one.first + one.rows - 1 for one in batch])
        steps.append(step)
    return steps, finder.Finder(reference, asked.floor, whole)


def test_the_finder_finds_nothing_where_nothing_is_off(small):
    steps, find = served(*small)
    assert find.first(steps) is None
    assert max(find.worst.values()) < 0.01


@pytest.mark.parametrize(("tensor", "layer"), [("query", 0), ("key", 1), ("attention", 1)])
def test_the_finder_names_the_first_tensor_that_is_off(small, tensor, layer):
    steps, find = served(*small)
    bound = small[1].floor.of(tensor)
    for step in steps[2:]:  # all later ones too, and the logits
        row = step.served[1].first
        step.layers[layer][tensor][row, 5] += 1.5 * bound
        step.logits += 100
    fault = find.first(steps)
    position = len(small[1].prompts[1]) + 1
    assert (fault.step, fault.layer, fault.request, fault.tensor, fault.position) == (
        2, layer, 1, tensor, position)
    assert fault.bound == bound
    assert fault.off == pytest.approx(1.5 * bound, rel=1e-3)
    assert f"step 2, layer {layer}, request 1, position {position}: {tensor} is off" in str(fault)


def test_the_finder_takes_what_rounding_explains(small):
    steps, find = served(*small)
    steps[1].layers[0]["attention"][0, 0] += 0.9 * small[1].floor.of("attention")
    assert find.first(steps) is None


def test_a_row_that_nobody_wrote_is_off(small):
    steps, find = served(*small)
    steps[1].layers[0]["attention"][1] = torch.nan
    fault = find.first(steps)
    assert (fault.step, fault.layer, fault.request, fault.tensor) == (1, 0, 1, "attention")


def test_what_is_computed_after_the_last_token_is_not_compared(small):
    steps, find = served(*small)
    last = steps[-1]
    last.positions += 2
    last.layers[0]["attention"][:] = torch.nan
    assert find.first(steps) is None


def test_wrong_logits_and_wrong_inputs_are_named(small):
    steps, find = served(*small)
    steps[3].logits[0] += 5
    assert (find.first(steps).step, find.first(steps).tensor) == (3, "logits")
    steps[1].tokens[0] += 1
    assert "step 1, request 0" in str(find.first(steps))
    assert "the model got other tokens than the request has" in str(find.first(steps))
    steps[0].positions[0] = 5
    assert find.first(steps).tensor == "positions"


def with_lists(step, scenario, pages):
    """The lists of a decode over these cache rows, one list a request."""
    sums = [0]
    for one in pages:
        sums.append(sums[-1] + len(one))
    count = len(pages)
    arrays = {"seqlens_qo_indptr": range(count + 1), "seqlens_kv_indptr": sums,
              "kv_last_page_lens": [1] * count, "kv_indices": [p for one in pages for p in one]}
    made = {k: torch.tensor(list(v), dtype=torch.int32).numpy() for k, v in arrays.items()}
    scalars = {"name": "x", "arch": "gfx942", "num_cu": 304, "num_heads_per_head_k": scenario.heads,
               "num_heads_k": 1, "page_size": 1, "is_causal": True, "dtype_q": "bf16",
               "dtype_kv": "bf16", "max_seqlen_qo": 1}
    step.built = Built(Bundle(scalars, made), tuple(range(count)), None)


def test_lists_are_judged_against_the_block_tables_of_the_scheduler(small):
    steps, _ = served(*small)
    step = steps[1]
    ends = [int(step.positions[one.first]) + 1 for one in step.served]
    right = [[block * SMALL.block + i for block in one.blocks for i in range(SMALL.block)][:end]
             for one, end in zip(step.served, ends, strict=True)]
    with_lists(step, SMALL, right)
    assert finder.judged_lists(SMALL, 304, steps) == []
    shortest = min(ends)
    right[0][:shortest], right[1][:shortest] = right[1][:shortest], right[0][:shortest]
    with_lists(step, SMALL, right)
    found = finder.judged_lists(SMALL, 304, steps)
    assert [f.property for f in found][:1] == ["P01"]
    assert found[0].step == 1


def test_a_place_that_moved_is_named_with_the_versions_that_have_it():
    with pytest.raises(moved.MovedError) as caught:
        moved.replace("vLLM 9.9", "vLLM 0.33.0", "json.decoder:JSONDecoder.parse_all", lambda b: b)
    assert str(caught.value) == ("vLLM 9.9 has no json.decoder.JSONDecoder.parse_all, which whole "
                                 "runs reach into; expected vLLM 0.33.0")
    with pytest.raises(moved.MovedError, match="vLLM 9.9 has no json.gone.x"):
        moved.found("vLLM 9.9", "vLLM 0.33.0", "json.gone:x")


class FakeRunner:
    """Fails while a scenario has at least three requests and a prefix."""

    def __init__(self):
        self.asked = []

    def run(self, scenario):
        self.asked.append(scenario)
        result = Result(str(scenario))
        if scenario.requests >= 3 and scenario.prefix:
            result.found("wrong")
        return result


def test_a_failing_scenario_is_made_smaller_and_still_fails():
    runner = FakeRunner()
    first = runner.run(NAMED["chunked"])
    smallest = command.smaller(runner, first, 40)
    assert smallest.scenario == "e2e1:prefix=1;requests=3;tokens=2;longest=3;layers=1"
    assert smallest.verdict == "fail"
    runner.asked.clear()
    command.smaller(runner, first, 5)
    assert len(runner.asked) == 5


def test_results_are_printed_with_a_line_that_repeats_them():
    result = Result("e2e1:heads=8", "vllm", "0.33.0", "abc", tokens=24, equal=20, margin=0.3,
                    stand_ins={"rms_norm": 3}, bundle="there")
    result.found("first fault: step 2, layer 0")
    text = "\n".join(command.lines(result, command.Runner("vllm", "python", 1.0)))
    for part in ("FAIL e2e1:heads=8 engine=vllm 0.33.0 aiter=abc", "first fault: step 2, layer 0",
                 "tokens 20 of 24 equal (each ahead by 0.30)", "stand-ins: rms_norm 3",
                 "bundle: there", "REPRO: mla-testbed-engines e2e e2e1:heads=8 --engine vllm"):
        assert part in text


def script(tmp_path, body):
    """An interpreter that is no Python."""
    path = tmp_path / "python"
    path.write_text("#!/bin/sh\n" + body)
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(("verdict", "code"), [("pass", 0), ("fail", 1), ("inconclusive", 4)])
def test_the_exit_code_is_the_verdicts(tmp_path, capsys, verdict, code):
    made = dataclasses.asdict(Result("e2e1:", "vllm", "0.33.0", verdict=verdict, findings=["why"]))
    python = script(tmp_path, f"cat > \"$5\" <<'E'\n{json.dumps(made)}\nE\n")
    assert main(["e2e", "bf16", "--engine", "vllm", "--python", python,
                 "--json", str(tmp_path / "out")]) == code
    out = capsys.readouterr().out
    assert f"[1/1] {verdict.upper()} e2e1: engine=vllm 0.33.0" in out
    assert json.loads((tmp_path / "out").read_text())["verdict"] == verdict


@pytest.mark.parametrize(("more", "code"), [([], 4), (["--ported"], 0)])
def test_changed_sources_of_aiter_that_did_not_run_are_not_passed(tmp_path, capsys, more, code):
    ported = Ported("e404", ("module_x",), {"csrc/x.cu": ("module_x",)}).as_json()
    made = dataclasses.asdict(Result("e2e1:", "vllm", "0.33.0", ported=ported))
    python = script(tmp_path, f"cat > \"$5\" <<'E'\n{json.dumps(made)}\nE\n")
    assert main(["e2e", "bf16", "--engine", "vllm", "--python", python, *more]) == code
    out = capsys.readouterr().out
    assert "csrc/x.cu differs from AITER e404, and its change did not run" in out


@pytest.mark.parametrize(("worst", "blind", "sentence"), [
    (["query", "key", "attention"], False, "logits never seen, no layer seen in 0 of 1 steps"),
    (["query", "key", "attention", "logits"], True, "no layer seen in 1 of 1 steps")])
def test_what_was_not_watched_is_inconclusive(worst, blind, sentence):
    step, result = Step(0, []), Result("e2e1:", version="9.9")
    step.tokens = None if blind else torch.zeros(0)
    worker._seen(dict.fromkeys(worst, 0.1), [step], result, ENGINE)
    assert result.verdict == "inconclusive"
    assert sentence in result.findings[0]


def test_a_run_that_was_watched_throughout_passes():
    step, result = Step(0, []), Result("e2e1:")
    step.tokens = torch.zeros(0)
    worst = dict.fromkeys(["query", "key", "attention", "logits"], 0.1)
    worker._seen(worst, [step], result, ENGINE)
    assert result.verdict == "pass"


def test_a_process_without_a_result_is_inconclusive_with_its_last_words(tmp_path, capsys):
    python = script(tmp_path, "echo out of luck >&2\nexit 9\n")
    assert main(["e2e", "bf16", "--engine", "vllm", "--python", python]) == 4
    assert "the process ended with 9: out of luck" in capsys.readouterr().out
    python = script(tmp_path, "sleep 30\n")
    assert main(["e2e", "bf16", "--engine", "vllm", "--python", python, "--timeout", "0.5"]) == 4
    assert "no result within 0.5 s" in capsys.readouterr().out


def test_a_run_without_scenarios_names_those_there_are(capsys):
    assert main(["e2e", "--engine", "vllm"]) == 2
    assert "expected one of bf16, bf16-gfx950" in capsys.readouterr().err
    assert main(["e2e", "e2e1:heads=9", "--engine", "vllm"]) == 2


KNOWN_RUN = "e2e1:requests=3;tokens=6;longest=40;layers=1;dcp=2"
KNOWN_SAID = ("rank 0: the engine raised RuntimeError: mla_decode_stage1_asm_fwd failed: the "
              "manifest has no row for decode bf16/bf16, 16 heads, qSeqLen 4, persistent, causal, "
              "lse")


@pytest.mark.parametrize(("findings", "scenario", "more", "verdict", "code"), [
    ([KNOWN_SAID], KNOWN_RUN, [], "known-fail", 0),
    ([KNOWN_SAID], KNOWN_RUN, ["--no-ledger"], "fail", 1),
    ([KNOWN_SAID, "another"], KNOWN_RUN, [], "fail", 1),
    ([KNOWN_SAID], KNOWN_RUN + ";arch=gfx950", [], "fail", 1),
    ([], KNOWN_RUN, [], "pass", 5),
    ([], KNOWN_RUN + ";seed=2", [], "pass", 0)])
def test_a_failure_is_known_if_entries_explain_all_of_it_and_a_witness_that_passes_is_unexpected(
        tmp_path, capsys, findings, scenario, more, verdict, code):
    made = Result(scenario, "vllm", "0.33.0")
    for sentence in findings:
        made.found(sentence)
    text = json.dumps(dataclasses.asdict(made))
    python = script(tmp_path, f"cat > \"$5\" <<'E'\n{text}\nE\n")
    assert main(["e2e", scenario, "--engine", "vllm", "--python", python, *more]) == code
    out = capsys.readouterr().out
    assert f"[1/1] {verdict.upper()} {scenario}" in out
    assert ("  known: VLLM-13-e2e: " in out) == (verdict == "known-fail")
    assert ("a known failure passed on its witness: VLLM-13-e2e" in out) == (code == 5)


def test_an_entry_about_a_finding_of_a_property_explains_that_property_alone():
    entries = ledger.read(ledger.SHIPPED / "sglang.json")
    said = ("step 9: coverage: request 2, rows 2..3: keys 16..17 of the request are covered by no "
            "work")
    for prefix, verdict in (("P05 ", "known-fail"), ("P01 ", "fail"), ("", "fail")):
        result = Result("e2e1:cache=fp8", "sglang", "0.5.19")
        result.found(prefix + said)
        known.explain(result, entries)
        assert result.verdict == verdict


def test_a_checkpoint_has_the_scale_of_a_scenarios_cache_in_each_layer():
    made = model.make(SMALL.changed(cache="fp8", scale=8))
    scales = {name: float(value) for name, value in made.weights.items() if "_scale" in name}
    of = "model.layers.{}.self_attn.mla_attn.mla_attn.{}_scale".format
    assert scales == {of(layer, kind): 8.0 for layer in range(2) for kind in "kv"}
    assert made.config["quantization_config"]["kv_cache_scheme"]["num_bits"] == 8
    assert "quantization_config" not in model.make(SMALL).config
