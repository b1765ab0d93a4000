/* mla_testbed.h: the C interface of mla-testbed.
 *
 * Plans, checks and executes the metadata of AITER's MLA kernels on the CPU. Tensors are AITER's
 * own descriptors, so that AITER's Python, a C program and the Python package call the same
 * symbols.
 *
 * Conventions
 *   Every function returns a status, MLA_OK (0) or another value of mla_status, unless its comment
 *   says otherwise. After a failure mla_last_error() of the same thread is a sentence that names
 *   the parameter or value, what was expected and what was found.
 *   Functions may be called from several threads at once, on different outputs.
 *   Outputs are written in place; the caller keeps every tensor alive until the call returns.
 *   A struct of options starts as mla_<name>_defaults() fills it; all its fields are int64_t, truth
 *   values are 0 or 1.
 *   Texts (const char*) are UTF-8. A text that a function returns belongs to the library and lives
 *   until the same thread calls the library again, unless stated otherwise.
 */
#ifndef MLA_TESTBED_H
#define MLA_TESTBED_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MLA_TESTBED_API __attribute__((visibility("default")))
#else
#define MLA_TESTBED_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version and errors ------------------------------------------------------------------- */

/* Changes whenever a function, a struct or a meaning in this header changes; a new function leaves
 * it as it is. A caller compares it with mla_abi_version() before anything else. */
#define MLA_TESTBED_ABI_VERSION 1

typedef enum mla_status {
  MLA_OK = 0,
  MLA_USAGE = 1,       /* a text, an option or a number is malformed or out of range */
  MLA_UNSUPPORTED = 2, /* well-formed, but no kernel or planner takes it */
  MLA_REFUSED = 3,     /* AITER takes it and is broken there; see mla_last_bug() */
  MLA_OVERRUN = 4,     /* a buffer is too small for what has to be written */
  MLA_FAULT = 5,       /* a device or the environment failed, or a launch did something illegal:
                          see mla_last_report() */
  MLA_BAD_TENSOR = 6,  /* a tensor is not what its parameter takes */
  MLA_NO_MEMORY = 7,
  MLA_INTERNAL = 8 /* a defect of this library */
} mla_status;

MLA_TESTBED_API int mla_abi_version(void);
/* The version of the project, such as "0.1.0". Lives as long as the library. */
MLA_TESTBED_API const char* mla_version(void);

/* About the last function of this thread that failed; never NULL, empty before the first failure.
 */
MLA_TESTBED_API const char* mla_last_error(void);
/* The number of the known defect that a refusal guards, such as "BUG-075"; empty for others. */
MLA_TESTBED_API const char* mla_last_bug(void);
/* What a launch did that no correct launch does, one fault a line; empty without. */
MLA_TESTBED_API const char* mla_last_report(void);

/* ---- Tensors ------------------------------------------------------------------------------ */

#define MLA_TENSOR_MAX_DIMS 8

/* AITER's descriptor of a tensor, 160 bytes. */
typedef struct aiter_tensor_t {
  void* ptr;
  size_t numel;
  int ndim;
  int64_t shape[MLA_TENSOR_MAX_DIMS];
  int64_t strides[MLA_TENSOR_MAX_DIMS]; /* in elements */
  int dtype;                            /* an mla_dtype */
  int device_id;                        /* -1: host memory; 0 or more: memory of that device */
} aiter_tensor_t;

/* AITER's numbers of element types. Both encodings of fp8 have one number: the architecture
 * decides (e4m3fnuz on gfx942, e4m3fn on gfx950). */
typedef enum mla_dtype {
  MLA_DTYPE_FP8 = 0,
  MLA_DTYPE_FP8_E8M0 = 1,
  MLA_DTYPE_FP16 = 2,
  MLA_DTYPE_BF16 = 3,
  MLA_DTYPE_FP32 = 4,
  MLA_DTYPE_I4X2 = 5,
  MLA_DTYPE_FP4X2 = 6,
  MLA_DTYPE_U32 = 7,
  MLA_DTYPE_I32 = 8,
  MLA_DTYPE_I16 = 9,
  MLA_DTYPE_I8 = 10,
  MLA_DTYPE_U8 = 11,
  MLA_DTYPE_I64 = 12,
  MLA_DTYPE_U64 = 13
} mla_dtype;

/* All memory is host memory here; device_id says where a tensor would lie on a machine with a GPU.
 * Every parameter is declared "device" or "host" in this header. With 1 a tensor in the wrong place
 * is MLA_BAD_TENSOR; with 0, as at the start, places are not looked at, for callers that know of
 * none. Returns the value before. Holds for the whole process. */
MLA_TESTBED_API int mla_check_places(int on);

/* Architectures: the value of a field `arch`. */
typedef enum mla_arch { MLA_GFX942 = 942, MLA_GFX950 = 950 } mla_arch;

/* ---- Sizes of the plan buffers ------------------------------------------------------------ */

/* Elements of the six buffers of a plan. */
typedef struct mla_buffer_sizes {
  int64_t work_meta_data;     /* uint64: 2 */
  int64_t work_indptr;        /* int32 */
  int64_t work_items;         /* records of 8 int32: shape of work_info_set is (work_items, 8) */
  int64_t reduce_indptr;      /* int32 */
  int64_t reduce_final_rows;  /* shape of reduce_final_map is (reduce_final_rows, 2), int32 */
  int64_t reduce_partial_map; /* int32 */
} mla_buffer_sizes;

/* The arguments of AITER's get_mla_metadata_info_v1, and what it reads from the machine. */
typedef struct mla_decode_size_query {
  int64_t arch;                /* an mla_arch; 942 */
  int64_t compute_units;       /* 304 */
  int64_t batch_size;          /* requests; 1 */
  int64_t max_seqlen_qo;       /* rows of the longest request; 1 */
  int64_t num_head_qo;         /* 16 */
  int64_t q_dtype;             /* MLA_DTYPE_BF16 or MLA_DTYPE_FP8; bf16 */
  int64_t kv_dtype;            /* the same */
  int64_t is_sparse;           /* 0 */
  int64_t fast_mode;           /* 1 */
  int64_t num_kv_splits;       /* 32; read with intra_batch_mode only */
  int64_t intra_batch_mode;    /* 0 */
  int64_t max_split_per_batch; /* -1 */
  int64_t experimental;        /* AITER_ENABLE_EXPERIMENTAL; 0 */
} mla_decode_size_query;

MLA_TESTBED_API void mla_decode_size_query_defaults(mla_decode_size_query* query);
MLA_TESTBED_API int mla_decode_sizes(const mla_decode_size_query* query, mla_buffer_sizes* sizes);

/* The arguments of AITER's get_ps_metadata_info_v1, and what it reads from the machine. */
typedef struct mla_prefill_size_query {
  int64_t compute_units;    /* 304 */
  int64_t batch_size;       /* 1 */
  int64_t num_head_k;       /* 1 */
  int64_t max_qlen;         /* rows of the longest request; 1 */
  int64_t qlen_granularity; /* rows of a tile; 256 */
} mla_prefill_size_query;

MLA_TESTBED_API void mla_prefill_size_query_defaults(mla_prefill_size_query* query);
MLA_TESTBED_API int mla_prefill_sizes(const mla_prefill_size_query* query, mla_buffer_sizes* sizes);

/* ---- Planners ----------------------------------------------------------------------------- */

/* The six buffers of a plan: device, contiguous. work_meta_data is u64, the others i32. */
typedef struct mla_plan_buffers {
  const aiter_tensor_t* work_meta_data; /* [2] */
  const aiter_tensor_t* work_indptr;
  const aiter_tensor_t* work_info_set; /* [works, 8] */
  const aiter_tensor_t* reduce_indptr;
  const aiter_tensor_t* reduce_final_map; /* [tiles, 2] */
  const aiter_tensor_t* reduce_partial_map;
} mla_plan_buffers;

/* The arguments of AITER's get_mla_metadata_v1, and what it reads from the machine. fast_mode plans
 * with v1.2, otherwise intra_batch_mode with v1.0, otherwise v1.1. */
typedef struct mla_decode_plan_options {
  int64_t arch;                 /* an mla_arch; 942 */
  int64_t compute_units;        /* 304 */
  int64_t num_heads_per_head_k; /* 16 */
  int64_t num_heads_k;          /* 1 */
  int64_t is_causal;            /* 1 */
  int64_t page_size;            /* tokens; 1 */
  int64_t kv_granularity;       /* pages; 16 */
  int64_t max_seqlen_qo;        /* -1 */
  int64_t uni_seqlen_qo;        /* -1 */
  int64_t fast_mode;            /* 1 */
  int64_t topk;                 /* -1; 0 or more: sparse */
  int64_t max_split_per_batch;  /* -1 */
  int64_t intra_batch_mode;     /* 0 */
  int64_t is_cp_round_robin;    /* 0 */
  int64_t dtype_q;              /* MLA_DTYPE_BF16 or MLA_DTYPE_FP8; bf16 */
  int64_t dtype_kv;             /* the same */
  int64_t experimental;         /* AITER_ENABLE_EXPERIMENTAL; 0 */
  int64_t v12_kernel;           /* 0: as the original chooses, 1: serial, 2: parallel */
  int64_t as_aiter;             /* 1: repeat the original where it is broken; 0 */
} mla_decode_plan_options;

MLA_TESTBED_API void mla_decode_plan_defaults(mla_decode_plan_options* options);

/* Plans a decode step, element for element as AITER does. Elements that the original leaves alone
 * keep what they hold. work_meta_data receives the addresses of work_indptr and work_info_set.
 * With as_aiter a write past a buffer is not performed; the call does the rest and then returns
 * MLA_OVERRUN. After any other failure no buffer has changed.
 *   seqlens_qo_indptr [batch + 1] i32, seqlens_kv_indptr [batch + 1] i32 (pages),
 *   kv_last_page_lens [batch] i32: device, contiguous. */
MLA_TESTBED_API int mla_plan_decode(const mla_decode_plan_options* options,
                                    const aiter_tensor_t* seqlens_qo_indptr,
                                    const aiter_tensor_t* seqlens_kv_indptr,
                                    const aiter_tensor_t* kv_last_page_lens,
                                    const mla_plan_buffers* buffers);

/* The arguments of AITER's get_ps_metadata_v1, and what it reads from the machine. */
typedef struct mla_prefill_plan_options {
  int64_t compute_units;     /* 304 */
  int64_t gqa_ratio;         /* query heads of one KV head; the plan does not depend on it; 1 */
  int64_t num_heads_k;       /* 1 */
  int64_t qhead_granularity; /* query heads of one work; 1 */
  int64_t qlen_granularity;  /* rows of a tile; 256 */
  int64_t kvlen_granularity; /* tokens of a unit; 16 */
  int64_t block_size;        /* tokens of a page; 16 */
  int64_t is_causal;         /* 1 */
  int64_t as_aiter;          /* 0 */
} mla_prefill_plan_options;

MLA_TESTBED_API void mla_prefill_plan_defaults(mla_prefill_plan_options* options);

/* Plans a prefill step, element for element as AITER does; failures as for mla_plan_decode().
 * work_meta_data is left alone, as in the original, and may be NULL.
 *   seqlens_qo_indptr [batch + 1] i32, pages_kv_indptr [batch + 1] i32, context_lens [batch] i32
 *   (tokens, the new ones included): host, contiguous. */
MLA_TESTBED_API int mla_plan_prefill(const mla_prefill_plan_options* options,
                                     const aiter_tensor_t* seqlens_qo_indptr,
                                     const aiter_tensor_t* pages_kv_indptr,
                                     const aiter_tensor_t* context_lens,
                                     const mla_plan_buffers* buffers);

/* ---- Execution ---------------------------------------------------------------------------- */

/* The backend of the calls below, for the whole process: "cpu" (the emulator), "aiter" (AITER's
 * code objects in the gfx emulator; AITER_HSA in the environment names the directory hsa of an
 * installation), or "hip" (this project's kernels on a device). AITER ships no code object of its
 * reduce, and nobody one of the cache writers and casts: there the emulator answers. Until this is
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
 *   a piece that a reduce merges and that holds MLA_POISON_F32: nobody wrote it.
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

/* Its tensors, all on the device. */
typedef struct mla_stage1_tensors {
  const aiter_tensor_t* q;                    /* [rows, heads, 576] bf16 or fp8, contiguous */
  const aiter_tensor_t* kv;                   /* [pages, page_size, 1, 576] bf16 or fp8; pages may
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
  const aiter_tensor_t* split_data;           /* with a plan [partial rows, 1, heads, 512] f32;
                                                 without [rows, splits, heads, 512] f32, or bf16
                                                 with one split: the output */
  const aiter_tensor_t* split_lse;            /* the same without the last extent, or 1; f32 */
  const aiter_tensor_t* output;               /* [rows, heads, 512] bf16 */
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
  const aiter_tensor_t* final_output;       /* [rows, heads, dim] bf16 or fp16; any row and head
                                               stride */
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
 *   block_table [rows, columns] i32, any strides; kv_indptr [batch + 1] i32 running sum of pages;
 *   table_rows [batch] i64 or NULL; kv_indices i32; pages_per_block: tokens of a block by tokens of
 *   a page. MLA_OVERRUN: kv_indices or a row of the table is too short; nothing has been written.
 */
MLA_TESTBED_API int mla_expand_pages(const aiter_tensor_t* block_table,
                                     const aiter_tensor_t* kv_indptr,
                                     const aiter_tensor_t* table_rows, int64_t pages_per_block,
                                     const aiter_tensor_t* kv_indices);

/* AITER's concat_and_cache_mla: writes tokens into the cache.
 *   kv_c [tokens, 512] and k_pe [tokens, 64] bf16, fp16 or f32; kv_cache [blocks, block size, 576]
 *   of the same type, or fp8; slot_mapping [tokens] i64, negative for padding; scale one f32.
 *   kv_cache_dtype is "auto" or "fp8". All on the device. */
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

/* ---- Cases -------------------------------------------------------------------------------- */

/* A case is one line of text that a whole run depends on (docs/cases.md). Answers are texts. */

/* The canonical line of a case. */
MLA_TESTBED_API int mla_case_canonical(const char* line, const char** canonical);
/* Case number `number` (0 or more) of the random ones that belong to a seed: the cases that
 * `mla-testbed run --seed` judges; with `production` those of production shapes as well. */
MLA_TESTBED_API int mla_case_draw(uint64_t seed, int64_t number, int64_t production,
                                  const char** line);
/* Simpler cases, one a line, the most daring first; none for the simplest. */
MLA_TESTBED_API int mla_case_simpler(const char* line, const char** lines);
/* The step of a case as one JSON object: lists, decisions and plan (docs/reproduce.md). */
MLA_TESTBED_API int mla_case_plan(const char* line, int64_t as_aiter, const char** json);
/* Judges a case: a JSON object with `verdict`, `refused`, `properties`, `launches` and
 * `failure_block`. `properties` are ids separated by commas, "" for all; `backend` and `device` as
 * for `mla-testbed replay`; `aiter_hsa` the directory hsa for backend aiter, or ""; `plant` a known
 * defect to plant first, or "". */
MLA_TESTBED_API int mla_case_judge(const char* line, const char* properties, const char* backend,
                                   const char* device, const char* aiter_hsa, const char* plant,
                                   const char** json);

/* ---- Checks and reference ----------------------------------------------------------------- */

/* Whether the plan in a JSON object is valid for its batch, and whose fault it is if not: the keys
 * of `mla-testbed check` (docs/capture.md). The answer has `checked`, `reason`, `violations`,
 * `notes`, `at_fault` and `diagnosis`. */
MLA_TESTBED_API int mla_check_plan(const char* document, const char** json);

/* Dense float64 attention over a paged cache, with a bound for each element: how far a right
 * result may be from it (docs/numerics.md). It reads no plan. Every request has no key or at least
 * as many as rows; heads are those of the model.
 *   Of `tensors` q, kv, qo_indptr, kv_indptr, kv_page_indices, kv_last_page_lens, q_scale and
 *   kv_scale are read, as for mla_decode_stage1(). */
typedef struct mla_reference_results {
  double* out;       /* [rows, heads, 512] */
  double* out_bound; /* the same */
  double* lse;       /* [rows, heads] */
  double* lse_bound; /* the same */
} mla_reference_results;
MLA_TESTBED_API int mla_reference(int64_t arch, int64_t page_size, int64_t causal,
                                  const mla_stage1_tensors* tensors, double softmax_scale,
                                  const mla_reference_results* results);

#ifdef __cplusplus
}
#endif

#endif
