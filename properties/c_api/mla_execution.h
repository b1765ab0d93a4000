/* mla_execution.h: the part of mla_testbed.h that executes: decode stage 1, reduce, prefill, page
 * expansion, cache writers, casts, and which backend runs them. Include mla_testbed.h, which
 * includes this file where its types are known. */
#ifndef MLA_EXECUTION_H
#define MLA_EXECUTION_H

#include "mla_testbed.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The backend of the calls below, for the whole process: "cpu" (the emulator), "aiter" (AITER's
 * code objects in the gfx emulator; AITER_HSA in the environment names the directory hsa of an
 * installation), or "hip" (this project's kernels on a device). AITER ships no code object of its
 * reduce; its cache writers and casts have none either: there the emulator answers. Until this is
 * called, MLA_TESTBED_BACKEND in the environment, else "cpu". */
MLA_TESTBED_API int mla_set_backend(const char* name);
MLA_TESTBED_API const char* mla_backend(void);
/* The device of backend "hip", as `mla-testbed replay --device` takes it: "hip:0",
 * "emulated:gfx942". Empty, as at the start: MLA_TESTBED_DEVICE in the environment, else the
 * emulated device of each call's architecture. */
MLA_TESTBED_API int mla_set_device(const char* name);

/* Threads of a call; 0, as at the start: as many as OpenMP gives. Returns the value before. */
MLA_TESTBED_API int mla_set_threads(int threads);

/* With 1, the calls below also answer for their outputs, for the whole process; 0 at the start.
 * Returns the value before. MLA_FAULT, one line of the report each:
 *   a row of a request with keys that no work covers (rows of requests without keys, rows that see
 *   no key, and rows beyond the requests may stay unwritten);
 *   a row that a work or a merge names and the backend did not write; it keeps what it held;
 *   a piece that a reduce merges and that holds MLA_POISON_F32: it was never written.
 * Everything else has been written all the same. */
MLA_TESTBED_API int mla_check_written(int on);
/* Bits that no computation produces: f32 and bf16 memory that a caller wants to see written. */
#define MLA_POISON_F32 0x7FA5A5A5u
#define MLA_POISON_BF16 0x7FA5u

/* The arguments of AITER's mla_decode_stage1_asm_fwd that are numbers. */
typedef struct mla_stage1_options {
  int64_t arch;         /* an mla_arch; 942 */
  int64_t max_seqlen_q; /* rows of the longest request; 1 */
  int64_t page_size;    /* tokens; 1 */
  int64_t nhead_kv;     /* 1 */
  int64_t causal;       /* 1 */
} mla_stage1_options;

/* Its tensors, all on the device. A row has `key` elements, of which the first `value` are the
 * value: 576 and 512 on backends "hip" and "aiter", whose kernels have them built in; up to that on
 * backend "cpu". */
typedef struct mla_stage1_tensors {
  const aiter_tensor_t* q;                    /* [rows, heads, key] bf16 or fp8, contiguous */
  const aiter_tensor_t* kv;                   /* [pages, page_size, 1, key] bf16 or fp8; pages may
                                                 lie apart, a page is contiguous */
  const aiter_tensor_t* qo_indptr;            /* [batch + 1] i32 */
  const aiter_tensor_t* kv_indptr;            /* [batch + 1] i32 */
  const aiter_tensor_t* kv_page_indices;      /* i32 */
  const aiter_tensor_t* kv_last_page_lens;    /* [batch] i32 */
  const aiter_tensor_t* num_kv_splits_indptr; /* [batch + 1] i32, multiples of the splits: then
                                                 there is no plan; or NULL */
  const aiter_tensor_t* work_meta_data;       /* [2] u64, or NULL: the next two as they are */
  const aiter_tensor_t* work_indptr;          /* [slots + 1] i32; NULL without a plan */
  const aiter_tensor_t* work_info_set;        /* [works, 8] i32; NULL without a plan */
  const aiter_tensor_t* split_data;           /* with a plan [partial rows, 1, heads, value] f32;
                                                 without [rows, splits, heads, value] f32, or bf16
                                                 with one split: the output */
  const aiter_tensor_t* split_lse;            /* the same without the last extent, or 1; f32 */
  const aiter_tensor_t* output;               /* [rows, heads, value] bf16 */
  const aiter_tensor_t* lse;                  /* [rows, heads] f32, or NULL; with a plan only */
  const aiter_tensor_t* q_scale;              /* one f32; needed if q is fp8 */
  const aiter_tensor_t* kv_scale;             /* one f32; needed if q is fp8 */
} mla_stage1_tensors;

MLA_TESTBED_API void mla_stage1_defaults(mla_stage1_options* options);

/* Stage 1 of a decode. What no work writes keeps what it holds. MLA_FAULT: an index left its buffer
 * or a row was written twice; the guilty works are left out and stand in the report. */
MLA_TESTBED_API int mla_decode_stage1(const mla_stage1_options* options,
                                      const mla_stage1_tensors* tensors, double softmax_scale);

/* The tensors of AITER's mla_reduce_v1, all on the device. */
typedef struct mla_reduce_tensors {
  const aiter_tensor_t* partial_output;     /* [partial rows, .., heads, dim] f32, contiguous */
  const aiter_tensor_t* partial_lse;        /* [partial rows, .., heads, ..] f32, contiguous */
  const aiter_tensor_t* reduce_indptr;      /* [tiles + 1] i32 */
  const aiter_tensor_t* reduce_final_map;   /* [tiles, 2] i32, or NULL: every tile has the rows that
                                               its first two partials lie apart */
  const aiter_tensor_t* reduce_partial_map; /* i32 */
  const aiter_tensor_t* final_output;       /* [rows, heads, dim] bf16 or fp16; row and head strides
                                               of 0 or more */
  const aiter_tensor_t* final_lse;          /* [rows, heads] f32, or NULL */
} mla_reduce_tensors;

/* Merges the pieces of every tile that has two or more; others are left alone. */
MLA_TESTBED_API int mla_reduce(int64_t arch, const mla_reduce_tensors* tensors);

/* The tensors of AITER's mla_prefill_ps_asm_fwd, all on the device. */
typedef struct mla_prefill_tensors {
  const aiter_tensor_t* q;               /* [rows, heads, 192] fp8 */
  const aiter_tensor_t* k;               /* [keys, heads, 192] fp8 */
  const aiter_tensor_t* v;               /* [keys, heads, 128] fp8 */
  const aiter_tensor_t* qo_indptr;       /* [batch + 1] i32 */
  const aiter_tensor_t* kv_indptr;       /* [batch + 1] i32 */
  const aiter_tensor_t* kv_page_indices; /* i32: rows of k and v */
  const aiter_tensor_t* work_indptr;     /* [slots + 1] i32 */
  const aiter_tensor_t* work_info_set;   /* [works, 8] i32 */
  const aiter_tensor_t* split_data;      /* [partial rows, heads, 128] f32 */
  const aiter_tensor_t* split_lse;       /* [partial rows, heads] f32 */
  const aiter_tensor_t* output;          /* [rows, heads, 128] bf16 */
  const aiter_tensor_t* q_scale;         /* one f32, or NULL: 1 */
  const aiter_tensor_t* k_scale;
  const aiter_tensor_t* v_scale;
} mla_prefill_tensors;

/* Prefill of the works of a plan; gfx950. Failures as for mla_decode_stage1(). */
MLA_TESTBED_API int mla_prefill(int64_t arch, int64_t is_causal, const mla_prefill_tensors* tensors,
                                double softmax_scale);

/* Page expansion, as an engine's kernel does it: page t of request r is
 *   kv_indices[kv_indptr[r] + t] = block_table[row, t / pages_per_block] * pages_per_block
 *                                  + t % pages_per_block
 * with row table_rows[r], or r without table_rows. Nothing else is written. All on the device.
 *   block_table [rows, columns] i32, any strides of 0 or more; kv_indptr [batch + 1] i32, running
 *   sum of pages; table_rows [batch] i64 or NULL; kv_indices i32; pages_per_block: tokens of a
 *   block by tokens of a page. MLA_OVERRUN: kv_indices or a row of the table is too short; nothing
 *   has been written.
 */
MLA_TESTBED_API int mla_expand_pages(const aiter_tensor_t* block_table,
                                     const aiter_tensor_t* kv_indptr,
                                     const aiter_tensor_t* table_rows, int64_t pages_per_block,
                                     const aiter_tensor_t* kv_indices);

/* AITER's concat_and_cache_mla: writes tokens into the cache.
 *   kv_c [rows, 512] and k_pe [rows, 64] bf16, fp16 or f32, of tokens rows or more each; kv_cache
 *   [blocks, block size, 576] of the same type, or fp8; slot_mapping [tokens] i64, negative for
 *   padding; scale one f32. kv_cache_dtype is "auto" or "fp8". All on the device. */
MLA_TESTBED_API int mla_concat_and_cache(int64_t arch, const aiter_tensor_t* kv_c,
                                         const aiter_tensor_t* k_pe, const aiter_tensor_t* kv_cache,
                                         const aiter_tensor_t* slot_mapping,
                                         const char* kv_cache_dtype, const aiter_tensor_t* scale);

/* The numbers of AITER's fused_qk_rope_concat_and_cache_mla, and which of its forms. */
typedef struct mla_rope_cache_options {
  int64_t arch;               /* an mla_arch; 942 */
  int64_t is_neox;            /* pairs (i, i + 32), not (2 i, 2 i + 1); 1 */
  int64_t is_nope_first;      /* latent part before rope part; 1 */
  int64_t compute_all_q_rope; /* queries of padding are written too; 0 */
  int64_t segmented;          /* the form _seg: pages of 64 tokens, all latent parts of a page
                                 before its rope parts, fp8; 0 */
} mla_rope_cache_options;

/* Its tensors, all on the device. The first four and the tables have one of bf16, fp16 and f32;
 * their last dimension is dense. */
typedef struct mla_rope_cache_tensors {
  const aiter_tensor_t* q_nope;       /* [tokens, heads, 512] */
  const aiter_tensor_t* q_pe;         /* [tokens, heads, 64] */
  const aiter_tensor_t* kv_c;         /* [tokens, 512] or [tokens, key heads, 512] */
  const aiter_tensor_t* k_pe;         /* [tokens, 64] or [tokens, key heads, 64] */
  const aiter_tensor_t* kv_cache;     /* [blocks, block size, 576], [blocks, block size, key heads,
                                         576], or segmented [blocks, 64 * 576]; the same type, or fp8 */
  const aiter_tensor_t* q_out;        /* [tokens, heads, 576] (segmented: or longer rows); the same
                                         type, or fp8 */
  const aiter_tensor_t* slot_mapping; /* [tokens] i64, negative for padding */
  const aiter_tensor_t* k_scale;      /* one f32; needed if kv_cache is fp8 */
  const aiter_tensor_t* q_scale;      /* one f32; needed if q_out is fp8 */
  const aiter_tensor_t* positions;    /* [tokens] i64 */
  const aiter_tensor_t* cos_cache;    /* [positions, 32] */
  const aiter_tensor_t* sin_cache;    /* the same */
} mla_rope_cache_tensors;

MLA_TESTBED_API void mla_rope_cache_defaults(mla_rope_cache_options* options);
/* MLA_FAULT: a slot or a position is outside its table; the others have been written. */
MLA_TESTBED_API int mla_rope_and_cache(const mla_rope_cache_options* options,
                                       const mla_rope_cache_tensors* tensors);

/* Where the scale of a cast comes from. */
typedef enum mla_scale_kind {
  MLA_SCALE_GIVEN = 0,     /* read */
  MLA_SCALE_OF_TENSOR = 1, /* written: the largest magnitude by the largest number of fp8 */
  MLA_SCALE_OF_ROW = 2     /* the same for each row */
} mla_scale_kind;

/* Casts to fp8, as AITER's static_per_tensor_quant, dynamic_per_tensor_quant and
 * dynamic_per_token_scaled_quant: element / scale, rounded to nearest even, saturating. `input` is
 * bf16, fp16 or f32, `output` fp8 with as many elements, both contiguous; `scales` one f32, or one
 * a row of the last dimension. All on the device. */
MLA_TESTBED_API int mla_quantise_fp8(int64_t arch, int64_t kind, const aiter_tensor_t* input,
                                     const aiter_tensor_t* output, const aiter_tensor_t* scales);

#ifdef __cplusplus
}
#endif

#endif
