"""Stand-ins for operations that vLLM compiles, against other formulas of torch."""

import math

import pytest

torch = pytest.importorskip("torch", reason="stand-ins need torch, which is not installed")

from mla_testbed import FaultError, world  # noqa: E402
from mla_testbed.engines import plain  # noqa: E402
from mla_testbed.engines.vllm import kernels, topk  # noqa: E402


@pytest.fixture
def x():
    return torch.randn(5, 64, generator=torch.Generator().manual_seed(1)).bfloat16()


def test_rms_norm_is_torchs(x):
    weight, out = torch.rand(64).bfloat16(), torch.empty_like(x)
    plain.rms_norm(out, x, weight, 1e-6)
    right = torch.nn.functional.rms_norm(x.float(), (64,), weight.float(), 1e-6)
    assert torch.equal(out, right.bfloat16())


def test_a_fused_norm_leaves_the_sum_in_the_residual(x):
    residual, y = torch.ones_like(x), x.clone()
    plain.fused_add_rms_norm(y, residual, None, 1e-6)
    total = (x.float() + 1).bfloat16()
    assert torch.equal(residual, total)
    assert torch.equal(y, torch.nn.functional.rms_norm(total.float(), (64,), None, 1e-6).bfloat16())


def test_silu_and_mul_takes_halves_of_a_row(x):
    out = torch.empty(5, 32, dtype=torch.bfloat16)
    plain.silu_and_mul(out, x)
    gate, up = x.float()[:, :32], x.float()[:, 32:]
    assert torch.equal(out, (gate / (1 + torch.exp(-gate)) * up).bfloat16())


@pytest.mark.parametrize("neox", [True, False])
def test_rotary_positions_turn_pairs_as_complex_numbers(x, neox):
    """Two heads of 32 elements, the rotary ones the last 16 of each."""
    angles = torch.arange(9.0)[:, None] * torch.arange(1, 9) * 0.1
    table, positions = torch.cat([angles.cos(), angles.sin()], -1), torch.tensor([4, 0, 8, 1, 2])
    query = x.float().clone()
    kernels.rotary_embedding(positions, query, None, 32, table, neox, 16)
    before, after = (t.view(5, 2, 32) for t in (x.float(), query))
    assert torch.equal(before[..., :16], after[..., :16])
    order = [*range(8), *range(8, 16)] if neox else [*range(0, 16, 2), *range(1, 16, 2)]
    a, b = (torch.complex(t[..., 16:][..., order[:8]].contiguous(),
                          t[..., 16:][..., order[8:]].contiguous()) for t in (before, after))
    turned = a * torch.exp(1j * angles[positions])[:, None]
    assert torch.allclose(b, turned.to(b.dtype), atol=1e-5)


def test_inverse_rotary_positions_turn_back(x):
    table, query = torch.rand(9, 16), x.float().clone()
    table = torch.cat([table[:, :8].cos(), table[:, :8].sin()], -1)
    for inverse in (False, True):
        kernels.rotary_embedding(torch.arange(5), query, None, 16, table, False, 0, inverse)
    assert torch.allclose(query, x.float(), atol=1e-5)


def test_rows_are_cached_at_their_slots_and_negative_slots_are_not():
    cache = torch.full((3, 4, 576), 7.0)
    latent, rope = torch.randn(4, 512), torch.randn(4, 1, 64)
    kernels.concat_and_cache_mla(latent, rope, cache, torch.tensor([5, -1, 0]), "auto",
                                 torch.ones(1))
    flat = cache.view(12, 576)
    assert torch.equal(flat[5], torch.cat([latent[0], rope[0, 0]]))
    assert torch.equal(flat[0], torch.cat([latent[2], rope[2, 0]]))
    assert (flat[[1, 2, 3, 4, 6, 7, 8, 9, 10, 11]] == 7).all()


def test_a_slot_past_the_cache_is_a_fault():
    with pytest.raises(FaultError, match="writes slot 12; the cache has 12"):
        kernels.concat_and_cache_mla(torch.zeros(1, 512), torch.zeros(1, 64),
                                     torch.zeros(3, 4, 576), torch.tensor([12]), "auto",
                                     torch.ones(1))


def test_a_linear_layer_is_torchs(x):
    weight, bias = torch.randn(7, 64).bfloat16(), torch.randn(7).bfloat16()
    right = torch.nn.functional.linear(x.float(), weight.float(), bias.float()).bfloat16()
    assert torch.equal(plain.linear(weight, x, bias), right)


def test_fp8_values_are_divided_by_their_scale_and_saturate():
    out = torch.empty(4, dtype=torch.float8_e4m3fn)
    kernels.static_scaled_fp8_quant(out, torch.tensor([1.0, -3.0, 1e6, 0.0]), torch.tensor([0.5]))
    assert out.float().tolist() == [2.0, -6.0, 448.0, 0.0]


def test_a_device_view_of_pinned_memory_is_that_memory():
    with world.entered(world.machine("gfx942")):
        pinned = torch.zeros(6, dtype=torch.int32, pin_memory=True)
        view = kernels.device_view(pinned)
        pinned.numpy()[2] = 5
        assert view.is_cuda
        assert view.tolist() == [0, 0, 5, 0, 0, 0]
        view += 1
        assert pinned.tolist() == [1, 1, 6, 1, 1, 1]
        del pinned
        assert view.sum().item() == 11


def test_a_query_is_joined_of_its_two_parts():
    latent, rope = torch.rand(3, 2, 8), torch.rand(3, 2, 4)
    out = torch.empty(3, 2, 12)
    kernels.concat_mla_q(latent, rope, out)
    assert torch.equal(out, torch.cat([latent, rope], -1))


@pytest.mark.parametrize(("lengths", "next_n"), [
    (torch.tensor([5, 6]), 2), (torch.tensor([[4, 5], [5, 6]]), 2),
    (torch.tensor([4, 5, 5, 6]), 1)])
def test_top_k_of_decodes_takes_lengths_of_rows_or_of_requests(lengths, next_n):
    logits = torch.arange(8.0).repeat(4, 1)
    indices, seen = torch.full((4, 3), 7, dtype=torch.int32), []
    with topk.watched(seen.append):
        topk._decode(logits, next_n, lengths, indices, 4, 8, 1, 3)
    assert indices.tolist() == [[3, 2, 1], [4, 3, 2], [4, 3, 2], [5, 4, 3]]
    assert seen[0].of(1).tolist() == [0, 1, 2, 3, 4]


def test_top_k_of_prompts_counts_from_the_start_of_a_row_and_fills_up_with_none():
    logits, indices = torch.tensor([[9.0, 1, 2, 3, 9]]), torch.full((1, 4), 7, dtype=torch.int32)
    topk._prefill(logits, torch.tensor([1]), torch.tensor([4]), indices, 1, 5, 1, 4)
    assert indices.tolist() == [[2, 1, 0, -1]]


@pytest.mark.parametrize("ue8m0", [True, False])
@pytest.mark.parametrize("turned", [True, False])
def test_each_group_of_a_row_has_the_scale_that_its_largest_element_asks_for(x, ue8m0, turned):
    x[2, 32:] = 0
    coded = torch.empty(5, 64, dtype=torch.float8_e4m3fn)
    scales = torch.empty(2, 5).T if turned else torch.empty(5, 2)
    kernels.per_token_group_fp8_quant(x, coded, scales, 32, 1e-10, -448.0, 448.0, ue8m0, turned,
                                      False)
    for row in range(5):
        for group in range(2):
            part, found = slice(32 * group, 32 * group + 32), float(scales[row, group])
            least = max(float(x[row, part].float().abs().max()), 1e-10) / 448
            if ue8m0:
                assert math.frexp(found)[0] == 0.5
                assert found / 2 < max(least, 1e-10) <= found
            else:
                assert found == pytest.approx(least, rel=1e-6)
            right = (x[row, part].float() / found).to(torch.float8_e4m3fn)
            assert torch.equal(coded[row, part].float(), right.float())
