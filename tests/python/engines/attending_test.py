"""What a whole engine attends with in a run without AITER, against dense attention."""

import sys
import types

import pytest

torch = pytest.importorskip("torch", reason="engines attend with torch's tensors")

from mla_testbed import UsageError  # noqa: E402
from mla_testbed.engines import attending, plain, without_aiter  # noqa: E402
from mla_testbed.engines.e2e.scenario import Scenario  # noqa: E402

LENGTHS, SCALE = (5, 900), 0.07  # the second one is merged


@pytest.fixture
def aiter(monkeypatch):
    made, mla = types.ModuleType("aiter"), types.ModuleType("aiter.mla")
    made.mla = mla
    monkeypatch.setitem(sys.modules, "aiter", made)
    monkeypatch.setitem(sys.modules, "aiter.mla", mla)
    attending.install("gfx942")
    return made


def words(*values):
    return torch.tensor(values, dtype=torch.int32)


def step(*counts):
    """Two requests of so many rows, with a plan: arguments by name."""
    rows, total = max(counts), sum(counts)
    planners = without_aiter.planners("gfx942", 304)
    sizes = planners["get_mla_metadata_info_v1"](2, rows, 16, torch.bfloat16, torch.bfloat16, False)
    buffers = [torch.zeros(shape, dtype=dtype) for shape, dtype in sizes]
    sums = words(0, counts[0], total), words(0, LENGTHS[0], sum(LENGTHS))
    last = words(1, 1)
    meta, indptr, info, reduce_indptr, final, partial = buffers
    planners["get_mla_metadata_v1"](*sums, last, 16, 1, True, meta, info, indptr, reduce_indptr,
                                    final, partial, max_seqlen_qo=rows,
                                    uni_seqlen_qo=rows if counts[0] == counts[1] else -1)
    drawn = torch.Generator().manual_seed(4)
    pages = torch.randperm(1000, generator=drawn)[:sum(LENGTHS)].int()
    return {
        "q": torch.randn(total, 16, 576, generator=drawn).bfloat16(),
        "kv_buffer": torch.randn(1000, 1, 1, 576, generator=drawn).bfloat16(),
        "o": torch.full((total, 16, 512), torch.nan, dtype=torch.bfloat16),
        "qo_indptr": sums[0], "kv_indptr": sums[1], "kv_indices": pages, "kv_last_page_lens": last,
        "max_seqlen_q": rows, "sm_scale": SCALE, "work_meta_data": meta, "work_indptr": indptr,
        "work_info_set": info, "reduce_indptr": reduce_indptr, "reduce_final_map": final,
        "reduce_partial_map": partial}


def dense(given, *counts):
    """(rows, heads, 512) in float64."""
    out, first = [], 0
    for number, length in enumerate(LENGTHS):
        keys = given["kv_buffer"][given["kv_indices"][first:first + length].long()].double()
        keys, first = keys.view(length, 576), first + length
        for row in range(counts[number]):
            seen = keys[:length - counts[number] + row + 1]
            scores = given["q"][len(out)].double() @ seen.T * SCALE
            out.append(torch.softmax(scores, -1) @ seen[:, :512])
    return torch.stack(out)


@pytest.mark.parametrize("counts", [(1, 1), (4, 4), (1, 3), (2, 1)])
def test_a_planned_decode_is_dense_attention(aiter, counts):
    given = step(*counts)
    before = plain.used["mla_decode_fwd"]
    aiter.mla.mla_decode_fwd(**given)
    assert (given["o"].double() - dense(given, *counts)).abs().max() < 0.02
    assert plain.used["mla_decode_fwd"] == before + 1


@pytest.mark.parametrize("rows", [1, 4])
def test_a_decode_without_a_plan_is_dense_attention(aiter, rows):
    given = {name: value for name, value in step(rows, rows).items()
             if not name.startswith(("work", "reduce"))}
    aiter.mla.mla_decode_fwd(**given, num_kv_splits=5)
    assert (given["o"].double() - dense(given, rows, rows)).abs().max() < 0.02


def test_a_scale_of_scores_is_that_of_the_elements_of_a_key_unless_it_is_given(aiter):
    given, without = step(1, 1), step(1, 1)
    aiter.mla.mla_decode_fwd(**{**given, "sm_scale": 576**-0.5})
    aiter.mla.mla_decode_fwd(**{**without, "sm_scale": None})
    assert given["o"].equal(without["o"])


@pytest.mark.parametrize(("changed", "sentence"), [
    ({"logit_cap": 30.0}, "a decode of 16 heads with a cap of 30 is not served"),
    ({"q": torch.zeros(2, 32, 576, dtype=torch.bfloat16)}, "a decode of 32 heads with a cap of 0")])
def test_another_decode_is_refused(aiter, changed, sentence):
    with pytest.raises(NotImplementedError, match=sentence):
        aiter.mla.mla_decode_fwd(**{**step(1, 1), **changed})


def test_prompts_are_attended_densely(aiter):
    q, k, v = (torch.randn(5, 2, 64).bfloat16() for _ in range(3))
    sums = words(0, 2, 5)
    out = aiter.flash_attn_varlen_func(q, k, v, sums, sums, 3, 3, softmax_scale=0.1, causal=True)
    first = torch.softmax(q[2, 0].double() @ k[2:3, 0].double().T * 0.1, -1) @ v[2:3, 0].double()
    assert (out[2, 0].double() - first).abs().max() < 0.02
    with pytest.raises(NotImplementedError, match=r"dropout_p=0.5 is not served"):
        aiter.flash_attn_varlen_func(q, k, v, sums, sums, 3, 3, dropout_p=0.5)


@pytest.mark.parametrize(("field", "value"), [
    ("model", "llama"), ("heads", 8), ("cache", "fp8"), ("backend", "aiter"), ("dcp", 2)])
def test_a_scenario_that_needs_more_of_aiter_is_refused(field, value):
    attending.expect(Scenario())
    scenario = Scenario().changed(**{field: value, **({"heads": 8} if field == "model" else {})})
    if field == "model":
        scenario = scenario.changed(block=16)
    with pytest.raises(UsageError) as caught:
        attending.expect(scenario)
    assert f"scenario field '{field}' is {value}; expected " in str(caught.value)
