"""What the recorder of a whole run saves of a launch, and says of a step without a plan."""

import types

import pytest

torch = pytest.importorskip("torch", reason="the recorder needs torch, which is not installed")

import mla_testbed as mla  # noqa: E402
from mla_testbed.engines.e2e.recorder import Recorder, unplanned  # noqa: E402
from mla_testbed.engines.e2e.scenario import Scenario  # noqa: E402
from mla_testbed.engines.e2e.traced import Served, Step  # noqa: E402


def words(*values):
    return torch.tensor(values, dtype=torch.int32)


def saved(tmp_path, blocks):
    """The bundle of a launch of two requests without a plan, and of what the scheduler says."""
    recorder = Recorder(Scenario(block=1), types.SimpleNamespace(
        facts={"arch": "gfx942", "num_cu": 304}, decode=[]))
    # The third request is a prompt, and not in the launch.
    recorder.steps.append(Step(0, [Served(number, 1, number, blocks[number])
                                   for number in range(3)]))
    recorder.given = words(1, 2, 3), words(2, 1, 0)
    cache = torch.ones(64, 1, 1, 576, dtype=torch.bfloat16)
    recorder._saved(str(tmp_path), {
        "q": torch.ones(2, 16, 576, dtype=torch.bfloat16), "kv_buffer": cache,
        "o": torch.ones(2, 16, 512, dtype=torch.bfloat16), "qo_indptr": words(0, 1, 2),
        "kv_indptr": words(0, 3, 5), "kv_indices": words(7, 8, 9, 20, 21),
        "kv_last_page_lens": words(1, 1), "max_seqlen_q": 1, "sm_scale": 0.07})
    return mla.Bundle.load(tmp_path)


def test_a_launch_without_a_plan_is_saved_with_its_lists_and_tensors(tmp_path):
    bundle = saved(tmp_path, ((7, 8, 9, 4), (20, 21), (5,)))
    assert bundle.arrays["kv_indices"].tolist() == [7, 8, 9, 20, 21]
    assert bundle.arrays["seqlens_kv_indptr"].tolist() == [0, 3, 5]
    assert (bundle.scalars["num_heads_per_head_k"], bundle.scalars["num_cu"]) == (16, 304)
    assert bundle.tensors()["out"].shape == (2, 16, 512)
    with pytest.raises(mla.UnsupportedError, match="there are no plan buffers"):
        mla.check(bundle)


def test_a_saved_launch_is_held_against_what_the_scheduler_said(tmp_path):
    bundle = saved(tmp_path, ((7, 8, 9), (20, 22), (5,)))
    assert bundle.arrays["scheduler_seq_lens"].tolist() == [3, 2]
    assert bundle.arrays["scheduler_block_table"].tolist() == [7, 8, 9, 20, 22, 0]
    answer = mla.check(bundle)
    assert [violation.rule for violation in answer.violations] == ["schedule"]
    assert "page 1 of request 1 is 21 in kv_indices" in answer.violations[0].what


def test_a_step_without_a_plan_is_that_of_the_scenarios_heads_and_dtypes():
    scalars = unplanned(Scenario(heads=8, cache="fp8"), 4)
    assert (scalars["num_heads_per_head_k"], scalars["max_seqlen_qo"]) == (8, 4)
    assert (scalars["dtype_q"], scalars["dtype_kv"]) == ("fp8", "fp8")


@pytest.mark.parametrize(("found", "wanted", "sentence"), [
    (None, 1, ""), (1.0, 1, ""), (4.0, 4, ""),
    (1.0, 4, "the scale of layer 0's cache is 1; the checkpoint has 4"),
    (8.0, 4, "the scale of layer 0's cache is 8; the checkpoint has 4"),
    (None, 2, "the scale of layer 0's cache is not seen; the checkpoint has 2")])
def test_a_cache_with_another_scale_than_the_checkpoint_is_named(found, wanted, sentence):
    recorder = Recorder(Scenario(cache="fp8", scale=wanted), types.SimpleNamespace())
    recorder.scale = found
    assert recorder.wrong_scale(wanted) == sentence


@pytest.mark.parametrize(("scenario", "kept"), [
    (Scenario(), [0]), (Scenario(model="dsa"), [0]), (Scenario(model="dsa", share=2), [0, 1, 2])])
def test_lists_of_all_layers_are_kept_where_layers_share_selections(scenario, kept):
    recorder, step = Recorder(scenario, types.SimpleNamespace()), Step(0, [])
    for layer in range(-1, 3):  # -1: of a draft
        if recorder.lists_of(layer):
            recorder.keep_lists(step, layer, f"of {layer}")
    found = {0: step.built, **step.later}
    assert found == {layer: f"of {layer}" for layer in kept}
