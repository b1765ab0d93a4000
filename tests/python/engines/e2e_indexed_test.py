"""The model with an indexer of whole engines: its classes of tokens, its reference, its judge."""

import dataclasses
import types

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the reference needs torch, which is not installed")

from mla_testbed import Bundle, UsageError  # noqa: E402
from mla_testbed.engines.decode.built import Built  # noqa: E402
from mla_testbed.engines.e2e import finder, indexed, model, prompts, worker  # noqa: E402
from mla_testbed.engines.e2e.judged import Result  # noqa: E402
from mla_testbed.engines.e2e.reference import Reference, Traced, bf16, fp8  # noqa: E402
from mla_testbed.engines.e2e.scenario import Scenario  # noqa: E402
from mla_testbed.engines.e2e.traced import Served, Step  # noqa: E402

SCENARIO = Scenario(model="dsa", heads=8, requests=1, tokens=2, longest=150, layers=1)


@pytest.fixture(scope="module")
def made():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield model.make(SCENARIO)
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def tokens():
    """150 of them, the last 20 with some that are left out."""
    return [indexed.at(place, (place * 37) % 256) for place in range(150)]


def traced(reference, tokens):
    kept = Traced()
    return reference.logits(tokens, kept), kept.layers[0]


def test_each_class_of_tokens_has_its_sign_of_logits(made, tokens):
    _, layer = traced(Reference(made), tokens)
    last, kinds = layer["index"][-1], torch.tensor(tokens) % 8
    kept, left = (torch.isin(kinds, torch.tensor(members))
                  for members in (indexed.KEPT, indexed.LEFT_OUT))
    assert (int(kept.sum()), int(left.sum())) == (38, 3)
    assert float(last[kept].min()) > 8
    assert float(last[left].max()) < -8
    assert (last[~(kept | left)] == 0).all()


def test_an_fp8_indexer_selects_the_same_but_for_keys_that_attention_ignores(made, tokens):
    exact, right = traced(Reference(made), tokens)
    rounded = Reference(made, bf16, indexer=indexed.rounding(fp8("gfx950")))
    found, other = traced(rounded, tokens)
    assert not torch.equal(right["index"], other["index"])
    chosen = [indexed.selected(one["index"][None])[0] for one in (right, other)]
    important = torch.isin(torch.tensor(tokens) % 8, torch.tensor(
        [*indexed.KEPT, *indexed.LEFT_OUT]))
    assert torch.equal(chosen[0][:, important], chosen[1][:, important])
    assert float((found - exact).abs().max()) < 0.5


def test_attention_over_all_keys_has_other_logits(made, tokens):
    """So an engine that ignores the selection is seen."""
    dense = Reference(made)
    selecting, _ = traced(dense, tokens)
    indexed_all, indexed.TOPK = indexed.TOPK, 1024
    try:
        whole, _ = traced(dense, tokens)
    finally:
        indexed.TOPK = indexed_all
    assert torch.equal(whole[:128], selecting[:128])
    assert float((whole[-1] - selecting[-1]).abs().max()) > 1


def test_a_sequence_token_by_token_is_the_same_as_at_once(made, tokens):
    reference = Reference(made)
    with torch.inference_mode():
        whole, _ = reference.forward(torch.tensor([tokens]), None)
        _, past = reference.forward(torch.tensor([tokens[:-3]]), None)
        for token in tokens[-3:]:
            last, past = reference.forward(torch.tensor([[token]]), past)
    assert float((last[0, -1] - whole[0, -1]).abs().max()) < 1e-3


@pytest.mark.parametrize(("tokens", "verdict"), [
    ([0] * 200, True), ([0] * 128 + [2] * 60, True), ([2] * 128, True), ([2] + [0] * 128, True),
    ([2, 2] + [0] * 127, False), ([0] * 127 + [2, 2], False)])
def test_a_sequence_is_decided_if_128_keys_are_not_left_out_where_keys_are_selected(
        tokens, verdict):
    assert indexed.decided(tokens) is verdict


def test_prompts_begin_with_a_kept_token_and_are_decided(made):
    asked = prompts.ask(SCENARIO, made)
    assert asked.prompts[0][0] % 8 == indexed.KEPT[0]
    assert len(asked.prompts[0]) == 150
    assert indexed.decided([*asked.prompts[0], *asked.expected[0]])
    assert asked.floor.tensors["index"] > 0


def row(values, change=lambda found: None):
    values = torch.tensor(values)
    found = torch.full((indexed.TOPK,), -1)
    best = torch.topk(values, min(indexed.TOPK, len(values))).indices
    found[:len(best)] = best
    change(found)
    return indexed.fault(values, found, 0.5)


MANY = [float(value) for value in range(200)]


@pytest.mark.parametrize(("values", "change", "sentence"), [
    (MANY, lambda found: None, None), (MANY[:50], lambda found: None, None),
    ([0.0] * 200, lambda found: found.copy_(torch.arange(72, 200)), None),
    (MANY, lambda found: found.__setitem__(-1, -1), "selects 127 keys"),
    (MANY[:50], lambda found: found.__setitem__(50, 3), "expected 50"),
    (MANY, lambda found: found.__setitem__(0, 200), "some of them not its own"),
    (MANY, lambda found: found.__setitem__(0, int(found[1])), "selects 127 different keys"),
    (MANY, lambda found: found.__setitem__(0, 5), "leaves out key 199 with logit 199"),
    (MANY, lambda found: found.__setitem__(-1, 70), "takes key 70 with logit 70"),
    ([value / 4 for value in MANY], lambda found: found.__setitem__(-1, 71), None)])
def test_a_selection_is_legal_or_named(values, change, sentence):
    found = row(values, change)
    assert (found is None) if sentence is None else sentence in found


def test_the_first_fault_of_a_step_may_be_a_selection(made, tokens):
    asked = prompts.ask(SCENARIO, made)
    sequence = [*asked.prompts[0], *asked.expected[0]]
    _, layer = traced(Reference(made), sequence)
    selection = torch.full((len(sequence), indexed.TOPK), -1.0)
    for at, seen in enumerate(indexed.selected(layer["index"][None])[0]):
        chosen = seen.nonzero()[:, 0]
        selection[at, :len(chosen)] = chosen
    step = Step(0, [Served(0, len(sequence), 0, ())], torch.tensor(sequence),
                torch.arange(len(sequence)), {0: {**layer, "selection": selection}})
    search = finder.Finder(Reference(made), asked.floor, [sequence])
    assert search.first([step]) is None
    assert search.worst["selection"] == 0
    damaged = selection.clone()
    damaged[140, 0] = damaged[140, 1]
    step.layers[0]["selection"] = damaged
    fault = search.first([step])
    assert (fault.tensor, fault.position, fault.layer) == ("selection", 140, 0)
    assert "the row selects 127 different keys; expected 128" in str(fault)
    assert dataclasses.asdict(fault)["what"]


def served_lists(change=lambda lists: None, foreign=None):
    """Two requests of 140 and 3 keys with a row each, in blocks of 16; the cache has two layers."""
    tables = [tuple(range(1, 10)), (20,)]
    chosen = [list(range(12, 140)), [0, 1, 2]]
    rows = [[tables[i][key // 16] * 32 + key % 16 for key in chosen[i]] for i in range(2)]
    lists = {"seqlens_qo_indptr": [0, 1, 2], "seqlens_kv_indptr": [0, 128, 131],
             "kv_last_page_lens": [1, 1], "kv_indices": [*rows[0], *rows[1]]}
    change(lists)
    bundle = Bundle({}, {name: np.array(value, np.int32) for name, value in lists.items()})
    selection = torch.full((2, indexed.TOPK), -1.0)
    for place, of in enumerate(chosen):
        selection[place, :len(of)] = torch.tensor(of)
    if foreign is not None:
        selection[0, 5] = foreign
    step = Step(0, [Served(0, 1, 0, tables[0]), Served(1, 1, 1, tables[1])], torch.zeros(2),
                torch.tensor([139, 2]), {0: {"selection": selection}}, cache_layers=2,
                built=Built(bundle, (0, 1), None))
    return finder.judged_lists(SCENARIO, 304, [step])


def test_lists_of_a_whole_run_are_those_of_the_selected_keys():
    assert served_lists() == []


@pytest.mark.parametrize(("change", "caught"), [
    (lambda lists: lists["kv_indices"].__setitem__(5, 33), "P01"),
    (lambda lists: lists["kv_indices"].__setitem__(130, 20 * 32 + 3), "P01"),
    (lambda lists: lists["seqlens_kv_indptr"].__setitem__(1, 127), "P04")])
def test_a_list_of_a_whole_run_with_another_key_or_sum_is_a_finding(change, caught):
    assert [finding.property for finding in served_lists(change)] == [caught]


def test_a_selection_that_is_no_key_of_the_row_has_no_lists_and_is_a_fault_of_its_own():
    assert served_lists(foreign=1 << 20) == served_lists(foreign=140) == []
    assert [finding.property for finding in served_lists(foreign=3)] == ["P01"]
    assert "some of them not its own" in row(
        MANY, lambda found: found.__setitem__(0, 1 << 20))


def test_a_rotation_keeps_products_and_is_undone_by_itself():
    x, y = torch.randn(2, 3, 128, generator=torch.Generator().manual_seed(1))
    assert torch.allclose((indexed.hadamard(x) * indexed.hadamard(y)).sum(-1), (x * y).sum(-1),
                          atol=1e-4)
    assert torch.allclose(indexed.hadamard(indexed.hadamard(x)), x, atol=1e-5)
    spike = torch.zeros(128)
    spike[37] = 128**0.5
    assert torch.equal(indexed.hadamard(spike).abs(), torch.ones(128))


def test_an_indexer_whose_positions_are_one_late_is_off_by_more_than_rounding(made, tokens):
    asked = prompts.ask(SCENARIO, made)
    _, right = traced(Reference(made), tokens)
    late = Reference(made)
    late._turns = tuple(table[1:] for table in late._turns)
    _, found = traced(late, tokens)
    assert torch.allclose(found["index"], right["index"], atol=1e-3)  # so a selection shows nothing
    for name in ("index query", "index key"):
        assert float((found[name] - right[name]).abs().max()) > 2 * asked.floor.of(name)


def test_the_drafts_of_a_model_with_an_indexer_repeat_its_only_layer():
    assert Scenario.parse("e2e1:model=dsa;spec=mtp;draft=2;layers=1").draft == 2
    with pytest.raises(UsageError, match="model=mla or dsa and layers=1, found model=dsa;layers=2"):
        Scenario.parse("e2e1:model=dsa;spec=mtp;draft=2")


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_an_fp8_cache_selects_the_same_keys_and_attends_to_them_alone(made, tokens, arch):
    exact, right = traced(Reference(made), tokens)
    absorbed, same = traced(Reference(made, cached=lambda x: x), tokens)
    assert torch.allclose(same["attention"], right["attention"], atol=1e-3)
    assert float((absorbed - exact).abs().max()) < 1e-2
    found, other = traced(Reference(made, bf16, fp8(arch), indexed.rounding(fp8(arch))), tokens)
    assert float((found - exact).abs().max()) < 1
    assert float((other["key"] - right["key"]).abs().max()) > 0.05
    with torch.inference_mode():
        cached = Reference(made, cached=fp8(arch))
        whole, _ = cached.forward(torch.tensor([tokens]), None)
        _, past = cached.forward(torch.tensor([tokens[:-1]]), None)
        last, _ = cached.forward(torch.tensor([tokens[-1:]]), past)
    assert float((last[0, -1] - whole[0, -1]).abs().max()) < 1e-2


SHARING = SCENARIO.changed(layers=3, share=2)


def test_a_model_whose_layers_share_selections_says_so_and_has_an_indexer_in_some_layers():
    made = model.make(SHARING)
    assert made.config["index_topk_pattern"] == "FSF"
    assert "index_topk_pattern" not in model.make(SCENARIO).config
    of_layer = {name.split(".")[2] for name in made.weights if ".indexer." in name}
    assert of_layer == {"0", "2"}
    assert [made.takes(layer) for layer in range(3)] == [False, True, False]


def test_a_layer_without_an_indexer_attends_to_the_selection_of_the_layer_before(tokens):
    made = model.make(SHARING)
    reference, kept = Reference(made), Traced()
    logits = reference.logits(tokens, kept)
    first, taking, last = kept.layers
    assert torch.equal(taking["index"], first["index"])
    assert not torch.equal(last["index"], first["index"])
    assert "index key" in first
    assert "index key" not in taking
    real, calls = indexed.selected, []
    later = torch.arange(len(tokens)) != 5  # all but a key that is kept
    assert tokens[5] % 8 in indexed.KEPT
    try:
        indexed.selected = lambda index: calls.append(index) or (
            real(index) & later if len(calls) == 2 else real(index))
        other = reference.logits(tokens)
    finally:
        indexed.selected = real
    assert torch.equal(calls[0], calls[1])
    assert float((other - logits).abs().max()) > 1e-2
    with torch.inference_mode():
        whole, _ = reference.forward(torch.tensor([tokens]), None)
        _, past = reference.forward(torch.tensor([tokens[:-1]]), None)
        one, _ = reference.forward(torch.tensor([tokens[-1:]]), past)
    assert float((one[0, -1] - whole[0, -1]).abs().max()) < 1e-3


@pytest.mark.parametrize(("line", "found"), [
    ("e2e1:share=2", "'share' is 2; expected 1, or model=dsa and as many layers, found model=mla"),
    ("e2e1:model=dsa;share=3", "expected 1, or model=dsa and as many layers, found model=dsa;lay"),
    ("e2e1:model=dsa;share=0", "scenario field 'share' is 0; expected 1 to 8")])
def test_layers_share_selections_of_a_model_with_an_indexer_alone(line, found):
    with pytest.raises(UsageError, match=found):
        Scenario.parse(line)


def shared_lists(change=lambda lists: None, select=lambda selection: None, layers=(1,), at=1):
    """Layer 0's lists are right; those of later layers are the same but for a change of one."""
    steps = []
    real = finder.judged_lists
    finder.judged_lists = lambda scenario, units, given: steps.extend(given) or []
    try:
        served_lists()
        served_lists(change)
    finally:
        finder.judged_lists = real
    step, other = steps
    for layer in layers:
        step.later[layer] = other.built if layer == at else step.built
        selection = step.layers[0]["selection"].clone()
        if layer == at:
            select(selection)
        step.layers[layer] = {"selection": selection}
    made = finder.judged_lists(SHARING, 304, [step])
    return [(one.property, one.what) for one in made]


def test_a_layer_without_an_indexer_has_the_list_of_this_steps_selection():
    assert shared_lists() == []
    (name, what), = shared_lists(lambda lists: lists["kv_indices"].__setitem__(5, 33))
    assert name == "SP-23"
    assert "layer 1 has no indexer, and another list than that of this step's sel" in what
    assert "selection: P01, " in what
    (name, what), = shared_lists(lambda lists: lists["seqlens_kv_indptr"].__setitem__(1, 127))
    assert (name, "P04" in what) == ("SP-23", True)


@pytest.mark.parametrize("change", [
    lambda selection: selection.fill_(-1), lambda selection: selection.copy_(selection.roll(1, 0)),
    lambda selection: selection[1].copy_(selection[1].flip(0))])
def test_a_selection_that_changed_between_two_layers_is_sp_23(change):
    (name, what), = shared_lists(select=change)
    assert name == "SP-23"
    assert "layer 1 has no indexer, and key " in what
    assert "'s selection; the layer before left " in what


def test_a_later_layer_with_an_indexer_has_the_list_of_its_own_selection():
    (name, _), = shared_lists(lambda lists: lists["kv_indices"].__setitem__(5, 33),
                              layers=(1, 2), at=2)
    assert name == "P01"
    (name, _), = shared_lists(select=lambda selection: selection[0].__setitem__(3, 1.0),
                              layers=(1, 2), at=2)
    assert name == "P01"


@pytest.mark.parametrize(("layers", "missing"), [((), True), ((2,), True), ((1,), False)])
def test_lists_of_a_layer_without_an_indexer_are_seen_where_there_is_one(layers, missing):
    step, result = Step(0, []), Result("e2e1:model=dsa;layers=3;share=2")
    step.tokens, step.later = torch.zeros(0), dict.fromkeys(layers)
    names = ["query", "key", "attention", "logits", "selection"]
    worker._seen(dict.fromkeys(names, 0.1), [step], result,
                 types.SimpleNamespace(name="vllm", supported="0.33"))
    assert result.verdict == ("inconclusive" if missing else "pass")
    if missing:
        assert "list of a layer without an indexer never seen" in result.findings[0]
