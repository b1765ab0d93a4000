"""The runner of real kernels of the sparse chain: functions of other projects, verdicts on them.

Kernels of vLLM and SGLang run where VLLM_SRC and SGLANG_SRC name their sources, also with a line of
them changed, which must be found.
"""

from __future__ import annotations

import os
import pathlib
import shutil

import pytest
from mla_testbed.aiter.own.build import BuildError
from mla_testbed.errors import UsageError
from mla_testbed.sparse import Case
from mla_testbed.sparse.real import sources
from mla_testbed.sparse.real.__main__ import case_on, main
from mla_testbed.sparse.real.device import entered
from mla_testbed.sparse.real.judged import Judged, judged, kernels_of, table
from mla_testbed.sparse.real.kernel import NOT_RUN, REFUSED, RIGHT, WRONG, Kernel, NotTakenError

#: Requests of one and several rows, an odd number of keys, a common prefix, padding.
CASE = "sparse1:2q2s147;block=16;layout=shuffle;k=128;heads=32;shared=16;pad=1;fp8=fnuz"
ROWS = "sparse1:2q2s147;block=64;layout=row;k=128;heads=32;pad=1;fp8=fnuz"
HOLES = "sparse1:2q2s147;block=16;k=128;pad=1;holes=5;fp8=fnuz"
FEW = "sparse1:2q2s50;k=128;pad=1;fp8=fnuz"
PACKED = "sparse1:2q2s147;block=16;k=128;pad=1;cache=v4;width=448+64;gap=48;data=wide.1;fp8=fnuz"
DENSE = "sparse1:2q2s147;block=16;k=128;pad=1;cache=v4;width=448+64;data=wide.1;fp8=fnuz"
OF_656 = "sparse1:2q2s147;block=16;k=128;pad=1;cache=ds;scale=f32;data=wide.1;fp8=ocp"
V4_RATIO = ("sparse1:2q2s148;block=16;k=64;pad=1;cache=v4;width=448+64;ratio=4;window=128;gap=48;"
            "fp8=fnuz")
COMPRESSED = "sparse1:1q3s90_1q2s37;block=64;pad=1;cache=v4;width=448+64;ratio=4;fp8=ocp"
OF_128 = "sparse1:1q2s257_1q2s130;block=64;pad=1;cache=v4;width=448+64;ratio=128;fp8=ocp"
WINDOWS = "sparse1:2q3s147_1q1s20;block=16;window=128;pad=1;fp8=fnuz"
RANKS = "sparse1:2q2s147_1q1s1;block=16;k=128;pad=1;dcp=4;interleave=8;fp8=fnuz"
TWO = "sparse1:2q2s147_1q1s1;block=16;k=128;pad=1;dcp=2;fp8=fnuz"
OF_TWO = "sparse1:2q2s147;block=16;k=128;pad=1;dcp=2;cache=ds;scale=f32;data=wide.1;fp8=ocp"
NO_ROPE = "sparse1:2q1s147;block=16;k=128;pad=1;width=512+0;fp8=fnuz"

FILE = """import a_package_that_is_not_there
from itertools import count

LIMIT = 3


def wanted(x):
    return helper(x) + LIMIT


def unwanted(x):
    return a_package_that_is_not_there.run(x)
"""


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file.py").write_text(FILE)
    return tmp_path


def test_a_function_is_taken_with_what_it_needs_and_keeps_its_line(tree):
    module = sources.functions(tree, "deep/file.py", ["wanted", "LIMIT"], {"helper": abs})
    assert module.wanted(-4) == 7
    assert module.wanted.__code__.co_firstlineno == 7
    assert not hasattr(module, "unwanted")


def test_all_functions_of_a_file_are_taken_where_none_is_named(tree):
    module = sources.functions(tree, "deep/file.py", None)
    assert {"wanted", "unwanted", "LIMIT"} <= set(vars(module))


@pytest.mark.parametrize(("path", "names", "sentence"), [
    ("deep/other.py", ["wanted"], "other.py' is not there"),
    ("deep/file.py", ["wanted", "gone"], "file.py' has no gone"),
])
def test_a_tree_without_a_file_or_a_function_is_refused_by_name(tree, path, names, sentence):
    with pytest.raises(UsageError, match=sentence):
        sources.functions(tree, path, names)


def _judged(judge, taken=lambda case: None):
    return judged("p", Kernel("k", "write", judge, taken=taken), "gfx942", Case.parse(CASE))


def test_what_another_project_raises_is_a_refusal_with_its_text(tree):
    module = sources.functions(tree, "deep/file.py", ["wanted"], {"helper": str, "LIMIT": 3})
    one = _judged(lambda inputs, arch: module.wanted(1))
    assert (one.verdict, one.what.partition(":")[0]) == (REFUSED, "TypeError")


def test_a_module_that_cannot_be_built_did_not_run():
    def judge(inputs, arch):
        raise BuildError("module_x", "no compiler")

    one = _judged(judge)
    assert (one.verdict, "no compiler" in one.what) == (NOT_RUN, True)


def test_a_case_that_a_kernel_does_not_take_is_refused_with_the_reason():
    def taken(case):
        raise NotTakenError(f"blocks of {case.block} are too small")

    one = _judged(lambda inputs, arch: [], taken)
    assert (one.verdict, one.what) == (REFUSED, "blocks of 16 are too small")


def test_a_name_that_an_extraction_left_out_ends_the_run(tree):
    module = sources.functions(tree, "deep/file.py", ["wanted"])
    with pytest.raises(NameError, match="helper"):
        _judged(lambda inputs, arch: module.wanted(1))


def test_a_mistake_in_this_package_ends_the_run():
    with pytest.raises(IndexError):
        _judged(lambda inputs, arch: inputs.slots(99))


@pytest.mark.parametrize(("arch", "line", "fp8"), [
    ("gfx942", "sparse1:1q1s2", "fnuz"), ("gfx950", "sparse1:1q1s2", "ocp"),
    ("gfx950", "sparse1:1q1s2;fp8=fnuz", "fnuz")])
def test_a_case_without_an_encoding_has_that_of_the_architecture(arch, line, fp8):
    assert case_on(arch, line).fp8 == fp8


@pytest.mark.parametrize(("arguments", "sentence"), [
    ([], "no source tree; expected --vllm, --sglang or --aiter DIR"),
    (["--vllm", "/nowhere"], "--vllm is '/nowhere'; expected a folder"),
    (["--vllm", "/", "--case", "sparse1:1q2s1"], "a request has 2 rows and 1 keys"),
])
def test_the_command_refuses_wrong_arguments_with_a_sentence(capsys, arguments, sentence):
    assert main(arguments) == 2
    assert sentence in capsys.readouterr().err


def test_a_table_counts_cases_by_architecture_and_names_properties():
    found = [Judged("p", "k", "write", arch, CASE, verdict, id)
             for arch, verdict, id in [("gfx942", RIGHT, ""), ("gfx942", WRONG, "SP-02"),
                                       ("gfx950", REFUSED, "")]]
    assert table(found).splitlines()[2] == (
        "| p | `k` | write | 1 right, 1 wrong (SP-02) | 1 refused |")


def _source(variable):
    root = os.environ.get(variable)
    if not root:
        pytest.skip(f"{variable} names no source tree")
    return pathlib.Path(root)


OPS = "vllm/v1/attention/ops/rocm_aiter_mla_sparse.py"
BACKEND = "vllm/v1/attention/backends/mla/rocm_aiter_mla_sparse.py"
V4 = ("vllm/models/deepseek_v4/amd/rocm.py",
      "vllm/models/deepseek_v4/common/ops/fused_compress_quant_cache.py")
CACHE = "vllm/models/deepseek_v4/common/ops/cache_utils.py"
COMPRESS = "vllm/models/deepseek_v4/common/ops/fused_compress_quant_cache.py"
STATES = "vllm/models/deepseek_v4/common/ops/save_partial_states.py"
SWA = "vllm/v1/attention/backends/mla/sparse_swa.py"
UTILS = "vllm/v1/attention/backends/mla/sparse_utils.py"
DCP = "vllm/v1/attention/ops/dcp.py"
RANKS_OF = "sglang/kernels/ops/attention/dcp_kernels.py"
DSA = "sglang/kernels/ops/attention/dsa"
DSV4 = "sglang/kernels/ops/attention/dsv4"
KV = "sglang/kernels/ops/kvcache"

#: kernel, case, file, and a change of it with the property that finds it.
VLLM = [
    ("indexer_k_quant_and_cache_triton", CASE, OPS, "amax) / 224.0", "amax) / 120.0", "SP-04"),
    ("indexer_k_quant_and_cache_triton", CASE, OPS, "if slot_id < 0:", "if slot_id < -1:",
     "fault SP-01"),
    ("cp_gather_indexer_k_quant_cache_triton", CASE, OPS,
     "safe_batch_id * block_table_stride + safe", "0 * block_table_stride + safe", "SP-05"),
    ("rocm_fp8_paged_mqa_logits_triton", ROWS, OPS, "s = tl.maximum(s, 0.0)", "s = s", "SP-06"),
    ("rocm_fp8_paged_mqa_logits_triton", ROWS, OPS, "- NEXT_N + n + 1", "- n", "SP-09 SP-06"),
    ("_localize_aiter_prefill_topk", CASE, OPS, "indices < 0, indices, indices - row",
     "indices < 0, indices, indices + row", "SP-10"),
    ("build_ragged_indices_from_dense", HOLES, OPS, "(cols < row_len) & (vals >= 0)",
     "(cols < row_len) & (vals >= -1)", "SP-14"),
    ("_rocm_sparse_attn_prefill_ragged_triton", CASE, OPS, "l_new = l_i * alpha", "l_new = l_i",
     "SP-17"),
    ("_rocm_sparse_attn_decode_ragged_bf16_triton", NO_ROPE, OPS,
     "w_s = tl.exp(m_s - m_final)", "w_s = tl.exp(m_s - m_s)", "SP-17"),
    ("generate_sparse_seqlen_triton", FEW, BACKEND,
     "sparse_seqlen + 1 < topk_token, sparse_seqlen + 1",
     "sparse_seqlen < topk_token, sparse_seqlen", "SP-15"),
    ("triton_convert_req_index_to_global_index", CASE, BACKEND, "req * bt_stride0",
     "0 * bt_stride0", "SP-14"),
    ("fit_kpool_indices_to_aiter", CASE, BACKEND, "NUM_TOPK_TOKENS - valid_tail",
     "NUM_TOPK_TOKENS", "SP-10"),
    ("quantize_and_insert_k_cache", PACKED, CACHE, "tl.ceil(log_scale)", "tl.floor(log_scale)",
     "SP-04"),
    ("quantize_and_insert_k_cache", PACKED, CACHE, "if slot_idx == -1:", "if slot_idx == -2:",
     "fault SP-01"),
    ("dequantize_and_gather_k_cache", PACKED, CACHE, "+ pos_in_block * scale_dim", "+ scale_dim",
     "SP-05"),
    ("_rocm_sparse_attn_decode_ragged_triton", PACKED, OPS, "IS_FNUZ_MAIN=is_fnuz",
     "IS_FNUZ_MAIN=False", "SP-17"),
    ("compress_norm_rope_store_triton (4)", COMPRESSED, COMPRESS,
     "(tokens >= COMPRESS_RATIO)", "(tokens < COMPRESS_RATIO)", "SP-20"),
    ("compress_norm_rope_store_triton (4)", COMPRESSED, COMPRESS,
     "(position // COMPRESS_RATIO) * COMPRESS_RATIO", "position", "SP-20"),
    ("compress_norm_rope_store_triton (4)", COMPRESSED, STATES, "position % COMPRESS_RATIO",
     "(position + 1) % COMPRESS_RATIO", "SP-20"),
    ("compress_norm_rope_store_triton (128)", OF_128, COMPRESS,
     "if (position + 1) % COMPRESS_RATIO != 0:", "if position % COMPRESS_RATIO != 0:", "SP-20"),
    ("compress_norm_rope_store_two_stage_triton (128)", OF_128, COMPRESS,
     "start = position - COMPRESS_RATIO + 1", "start = position - COMPRESS_RATIO", "SP-20"),
    ("triton_filter_and_convert_dcp_index (4 ranks)", RANKS, UTILS,
     "(tok // DCP_INTERLEAVE) % DCP_SIZE", "tok % DCP_SIZE", "SP-24"),
    ("triton_filter_and_convert_dcp_index (4 ranks)", RANKS, UTILS,
     "* DCP_INTERLEAVE + tok % DCP_INTERLEAVE", "* DCP_INTERLEAVE", "SP-24"),
    ("triton_filter_and_convert_dcp_index (2 ranks)", TWO, UTILS,
     "tl.cumsum(is_valid) - is_valid", "tl.cumsum(is_valid) - 1 + 0 * is_valid + is_valid",
     "SP-24 fault"),
    ("correct_attn_out (2 ranks)", TWO, DCP, "tl.where(factor == 0.0, 0.0, output)", "output",
     "SP-26"),
    ("correct_attn_out (4 ranks)", RANKS, DCP, "lse_acc = tl.sum(lse_exp, axis=0)",
     "lse_acc = tl.max(lse_exp, axis=0)", "SP-26"),
    ("ComputeSWAIndicesAndLensKernel", WINDOWS, SWA, "pos - (window_size - 1) - left_add",
     "pos - window_size - left_add", "SP-21"),
    ("combine_topk_swa_indices", V4_RATIO, V4[0], "(pos + 1) // COMPRESS_RATIO",
     "pos // COMPRESS_RATIO", "SP-21"),
    ("_rocm_sparse_attn_decode_ragged_triton (window and compressed)", V4_RATIO, OPS,
     "IS_FNUZ_EXTRA=False", "IS_FNUZ_EXTRA=True", "SP-17"),
]
SGLANG = [
    ("_set_k_and_s_triton", CASE, "sglang/kernels/ops/kvcache/dsa_index_k_cache.py",
     "token_in_tile * tile\n", "token_in_tile\n", "SP-03"),
    ("_get_k_and_s_triton", ROWS, "sglang/kernels/ops/kvcache/dsa_index_k_cache.py",
     "pre_batch_idx < batch_id", "pre_batch_idx <= batch_id", "SP-05 fault"),
    ("transform_index_page_table_decode", HOLES, f"{DSA}/transform_index.py",
     "page_table_ptr + req_id * page_table_row_stride + loaded", "page_table_ptr + loaded",
     "SP-14"),
    ("transform_index_page_table_prefill", HOLES, f"{DSA}/transform_index.py",
     "token_indices * 0 + request_id", "token_indices * 0", "SP-14"),
    ("get_valid_kv_indices", HOLES, f"{DSA}/triton_kernel.py", "indices != -1", "indices > -2",
     "SP-14 fault"),
    ("triton_sparse_mla_fwd (one pass)", CASE, f"{DSA}/triton_sparse_mla.py", "_LOG2E = 1.44",
     "_LOG2E = 1.54", "SP-17"),
    ("quantize_k_cache_separate, set_mla_kv_buffer_triton", OF_656, f"{KV}/mla_buffer.py",
     "rope_stride + (offs - nope_dim)", "rope_stride + (offs - nope_dim) // 2", "SP-03"),
    ("quantize_k_cache_separate, set_mla_kv_buffer_triton", OF_656,
     "sglang/kernels/ops/quantization/dsa_quant_k_cache.py", "tl.max(tl.abs(y))", "tl.max(y)",
     "SP-03 SP-04"),
    ("set_mla_kv_buffer_kernel (2 ranks)", OF_TWO, f"{KV}/mla_buffer.py",
     "& (loc % DCP_WORLD_SIZE == DCP_RANK)", "", "SP-02 SP-03"),
    ("set_mla_kv_buffer_kernel (2 ranks)", OF_TWO, f"{KV}/mla_buffer.py",
     "safe_loc // DCP_WORLD_SIZE", "safe_loc", "SP-02 SP-03 fault"),
    ("correct_attn_out (2 ranks)", TWO, RANKS_OF, "lse_idx * lses_stride_N",
     "0 * lses_stride_N", "SP-26"),
    ("dcp_lse_combine_triton (2 ranks)", TWO, RANKS_OF, "acc += partial_out * w",
     "acc += partial_out", "SP-26"),
    ("dequantize_k_cache_paged_dsa", OF_656, f"{DSA}/dequant_k_cache.py",
     "+ effective_block_id\n        )", "\n        )", "SP-05"),
    ("V4: _set_k_and_s_triton", DENSE, f"{KV}/dsv4_main_kv_store.py",
     "* PADDED_SCALE_ELEMS_PER_TOKEN", "* NUM_SCALE_ELEMS_PER_TOKEN", "SP-03"),
    ("dequantize_k_cache_paged_dsv4", DENSE, f"{DSV4}/dequant_k_cache.py",
     "(scale_u8 - 127)", "(scale_u8 - 126)", "SP-05"),
    ("write_v4_paged_decode_indices", WINDOWS,
     f"{DSV4}/unified_kv_kernels/paged_decode_indices.py", "abs_pos = pos - n + 1 + i  #",
     "abs_pos = pos - n + i + 0  #", "SP-21"),
    ("build_causal_swa_page_indices_triton", WINDOWS, f"{DSV4}/attn_metadata_kernels.py",
     "(off >= floor)", "(off > floor)", "SP-21"),
    ("fill_all_compressed_indices", V4_RATIO, f"{DSV4}/metadata_kernel.py",
     "positions // slots_per_page", "positions // PAGE_SIZE", "SP-21"),
]


def _verdict(project, tree, name, line):
    with entered("gfx942"):
        kernel = next(one for one in kernels_of(project, tree) if one.name == name)
        return judged(project, kernel, "gfx942", Case.parse(line))


def _changed(tree, tmp_path, file, old, new):
    """A copy of the files that the adapters take, one of them changed."""
    for path in {OPS, BACKEND, *V4, STATES, file}:
        if (tree / path).is_file():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(tree / path, tmp_path / path)
    for path in (tree / "sglang/kernels/ops").rglob("*.py") if "sglang" in file else ():
        copy = tmp_path / path.relative_to(tree)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    text = (tmp_path / file).read_text()
    assert old in text, f"{file} no longer has '{old}'"
    (tmp_path / file).write_text(text.replace(old, new))
    return tmp_path


@pytest.mark.parametrize(("name", "line", "file", "old", "new", "finds"), VLLM)
def test_a_kernel_of_vllm_is_right_and_found_with_a_line_of_it_changed(
        tmp_path, name, line, file, old, new, finds):
    tree = _source("VLLM_SRC")
    one = _verdict("vllm", tree, name, line)
    assert one.verdict == RIGHT, one.what
    one = _verdict("vllm", _changed(tree, tmp_path, file, old, new), name, line)
    assert one.verdict == WRONG, one.what
    assert one.property in finds.split(), one.what


@pytest.mark.parametrize(("name", "line", "file", "old", "new", "finds"), SGLANG)
def test_a_kernel_of_sglang_is_right_and_found_with_a_line_of_it_changed(
        tmp_path, name, line, file, old, new, finds):
    tree = _source("SGLANG_SRC")
    root = tree / "python" if (tree / "python" / "sglang").is_dir() else tree
    one = _verdict("sglang", root, name, line)
    assert one.verdict == RIGHT, one.what
    one = _verdict("sglang", _changed(root, tmp_path, file, old, new), name, line)
    assert one.verdict == WRONG, one.what
    assert one.property in finds.split(), one.what


@pytest.mark.parametrize(("name", "line", "says"), [
    ("triton_convert_req_index_to_global_index", "sparse1:1q1s2;holes=1;k=128",
     "reads slot 0, which no request has"),
    ("compute_global_topk_ragged_indices_and_indptr", "sparse1:1q1s2;holes=1", "reads slot -1"),
    ("V4 indexer: insert, paged logits (small elements)", "sparse1:1q1s1;block=64",
     "the logit is 0"),
])
def test_a_finding_on_vllm_is_still_there(name, line, says):
    one = _verdict("vllm", _source("VLLM_SRC"), name, line)
    assert one.verdict == WRONG
    assert says in one.what
