"""Kernels of AITER, vLLM, SGLang and ATOM as they are, where AITER_SRC, VLLM_SRC, SGLANG_SRC and
ATOM_SRC name their source trees."""

from __future__ import annotations

import os
import pathlib

import foreign
import mla_testbed.triton
import pytest
import torch
from mla_testbed.triton import KernelFault


@pytest.fixture
def aiter_mla(tmp_path):
    names = ["_fwd_kernel_stage2_asm", "_mla_prefill_reduce_kernel"]
    return foreign.kernels("AITER_SRC", "aiter/mla.py", names, tmp_path)


@pytest.fixture
def aiter_attention(tmp_path):
    names = ["decode_update_mla_metadata_v1_kernel"]
    return foreign.kernels("AITER_SRC", "aiter/ops/attention.py", names, tmp_path)


@pytest.fixture
def vllm_mla(tmp_path):
    path = "vllm/v1/attention/backends/mla/rocm_aiter_mla.py"
    return foreign.kernels("VLLM_SRC", path, ["_expand_page_indices_kernel"], tmp_path)


@pytest.fixture
def sglang_utils(tmp_path):
    names = ["_FLASHMLA_CREATE_KV_BLOCK_SIZE", "FLASHMLA_CREATE_KV_BLOCK_SIZE_TRITON",
             "create_flashinfer_kv_indices_triton", "create_flashmla_kv_indices_triton"]
    path = "python/sglang/srt/layers/attention/utils.py"
    return foreign.kernels("SGLANG_SRC", path, names, tmp_path)


@pytest.fixture
def sglang_drafts(tmp_path):
    names = ["generate_draft_decode_kv_indices"]
    now, before = "python/sglang/kernels/ops/speculative/cache_locs.py", (
        "python/sglang/srt/speculative/spec_utils.py")
    moved = (pathlib.Path(os.environ.get("SGLANG_SRC", "")) / now).is_file()
    return foreign.kernels("SGLANG_SRC", now if moved else before, names, tmp_path)


@pytest.fixture
def atom_convert(tmp_path):
    names = ["block_table_convert_kernel", "kv_indices_convert_kernel"]
    return foreign.kernels("ATOM_SRC", "atom/utils/block_convert.py", names, tmp_path)


def _merged(parts, lse):
    """Partial outputs over the first axis, by their log-sum-exps."""
    weights = torch.softmax(lse.double(), dim=0)
    return (weights.unsqueeze(-1) * parts.double()).sum(0), torch.logsumexp(lse.double(), dim=0)


def test_the_stage_2_merge_of_aiter_weighs_splits_by_their_lse(arch, aiter_mla):
    heads, dim, rows, keys, mgc = 4, 128, 2, [150, 40, 500], 64
    splits = [3, 2, 4]
    batch, most = len(keys), max(splits)
    parts = torch.randn(batch * rows, most, heads, dim)
    lse = torch.randn(batch * rows, most, heads, 1)
    out = torch.zeros(batch * rows, heads, dim, dtype=torch.bfloat16)
    final = torch.zeros(batch * rows, heads)
    qo_indptr = torch.arange(0, batch * rows + 1, rows, dtype=torch.int32)
    kv_indptr = torch.tensor([0, *torch.tensor(keys).cumsum(0)], dtype=torch.int32)
    split_indptr = torch.tensor([0, *torch.tensor(splits).cumsum(0)], dtype=torch.int32)
    last, valid = torch.ones(batch, dtype=torch.int32), torch.zeros(batch, dtype=torch.int32)
    # Not "uninitialised": the compiler reads registers here whose value it does not use.
    with mla_testbed.triton.options(checks="waits,lds_races"):
        aiter_mla._fwd_kernel_stage2_asm[(batch, heads)](
            parts, lse, out, final, qo_indptr, kv_indptr, last, split_indptr, valid,
            lse.stride(0), lse.stride(2), lse.stride(1), out.stride(0), out.stride(1),
            final.stride(0), page_size=1, KV_INDPTR_IS_PAGE_LEVEL=False, MAYBE_FINAL_OUT=True,
            HAS_FINAL_LSE=True, USE_VALID_SPLIT_COUNT_REDUCE=False, BATCH_NUM=batch,
            BLOCK_DV=dim, Lv=dim, mgc=mgc, num_warps=1, num_stages=2, waves_per_eu=4)
    for row in range(batch * rows):
        request = row // rows
        used = min(splits[request], -(-keys[request] // mgc))
        expected, expected_lse = _merged(parts[row, :used], lse[row, :used, :, 0])
        assert torch.allclose(out[row].double(), expected, rtol=1e-2, atol=1e-2)
        assert torch.allclose(final[row].double(), expected_lse, rtol=1e-5, atol=1e-5)


def test_the_prefill_merge_of_aiter_follows_the_reduce_lists(arch, aiter_mla):
    heads, dim, tile = 2, 128, 4
    parts, lse = torch.randn(6 * tile, heads, dim), torch.randn(6 * tile, heads)
    reduce_indptr = torch.tensor([0, 2, 5], dtype=torch.int32)
    final_map = torch.tensor([[0, 4], [4, 7]], dtype=torch.int32)
    partial_map = torch.tensor([0, 8, 4, 16, 20], dtype=torch.int32)
    out = torch.full((8, heads, dim), 5.0)
    aiter_mla._mla_prefill_reduce_kernel[(2, heads, tile)](
        parts, lse, reduce_indptr, final_map, partial_map, out, *parts.stride(), *lse.stride(),
        *out.stride(), TILE_Q=tile, V_HEAD_DIM=dim, BLOCK_DIM=64, MAX_PARTIALS=4)
    for group, (begin, end) in enumerate(final_map.tolist()):
        sources = partial_map[reduce_indptr[group]:reduce_indptr[group + 1]].tolist()
        for row in range(end - begin):
            at = torch.tensor(sources) + row
            assert torch.allclose(out[begin + row].double(), _merged(parts[at], lse[at])[0],
                                  rtol=1e-5, atol=1e-5)
    assert (out[7] == 5.0).all()


def test_the_decode_update_of_aiter_moves_a_plan_by_one_key(arch, aiter_attention):
    """One request of 1000 keys in two works becomes one of 1001 keys in the same two."""
    info = torch.tensor([[0, 0, 0, 1, 0, 600, 400, 0], [0, 1, 0, 1, 600, 1000, 0, 0],
                         [-9] * 8], dtype=torch.int32)
    work_indptr = torch.tensor([0, 1, 2], dtype=torch.int32)
    reduce_indptr = torch.tensor([0, 2], dtype=torch.int32)
    aiter_attention.decode_update_mla_metadata_v1_kernel[(3,)](
        torch.tensor([0, 1], dtype=torch.int32), torch.tensor([0, 1001], dtype=torch.int32),
        torch.ones(1, dtype=torch.int32), 16, 1, True, info, work_indptr, reduce_indptr,
        torch.tensor([[0, 1]], dtype=torch.int32), torch.tensor([0, 1], dtype=torch.int32),
        1, 16, 2, 1, 1, None, False)
    assert info.tolist() == [[0, 0, 0, 1, 0, 600, 401, 0], [0, 1, 0, 1, 600, 1001, 0, 0],
                             [-9] * 8]


@pytest.mark.parametrize("block", [1, 16])
def test_the_page_expansion_of_vllm_is_that_of_torch(arch, vllm_mla, block):
    lengths = torch.tensor([0, 5, 700, 33], dtype=torch.int32)
    starts = torch.tensor([0, 0, 5, 705], dtype=torch.int32)
    table = torch.randperm(4 * 800 // block).to(torch.int32).view(4, -1)
    pages = torch.full((738,), -1, dtype=torch.int32)
    expand = _expansion(vllm_mla, table, starts, lengths, block)
    expand(pages)
    token = [torch.arange(int(n)) for n in lengths]
    expected = [table[i][t // block] * block + t % block for i, t in enumerate(token)]
    assert torch.equal(pages, torch.cat(expected).to(torch.int32))
    with pytest.raises(KernelFault) as caught:
        expand(pages[:737].clone())
    assert (caught.value.tensor, caught.value.offset) == ("page_indices", 4 * 737)
    assert caught.value.program_id == (3, 0, 0)


def _expansion(module, table, starts, lengths, block, **options):
    """A launch of vLLM's page expansion as the version at hand takes it, by its output."""
    kernel = module._expand_page_indices_kernel
    sizes = {"KERNEL_BLOCK_SIZE": block, "BLOCK_SIZE": 1024, **options}
    if "block_table_stride_1" not in kernel.arg_names:
        return lambda pages: kernel[(len(lengths),)](
            pages, table, table.stride(0), starts, lengths, **sizes)
    # Since 0.30: both strides, sums that end with the total, a program for each 1024 tokens.
    sums = torch.cat([starts, (starts[-1:] + lengths[-1:])]).to(torch.int32)
    chunks = -(-table.shape[1] * block // 1024)
    return lambda pages: kernel[(len(lengths), chunks)](
        pages, table, table.stride(0), table.stride(1), sums, lengths, **sizes)


def test_tokens_of_padding_in_the_page_expansion_of_vllm_repeat_the_first_page(arch, vllm_mla):
    if "CLAMP_TAIL" not in vllm_mla._expand_page_indices_kernel.arg_names:
        pytest.skip("this vLLM pads no request")
    real = torch.tensor([5, 16, 1], dtype=torch.int32)
    padded, block = torch.tensor([8, 16, 40], dtype=torch.int32), 16
    table = torch.tensor([[3], [1], [7]], dtype=torch.int32)
    sums = torch.tensor([0, 8, 24, 64], dtype=torch.int32)
    pages = torch.full((64,), -1, dtype=torch.int32)
    vllm_mla._expand_page_indices_kernel[(3, 1)](
        pages, table, table.stride(0), table.stride(1), sums, real, KERNEL_BLOCK_SIZE=block,
        BLOCK_SIZE=1024, CLAMP_TAIL=True)
    expected = [int(table[i, 0]) * block + (t if t < real[i] else 0)
                for i in range(3) for t in range(int(padded[i]))]
    assert pages.tolist() == expected


def test_the_kv_indices_of_sglang_are_gathered_and_a_short_buffer_is_a_fault(arch, sglang_utils):
    """sgl-project/sglang#24587: the buffer of the captured graph was too small for its tokens."""
    pool = torch.randperm(4 * 1200).to(torch.int32).view(4, 1200)
    requests = torch.tensor([2, 0, 3])
    lengths = torch.tensor([1100, 3, 512])
    indptr = torch.tensor([0, 1100, 1103, 1615], dtype=torch.int32)
    out = torch.full((1615,), -1, dtype=torch.int32)
    kernel = sglang_utils.create_flashinfer_kv_indices_triton
    kernel[(3,)](pool, requests, lengths, indptr, None, out, pool.stride(0))
    expected = [pool[r, :n] for r, n in zip(requests.tolist(), lengths.tolist(), strict=True)]
    assert torch.equal(out, torch.cat(expected))
    with pytest.raises(KernelFault) as caught:
        kernel[(3,)](pool, requests, lengths, indptr, None, out[:1600].clone(), pool.stride(0))
    assert (caught.value.tensor, caught.value.offset) == ("kv_indices_ptr", 4 * 1600)
    assert caught.value.file.endswith("utils.py")
    assert caught.value.line > 0


def test_a_draft_tree_of_sglang_without_room_for_its_branches_is_a_fault(arch, sglang_drafts):
    """sgl-project/sglang#27460: the buffer of a graph lacked the factor topk."""
    steps, topk, context, lengths = 3, 2, 64, [60, 50]
    pool = torch.randperm(2 * 128).to(torch.int32).view(2, 128)
    batch, starts = len(lengths), torch.zeros(steps, 5, dtype=torch.int32)
    positions = torch.tensor([n for n in lengths for _ in range(topk)])

    def launch(width):
        out = torch.full((steps, width), -1, dtype=torch.int32)
        sglang_drafts.generate_draft_decode_kv_indices[(steps, batch, topk)](
            torch.arange(batch), pool, torch.tensor(lengths), out, starts, positions,
            pool.stride(0), width, starts.stride(0), 2, 4, 4, 1)
        return out

    out = launch(batch * topk * context)
    for step in range(steps):
        expected = torch.cat([torch.cat([pool[r, :n], pool[r, n + branch * steps:][:step + 1]])
                              for r, n in enumerate(lengths) for branch in range(topk)])
        assert torch.equal(out[step, :expected.numel()], expected)
        assert starts[step, -1] == expected.numel()
    with pytest.raises(KernelFault) as caught:
        launch(batch * context)
    assert (caught.value.tensor, caught.value.problem) == ("kv_indices", "out-of-bounds")
    # Before the end of the buffer, the branches of a step lie in the row of the next one.
    assert caught.value.offset >= 4 * steps * batch * context


def test_the_page_table_of_sglang_has_the_pages_of_every_request(arch, sglang_utils):
    page, pages = 64, 20
    table = torch.randperm(3 * pages).to(torch.int32).view(3, pages)
    pool = (table.repeat_interleave(page, dim=1) * page
            + torch.arange(page).repeat(pages)).to(torch.int32)
    lengths = torch.tensor([1280, 1, 130], dtype=torch.int32)
    out = torch.full((3, pages), -1, dtype=torch.int32)
    sglang_utils.create_flashmla_kv_indices_triton[(3,)](
        pool, torch.arange(3), lengths, None, out, pool.stride(0), out.stride(0), page)
    for row, length in enumerate(lengths.tolist()):
        used = -(-length // page)
        assert torch.equal(out[row, :used], table[row, :used])
        assert (out[row, used:] == -1).all()


@pytest.mark.parametrize("ratio", [1, 4, 16])
def test_the_block_table_conversion_of_atom_writes_the_pages_of_each_context(
        arch, atom_convert, ratio):
    table = torch.tensor([[5, 9, 2, -1], [3, 4, -1, -1], [8, 6, 7, 0]], dtype=torch.int32)
    pages = torch.tensor([3 * ratio - (ratio > 1), ratio + 1, 4 * ratio], dtype=torch.int32)
    found = torch.full((3, 4 * ratio), 99, dtype=torch.int32)
    atom_convert.block_table_convert_kernel[(1,)](
        table, found, pages, ratio, table.numel(), table.shape[1], BLOCK_SIZE=256)
    expected = (table.unsqueeze(-1) * ratio + torch.arange(ratio)).reshape(3, -1)
    columns = torch.arange(4 * ratio)
    outside = (columns >= pages.unsqueeze(1)) | (table.repeat_interleave(ratio, 1) == -1)
    assert torch.equal(found, torch.where(outside, -1, expected).int())


def test_a_block_table_conversion_of_atom_into_too_few_columns_is_a_fault(arch, atom_convert):
    table = torch.zeros(2, 3, dtype=torch.int32)
    found = torch.zeros(2 * 3 * 4 - 1, dtype=torch.int32)
    with pytest.raises(KernelFault, match="out-of-bounds") as fault:
        atom_convert.block_table_convert_kernel[(1,)](
            table, found, torch.full((2,), 12, dtype=torch.int32), 4, 6, 3, BLOCK_SIZE=256)
    assert fault.value.tensor == "output_ptr"


def test_the_index_conversion_of_atom_expands_the_blocks_of_each_request(arch, atom_convert):
    ratio, block = 4, 4
    lengths, blocks = [3, 6, 9], [[7], [1, 5], [2, 8, 4]]
    indptr = torch.tensor([0, *torch.tensor(lengths).cumsum(0)], dtype=torch.int32)
    indices = torch.tensor([b for own in blocks for b in own], dtype=torch.int32)
    found = torch.full((int(indptr[-1]),), -5, dtype=torch.int32)
    atom_convert.kv_indices_convert_kernel[(1,)](
        indices, found, indptr, ratio, block, len(lengths), indices.numel(), BLOCK_SIZE=256)
    expected = [block_id * ratio + i for length, own in zip(lengths, blocks, strict=True)
                for block_id, i in [(b, i) for b in own for i in range(ratio)][:length]]
    assert found.tolist() == expected
