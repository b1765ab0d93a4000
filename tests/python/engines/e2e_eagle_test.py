"""The draft of Eagle3, evaluated as an engine does, against what it is taken for."""

import dataclasses
import json

import pytest

torch = pytest.importorskip("torch", reason="the reference needs torch, which is not installed")

from mla_testbed import UsageError  # noqa: E402
from mla_testbed.engines.e2e import drafts, eagle, model  # noqa: E402
from mla_testbed.engines.e2e.prompts import Floor  # noqa: E402
from mla_testbed.engines.e2e.reference import Reference  # noqa: E402
from mla_testbed.engines.e2e.scenario import Scenario  # noqa: E402

SCENARIO = Scenario(heads=8, layers=1, spec="eagle3", draft=3)
TOKENS = [7, 99, 3, 42, 250, 18, 99, 0, 255, 131, 64, 7, 201, 88, 19, 5]


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module", params=[8, 16])
def target(request):
    return model.make(SCENARIO.changed(heads=request.param))


def logits(target, tokens, hidden):
    """Of the draft, as Eagle3 computes it.

    hidden: (tokens, elements) of the target, which the engine hands over.
    """
    draft = target.draft
    weights = {name.replace("midlayer.", "model.layers.0."): value
               for name, value in draft.weights.items()}
    weights.update({
        "model.embed_tokens.weight": target.weights["model.embed_tokens.weight"],
        "model.norm.weight": draft.weights["norm.weight"]})
    # The low rank of queries is all of an embedding, whose norm is 1 already.
    of, none = "model.layers.0.", torch.zeros(model.HIDDEN, model.HIDDEN)
    assert weights[of + "self_attn.q_a_proj.weight"].float().equal(
        torch.cat([torch.eye(model.HIDDEN), none], 1))
    low = weights[of + "self_attn.q_b_proj.weight"]
    weights[of + "self_attn.q_proj.weight"] = torch.cat([low, torch.zeros_like(low)], 1)
    reference = Reference(dataclasses.replace(draft, weights=weights))
    norm, linear = reference._norm, reference._linear
    embeds = reference._weights["model.embed_tokens.weight"][torch.tensor(tokens)][None]
    assert draft.config["norm_before_residual"]
    residual = norm(linear(hidden[None], "fc"), of + "hidden_norm")
    both = torch.cat([norm(embeds, of + "input_layernorm"), residual], -1)
    out, _, _ = reference._mla(both, of + "self_attn.", None, {}, None)
    x = residual + linear(out, of + "self_attn.o_proj")
    h = norm(x, of + "post_attention_layernorm")
    gate = torch.nn.functional.silu(linear(h, of + "mlp.gate_proj"))
    x = x + linear(gate * linear(h, of + "mlp.up_proj"), of + "mlp.down_proj")
    return linear(norm(x, "model.norm"), "lm_head")[0]


def test_a_draft_has_the_logits_that_it_is_held_against(target):
    found = logits(target, TOKENS, torch.randn(len(TOKENS), model.HIDDEN))
    taken = Reference(dataclasses.replace(target, weights=eagle.echoed(target)))
    assert (found - taken.logits(TOKENS)).abs().max() < 0.05  # of a deviation of 4


def test_a_draft_has_the_tokens_of_its_target_mostly_and_not_always(target):
    of_generator = torch.Generator().manual_seed(3)
    tokens = torch.randint(0, model.VOCABULARY, (80,), generator=of_generator).tolist()
    found = logits(target, tokens, torch.zeros(len(tokens), model.HIDDEN)).argmax(-1)
    same = (found == Reference(target).logits(tokens).argmax(-1)).float().mean()
    assert 0.4 < same < 0.95


def test_hidden_states_count_for_nothing_unless_they_are_no_numbers(target):
    hidden = torch.randn(len(TOKENS), model.HIDDEN)
    assert logits(target, TOKENS, hidden).equal(logits(target, TOKENS, 100 * hidden))
    hidden[3, 5] = torch.nan
    assert logits(target, TOKENS, hidden)[3].isnan().all()


def test_heads_that_a_draft_copies_with_add_nothing_to_its_target(target):
    name = "model.layers.0.self_attn.q_proj.weight"
    other = target.weights[name].clone()
    other[-eagle.COPIES * (model.PLAIN + model.ROPE):] += 1
    changed = dataclasses.replace(target, weights={**target.weights, name: other})
    assert Reference(changed).logits(TOKENS).equal(Reference(target).logits(TOKENS))


def test_heads_that_copy_look_at_no_positions(target):
    query = target.draft.weights["midlayer.self_attn.q_b_proj.weight"].view(
        target.heads, model.PLAIN + model.ROPE, model.HIDDEN)
    assert not query[-eagle.COPIES:, model.PLAIN:].any()
    assert query[:-eagle.COPIES, model.PLAIN:].any()


def test_a_draft_is_a_checkpoint_below_its_targets(target, tmp_path):
    pytest.importorskip("safetensors", reason="checkpoints need safetensors")
    target.write(tmp_path)
    config = json.loads((tmp_path / model.DRAFT / "config.json").read_text())
    assert config["model_type"] == "deepseek_v2"
    assert (tmp_path / model.DRAFT / "model.safetensors").is_file()


def test_drafts_of_eagle3_are_held_against_the_echo(target):
    judge = drafts.Drafts(target, Floor(0.01, 0.0, {}), drafts.LEFT_OUT, [3], [TOKENS])
    echo = Reference(dataclasses.replace(target, weights=eagle.echoed(target)))
    assert judge._reference.logits(TOKENS).allclose(echo.logits(TOKENS), atol=1e-4)


@pytest.mark.parametrize(("text", "found"), [
    ("layers=2", "layers=2"), ("layers=1;cache=fp8", "cache=fp8"),
    ("layers=1;model=dsa;arch=gfx950", "model=dsa"), ("layers=1;ranks=2", "ranks=2")])
def test_a_scenario_of_eagle3_is_of_one_dense_layer(text, found):
    with pytest.raises(UsageError) as caught:
        Scenario.parse(f"e2e1:spec=eagle3;draft=2;{text}")
    assert "'spec' is eagle3" in str(caught.value)
    assert found in str(caught.value)
