"""What stands for compiled operations of SGLang's indexer, against references of the chain."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="stand-ins need torch, which is not installed")

from mla_testbed.engines.sglang import indexer  # noqa: E402
from mla_testbed.sparse import cache  # noqa: E402
from mla_testbed.sparse.case import KEY, ROW, Case  # noqa: E402
from mla_testbed.sparse.inputs import inputs_of  # noqa: E402
from mla_testbed.sparse.real.device import FP8  # noqa: E402

CASES = ["sparse1:2q1s100_1q3s70;block=64;layout=shuffle", "sparse1:1q2s40;block=1;fp8=ocp",
         "sparse1:1q1s200_1q1s3;block=64;layout=shuffle;fp8=ocp"]


def blocks(inputs, flat):
    of = torch.from_numpy(flat.copy()).view(-1, inputs.case.block, ROW)
    return of.view(FP8[inputs.case.fp8])


def shuffled(inputs):
    return inputs.case.layout == "shuffle"


@pytest.mark.parametrize("text", CASES)
def test_written_keys_are_those_of_the_reference_and_nothing_else_is_written(text):
    inputs = inputs_of(Case.parse(text))
    held = blocks(inputs, cache.empty(inputs))
    indexer.write(torch.from_numpy(inputs.keys).bfloat16(), held,
                  torch.from_numpy(inputs.slot_mapping), KEY, "ue8m0", preshuffle=shuffled(inputs))
    expected = cache.empty(inputs)
    at = cache.places(inputs.case, inputs.live)
    right = cache.written(inputs)
    for part in (at.values, at.scales):
        expected[part] = right[part]
    assert np.array_equal(held.view(torch.uint8).numpy().reshape(-1), expected)


@pytest.mark.parametrize("text", CASES)
def test_a_gather_gives_the_keys_of_the_reference(text):
    inputs = inputs_of(Case.parse(text))
    held, count = cache.written(inputs), int(inputs.key_starts[-1])
    codes = torch.zeros(count, KEY, dtype=torch.uint8)
    scales = torch.zeros(count, 4, dtype=torch.uint8)
    indexer.gather(blocks(inputs, held), codes.view(FP8[inputs.case.fp8]), scales,
                   torch.from_numpy(inputs.tables), torch.from_numpy(inputs.key_starts),
                   preshuffle=shuffled(inputs))
    right, of = cache.gathered(inputs, held)
    assert np.array_equal(codes.numpy(), right)
    assert np.array_equal(scales.view(torch.float32)[:, 0].numpy(), of)


@pytest.mark.parametrize("kind", [torch.float8_e4m3fn, torch.float8_e4m3fnuz])
@pytest.mark.parametrize("scale_fmt", [None, "ue8m0"])
def test_quantised_rows_are_within_half_a_step_of_what_they_were(monkeypatch, kind, scale_fmt):
    monkeypatch.setattr(indexer, "_fp8", lambda: kind)
    x = torch.randn(3, 4, 128, generator=torch.Generator().manual_seed(2)).bfloat16() * 5
    x[0, 0] = 0
    codes, scales = indexer.act_quant(x, 128, scale_fmt)
    assert (codes.dtype, codes.shape, scales.shape) == (kind, x.shape, (3, 4, 1))
    assert float((codes.float() * scales - x.float()).abs().max()) <= float(x.abs().max()) / 16
    powers = torch.log2(scales)
    assert bool((powers == powers.round()).all()) is (scale_fmt is not None)
    assert float(codes.float().abs().max()) <= (224 if kind == torch.float8_e4m3fnuz else 448)


def test_selected_slots_are_those_of_the_largest_scores_of_the_rows_own_columns():
    score = torch.tensor([[9.0, 1, 5, 3, 8, 8], [9, 9, 1, 4, 2, 9]])
    table = torch.tensor([[70, 71, 72, 73], [10, 11, 12, 13]])
    found = indexer.select_slots(score, torch.tensor([4, 3]), table, torch.tensor([0, 1, 2]), 2,
                                 row_starts=torch.tensor([0, 2]))
    assert found.tolist() == [[70, 72], [11, 12]]
    two_rows = indexer.select_slots(score, torch.tensor([2, 3]), table, torch.tensor([0, 2]), 4)
    assert two_rows.tolist() == [[70, 71, -1, -1], [70, 71, 72, -1]]
