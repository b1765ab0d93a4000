"""What the recorder of a whole run saves of a launch, and says of a step without a plan."""

import types

import pytest

torch = pytest.importorskip("torch", reason="the recorder needs torch, which is not installed")

import mla_testbed as mla  # noqa: E402
from mla_testbed.engines.e2e.recorder import Recorder, unplanned  # noqa: E402
from mla_testbed.engines.e2e.scenario import Scenario  # noqa: E402
from mla_testbed.engines.e2e.traced import Step  # noqa: E402


def words(*values):
    return torch.tensor(values, dtype=torch.int32)


def test_a_launch_without_a_plan_is_saved_with_its_lists_and_tensors(tmp_path):
    recorder = Recorder(types.SimpleNamespace(facts={"arch": "gfx942", "num_cu": 304}, decode=[]))
    recorder.steps.append(Step(0, []))
    cache = torch.ones(64, 1, 1, 576, dtype=torch.bfloat16)
    recorder._saved(str(tmp_path), {
        "q": torch.ones(2, 16, 576, dtype=torch.bfloat16), "kv_buffer": cache,
        "o": torch.ones(2, 16, 512, dtype=torch.bfloat16), "qo_indptr": words(0, 1, 2),
        "kv_indptr": words(0, 3, 5), "kv_indices": words(7, 8, 9, 20, 21),
        "kv_last_page_lens": words(1, 1), "max_seqlen_q": 1, "sm_scale": 0.07})
    bundle = mla.Bundle.load(tmp_path)
    assert bundle.arrays["kv_indices"].tolist() == [7, 8, 9, 20, 21]
    assert bundle.arrays["seqlens_kv_indptr"].tolist() == [0, 3, 5]
    assert (bundle.scalars["num_heads_per_head_k"], bundle.scalars["num_cu"]) == (16, 304)
    assert bundle.tensors()["out"].shape == (2, 16, 512)
    with pytest.raises(mla.UnsupportedError, match="there are no plan buffers"):
        mla.check(bundle)


def test_a_step_without_a_plan_is_that_of_the_scenarios_heads_and_dtypes():
    scalars = unplanned(Scenario(heads=8, cache="fp8"), 4)
    assert (scalars["num_heads_per_head_k"], scalars["max_seqlen_qo"]) == (8, 4)
    assert (scalars["dtype_q"], scalars["dtype_kv"]) == ("fp8", "fp8")
