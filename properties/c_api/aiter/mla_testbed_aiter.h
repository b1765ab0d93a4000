/* mla_testbed_aiter.h: AITER's own entry points, as its Python calls them.
 *
 * AITER's Python loads module_mla_asm.so with ctypes and calls the three mla_*_asm_fwd below; they
 * have AITER's names and arguments (version 2 of its convention for errors: a status, and a message
 * that aiter_get_last_error() returns). The stream is
 * ignored: a call returns when its work is done.
 *
 * What AITER's C++ reads from the machine comes from the environment: GPU_ARCHS ("gfx942" or
 * "gfx950") and CU_NUM. MLA_TESTBED_BACKEND says what executes decode and prefill: "cpu", the
 * emulator, or "aiter", AITER's code objects under AITER_HSA in the gfx emulator. With
 * AITER_HSA, a shape for which AITER ships no kernel is refused by either.
 *
 * A tensor is device memory unless stated otherwise. Every index of a plan or a list is checked
 * before it is followed; what a kernel would read or write out of bounds is an error, and the call
 * has then written nothing for the work that is wrong.
 */
#ifndef MLA_TESTBED_AITER_H
#define MLA_TESTBED_AITER_H

#include "mla_testbed.h"

#ifdef __cplusplus
extern "C" {
#endif

MLA_TESTBED_API int aiter_ctypes_abi_version(void);
/* Of the last of these calls on this thread; NULL if it succeeded. */
MLA_TESTBED_API const char* aiter_get_last_error(void);
MLA_TESTBED_API void aiter_clear_last_error(void);

/* Stage 1 of a decode step. With work_meta_data: persistent, over a plan; without:
 * num_kv_splits_indptr, equal splits of every request. The arguments are those of AITER's function
 * of this name. */
MLA_TESTBED_API int mla_decode_stage1_asm_fwd(
    const aiter_tensor_t* q, const aiter_tensor_t* kv, const aiter_tensor_t* qo_indptr,
    const aiter_tensor_t* kv_indptr, const aiter_tensor_t* kv_page_indices,
    const aiter_tensor_t* kv_last_page_lens, const aiter_tensor_t* num_kv_splits_indptr,
    const aiter_tensor_t* work_meta_data, const aiter_tensor_t* work_indptr,
    const aiter_tensor_t* work_info_set, int64_t max_seqlen_q, int64_t page_size, int64_t nhead_kv,
    float softmax_scale, const aiter_tensor_t* split_data, const aiter_tensor_t* split_lse,
    const aiter_tensor_t* output, const aiter_tensor_t* lse, const aiter_tensor_t* q_scale,
    const aiter_tensor_t* kv_scale, const aiter_tensor_t* g_kv_indptr, int64_t cp_world_size,
    int64_t cp_rank, const aiter_tensor_t* valid_split_count, int64_t use_valid_split_count_reduce,
    int causal, void* stream);

/* Prefill of the works of a plan, fp8, gfx950; see mla_prefill(). */
MLA_TESTBED_API int mla_prefill_ps_asm_fwd(
    const aiter_tensor_t* q, const aiter_tensor_t* k, const aiter_tensor_t* v,
    const aiter_tensor_t* qo_indptr, const aiter_tensor_t* kv_indptr,
    const aiter_tensor_t* kv_page_indices, const aiter_tensor_t* work_indptr,
    const aiter_tensor_t* work_info_set, int64_t max_seqlen_q, float softmax_scale, int is_causal,
    const aiter_tensor_t* split_data, const aiter_tensor_t* split_lse, const aiter_tensor_t* output,
    const aiter_tensor_t* q_scale, const aiter_tensor_t* k_scale, const aiter_tensor_t* v_scale,
    void* stream);

/* Prefill over the latent cache without a plan, bf16, 16 or 128 heads; causal, right-aligned.
 * splitData [rows, 1, heads, 512] bf16 is the output. */
MLA_TESTBED_API int mla_prefill_asm_fwd(
    const aiter_tensor_t* q, const aiter_tensor_t* kv, const aiter_tensor_t* qo_indptr,
    const aiter_tensor_t* kv_indptr, const aiter_tensor_t* kv_page_indices,
    const aiter_tensor_t* kv_last_page_lens, int64_t max_seqlen_q, float softmax_scale,
    const aiter_tensor_t* split_data, const aiter_tensor_t* split_lse, void* stream);

#ifdef __cplusplus
}
#endif

#endif
