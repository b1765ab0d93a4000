"""Replacements of module_cache, module_quant and the rope module; what is refused by name."""

import os
import types

import pytest

torch = pytest.importorskip("torch", reason="AITER's Python needs torch, which is not installed")

import aiter_caller  # noqa: E402
import mla_testbed  # noqa: E402
from mla_testbed import aiter, kernels  # noqa: E402
from mla_testbed.aiter import imports  # noqa: E402

TOKENS, HEADS = 4, 3
FP8 = {"gfx942": torch.float8_e4m3fnuz, "gfx950": torch.float8_e4m3fn}


@pytest.fixture(params=["gfx942", "gfx950"])
def arch(request):
    return request.param


@pytest.fixture
def caller(arch, tmp_path):
    with aiter_caller.stage_of(arch, aiter_caller.write_tree(tmp_path)) as made:
        yield made


def random(*shape):
    return torch.randn(*shape, device="cuda").to(torch.bfloat16)


class Tokens:
    """Operands of the fused writer."""

    def __init__(self, cache, q_out):
        torch.manual_seed(1)
        self.sources = (random(TOKENS, HEADS, 512), random(TOKENS, HEADS, 64),
                        random(TOKENS, 512), random(TOKENS, 64))
        self.cache, self.q_out = cache, q_out
        self.slots = torch.tensor([70, -1, 3, 127], device="cuda")
        self.positions = torch.tensor([3, 0, 9, 7], device="cuda")
        angle = torch.rand(10, 32, device="cuda") * 6
        self.tables = (angle.cos().to(torch.bfloat16), angle.sin().to(torch.bfloat16))
        self.one = torch.ones(1, device="cuda")

    def arguments(self):
        return (*self.sources, self.cache, self.q_out, self.slots, self.one, self.one,
                self.positions, *self.tables)


def zeros(*shape, dtype=torch.bfloat16):
    return torch.zeros(*shape, dtype=dtype, device="cuda")


@pytest.mark.parametrize("neox", [True, False])
def test_the_fused_writer_rotates_as_the_rope_module_does(caller, neox):
    tokens = Tokens(zeros(2, 64, 576), zeros(TOKENS, HEADS, 576))
    caller.call("module_cache", "fused_qk_rope_concat_and_cache_mla", *tokens.arguments(), neox,
                True)
    k_pe, cos, sin = tokens.sources[3], *tokens.tables
    rotated = zeros(1, TOKENS, 1, 64)
    caller.call("module_rope_1c_cached_positions_fwd", "rope_cached_positions_fwd_impl", rotated,
                k_pe.reshape(1, TOKENS, 1, 64), cos.reshape(10, 1, 1, 32),
                sin.reshape(10, 1, 1, 32), tokens.positions.reshape(1, TOKENS),
                0 if neox else 1, True, True)
    for token in (0, 2, 3):
        written = tokens.cache.reshape(128, 576)[tokens.slots[token]]
        assert torch.equal(written[512:], rotated[0, token, 0])
        assert torch.equal(written[:512], tokens.sources[2][token])
    assert not tokens.q_out[1].any()


def test_the_segmented_writer_is_the_one_of_kernels(caller, arch):
    made = []
    for fill in (0, 1):
        tokens = Tokens(zeros(2, 64 * 576, dtype=torch.uint8).view(FP8[arch]),
                        zeros(TOKENS, HEADS, 576, dtype=torch.uint8).view(FP8[arch]))
        if fill == 0:
            caller.call("module_cache", "fused_qk_rope_concat_and_cache_mla_seg",
                        *tokens.arguments(), True)
        else:
            kernels.rope_and_cache(*tokens.arguments(), True, segmented=True, arch=arch)
        made.append((tokens.cache.view(torch.uint8), tokens.q_out.view(torch.uint8)))
    assert torch.equal(made[0][0], made[1][0])
    assert torch.equal(made[0][1], made[1][1])
    assert made[0][0].any()


def test_an_operand_in_host_memory_is_refused_by_its_name(caller):
    tokens = Tokens(zeros(2, 64, 576), zeros(TOKENS, HEADS, 576))
    tokens.positions = tokens.positions.cpu()
    with pytest.raises(mla_testbed.TensorError, match="positions: expected a tensor on the devic"):
        caller.call("module_cache", "fused_qk_rope_concat_and_cache_mla", *tokens.arguments(),
                    True, True)


def test_a_cast_by_row_stops_after_the_rows_that_a_tensor_names(caller, arch):
    values = random(6, 96)
    out = zeros(6, 96, dtype=torch.uint8)
    scales = torch.full((6,), -1.0, device="cuda")
    rows = torch.tensor([2], dtype=torch.int32, device="cuda")
    caller.call("module_quant", "dynamic_per_token_scaled_quant", out.view(FP8[arch]), values,
                scales, None, False, caller.describe(rows), 2)
    top = torch.finfo(FP8[arch]).max
    wanted = values[:4].float().abs().amax(-1) / top
    assert torch.allclose(scales[:4], wanted)
    assert (scales[4:] == -1).all()
    assert not out[4:].any()
    back = out[:4].view(FP8[arch]).float() * scales[:4, None]
    assert torch.allclose(back, values[:4].float(), rtol=0.07, atol=1e-2)


def test_a_cast_by_row_never_leaves_its_tensors_whatever_number_of_rows_it_is_told(caller, arch):
    values, out = random(8, 96), zeros(8, 96, dtype=torch.uint8)
    scales = torch.full((8,), -1.0, device="cuda")
    rows = torch.tensor([50], dtype=torch.int32, device="cuda")
    caller.call("module_quant", "dynamic_per_token_scaled_quant", out[:6].view(FP8[arch]),
                values[:6], scales[:6], None, False, caller.describe(rows), 2)
    assert (scales[:6] > 0).all()
    assert (scales[6:] == -1).all()
    assert not out[6:].any()


def test_casts_of_the_whole_tensor_and_with_a_given_scale_differ_by_it(caller, arch):
    values, scale = random(5, 40), torch.full((1,), 0.5, device="cuda")
    out = zeros(5, 40, dtype=torch.uint8)
    caller.call("module_quant", "static_per_tensor_quant", out.view(FP8[arch]), values, scale)
    assert torch.allclose(out.view(FP8[arch]).float() * 0.5, values.float(), rtol=0.07, atol=1e-2)
    caller.call("module_quant", "dynamic_per_tensor_quant", out.view(FP8[arch]), values, scale)
    assert torch.allclose(scale, values.float().abs().max() / torch.finfo(FP8[arch]).max)


def test_casts_to_other_formats_are_unsupported(caller):
    out, scale = zeros(5, 40, dtype=torch.uint8), torch.ones(1, device="cuda")
    with pytest.raises(mla_testbed.UnsupportedError, match="out has dtype 11; only fp8"):
        caller.call("module_quant", "static_per_tensor_quant", out, random(5, 40), scale)
    with pytest.raises(aiter.NotServedError, match="smooth_per_token_scaled_quant"):
        caller.call("module_quant", "smooth_per_token_scaled_quant", out)


def test_positions_outside_of_the_tables_are_a_fault_of_the_rope_module(caller):
    at = torch.tensor([[10]], device="cuda")
    with pytest.raises(mla_testbed.FaultError, match="positions run from 10 to 10, and cos has 10"):
        caller.call("module_rope_1c_cached_positions_fwd", "rope_cached_positions_fwd_impl",
                    zeros(1, 1, 1, 64), random(1, 1, 1, 64), random(10, 1, 1, 32),
                    random(10, 1, 1, 32), at, 0, True, True)


@pytest.mark.parametrize(("module", "sentence"), [
    ("module_hk_mla_v32_fwd_mi3xx", "HipKittens decode, hk_mla_v32_decode_fwd .*; unset AITER_ENA"),
    ("module_opus_mla", "OPUS decode, mla_decode_fwd_opus_stage1 .*; unset AITER_MLA_USE_OPUS"),
    ("module_ds32_mla", "OPUS decode of DeepSeek-V3.2, .*; use the layout LEGACY"),
])
def test_kernels_of_other_makers_are_refused_with_what_chose_them(caller, module, sentence):
    with pytest.raises(aiter.NotServedError, match=sentence):
        caller.module(module)


def test_flydsl_kernels_are_refused_and_its_questions_are_answered():
    module = types.ModuleType("aiter.ops.flydsl")
    module.is_flydsl_available = lambda: True
    module.flydsl_mla_reduce_v1 = lambda: "ran"
    imports.refuse_flydsl(module)
    assert module.is_flydsl_available()
    with pytest.raises(aiter.NotServedError,
                       match=r"flydsl_mla_reduce_v1 \(FlyDSL kernels\) .*; unset AITER_MLA_REDUCE"):
        module.flydsl_mla_reduce_v1()


def test_outputs_are_checked_on_a_stage_and_no_longer_after_it(tmp_path):
    with aiter_caller.stage_of("gfx942", aiter_caller.write_tree(tmp_path)):
        assert mla_testbed.check_written(True) is True
    assert mla_testbed.check_written(False) is False


KEYS = [70, 5, 300]
ROWS = [2, 5, 40]


class LatentPrefill:
    """A step of mla_prefill_asm_fwd over a shuffled cache with pages of one token."""

    def __init__(self, heads=16):
        torch.manual_seed(2)
        self.q = random(sum(ROWS), heads, 576)
        self.kv = random(sum(KEYS), 1, 1, 576)
        sums = [torch.tensor([0, *torch.tensor(n).cumsum(0).tolist()], dtype=torch.int32,
                             device="cuda") for n in (ROWS, KEYS)]
        self.qo_indptr, self.kv_indptr = sums
        self.pages = torch.randperm(sum(KEYS), device="cuda").to(torch.int32)
        self.last = torch.ones(3, dtype=torch.int32, device="cuda")
        self.out = torch.full((sum(ROWS), 1, heads, 512), float("nan"), dtype=torch.bfloat16,
                              device="cuda")
        self.lse = torch.full((sum(ROWS), 1, heads, 1), float("nan"), device="cuda")

    def run(self, caller):
        caller.call_library(
            "module_mla_asm", "mla_prefill_asm_fwd", self.q, self.kv, self.qo_indptr,
            self.kv_indptr, self.pages, self.last, max(ROWS), 576 ** -0.5, self.out, self.lse)
        return self.out.cpu().double()[:, 0], self.lse.cpu().double()[:, 0, :, 0]

    def reference(self):
        outs, lses = [], []
        cache = self.kv.cpu().double().reshape(-1, 576)[self.pages.cpu().long()]
        for r, (rows, keys) in enumerate(zip(ROWS, KEYS, strict=True)):
            k = cache[sum(KEYS[:r]):][:keys]
            q = self.q.cpu().double()[sum(ROWS[:r]):][:rows]
            scores = torch.einsum("rhd,kd->rhk", q, k) * 576 ** -0.5
            hidden = torch.arange(keys) > keys - rows + torch.arange(rows)[:, None]
            scores = scores.masked_fill(hidden[:, None], float("-inf"))
            lses.append(scores.logsumexp(-1))
            outs.append(torch.softmax(scores, -1) @ k[:, :512])
        return torch.cat(outs), torch.cat(lses)


def test_prefill_over_the_latent_cache_gives_attention(caller):
    step = LatentPrefill()
    out, lse = step.run(caller)
    wanted, wanted_lse = step.reference()
    assert torch.allclose(out, wanted, atol=2e-2)
    assert torch.allclose(lse, wanted_lse, atol=1e-2)


@pytest.mark.skipif(not os.environ.get("AITER_HSA"), reason="needs AITER_HSA, AITER's code objects")
def test_aiters_code_object_of_that_prefill_gives_attention(caller, arch, monkeypatch):
    by_cpu, _ = LatentPrefill().run(caller)
    monkeypatch.setenv("MLA_TESTBED_BACKEND", "aiter")
    step = LatentPrefill()
    out, _ = step.run(caller)
    assert torch.allclose(out, step.reference()[0], atol=2e-2)
    assert (out != by_cpu).any(), "the emulator ran"


def test_that_prefill_refuses_other_heads_types_and_wrong_pages(caller):
    with pytest.raises(RuntimeError, match="takes 16 or 128 heads, not 32"):
        LatentPrefill(32).run(caller)
    step = LatentPrefill()
    step.out = torch.zeros(sum(ROWS), 1, 16, 512, device="cuda")
    with pytest.raises(RuntimeError, match="splitData: expected dtype bf16, found fp32"):
        step.run(caller)
    step = LatentPrefill()
    step.pages[3] = 999
    with pytest.raises(RuntimeError, match="entry 3 of kv_indices leads to cache slot 999"):
        step.run(caller)
