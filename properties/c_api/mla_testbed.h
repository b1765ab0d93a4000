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

/* Changes whenever a function, a struct or a meaning in one of the headers changes; a new function
 * leaves it as it is. A caller compares it with mla_abi_version() before anything else. */
#define MLA_TESTBED_ABI_VERSION 2

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
  MLA_INTERNAL = 8, /* a defect of this library */
  MLA_DEVICE = 9    /* a device, a data path or an installation of AITER is not there */
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

#ifdef __cplusplus
}
#endif

#include "mla_execution.h" /* stage 1, reduce, prefill, cache writers, and what runs them */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Cases -------------------------------------------------------------------------------- */

/* A case is one line of text that a whole run depends on (docs/reference/cases.md). Answers are
 * texts. */

/* The canonical line of a case. */
MLA_TESTBED_API int mla_case_canonical(const char* line, const char** canonical);
/* Case number `number` (0 or more) of the random ones that belong to a seed: small ones, or with
 * `production` those that `mla-testbed run --seed` judges. */
MLA_TESTBED_API int mla_case_draw(uint64_t seed, int64_t number, int64_t production,
                                  const char** line);
/* Simpler cases, one a line, the most daring first; none for the simplest. */
MLA_TESTBED_API int mla_case_simpler(const char* line, const char** lines);
/* The step of a case as one JSON object: lists, decisions and plan (docs/reference/bundles.md). */
MLA_TESTBED_API int mla_case_plan(const char* line, int64_t as_aiter, const char** json);
/* How long a decode step takes as predicted, never measured: what `mla-testbed time --this-only
 * --json` prints (docs/reference/output.md). Times stand in `predicted`; outside of the fitted
 * range that has a sentence `none` instead of times. With `better` also `predicted_better`, and in
 * `better_plan` the sizes and lists of that plan; both are null where none was found. */
MLA_TESTBED_API int mla_case_time(const char* line, int64_t better, const char** json);
/* Judges a case: a JSON object with `verdict`, `refused`, `properties`, `launches` and
 * `failure_block`. `properties` are ids separated by commas, "" for all; `backend` and `device` as
 * for `mla-testbed replay`; `aiter_hsa` the directory hsa for backend aiter, or ""; `plant` a known
 * defect to plant first, or "". */
MLA_TESTBED_API int mla_case_judge(const char* line, const char* properties, const char* backend,
                                   const char* device, const char* aiter_hsa, const char* plant,
                                   const char** json);

/* ---- Checks and reference ----------------------------------------------------------------- */

/* Whether the plan in a JSON object is valid for its batch, and whose fault it is if not: the keys
 * of `mla-testbed check` (docs/reference/bundles.md). The answer has `checked`, `reason`,
 * `violations`, `notes`, `at_fault` and `diagnosis`; `refusal`, `refusal_status` and `bug` say why
 * a call with this plan is refused where the original's defects are not asked for; they are empty,
 * and MLA_OK, where it is not. */
MLA_TESTBED_API int mla_check_plan(const char* document, const char** json);

/* The same as mla_case_time() of the plan in such a document, which must be valid: MLA_REFUSED if
 * it is not. */
MLA_TESTBED_API int mla_time_plan(const char* document, int64_t better, const char** json);

typedef enum mla_array_kind {
  MLA_ARRAY_SIGNED = 0,
  MLA_ARRAY_UNSIGNED = 1,
  MLA_ARRAY_FLOATING = 2,
  MLA_ARRAY_BITS = 3, /* bf16, or a float of 8 bits */
} mla_array_kind;

/* A tensor of a bundle on the host: all elements, little-endian, in C's order. */
typedef struct mla_array {
  const char* name; /* "q", "kv_cache", "kv_cache_pages", "out" or "lse" */
  int64_t kind;     /* an mla_array_kind */
  int64_t element_bytes;
  int64_t dims;
  const int64_t* shape; /* [dims]; may be NULL for 0 dims */
  const void* data;
} mla_array;

/* The same with the tensors of the bundle, as `mla-testbed check` reads them from its files: rows
 * and heads of q, out and lse are compared with the lists, and page ids with the cache. */
MLA_TESTBED_API int mla_check_bundle(const char* document, const mla_array* arrays, int64_t count,
                                     const char** json);

/* The page that `mla-testbed show` draws of such a document: HTML that loads nothing. A plan of a
 * kind that cannot be drawn is MLA_UNSUPPORTED. */
MLA_TESTBED_API int mla_show_plan(const char* document, const char** html);

/* Dense float64 attention over a paged cache, with a bound for each element: how far a right
 * result may be from it (docs/reference/numerics.md). It reads no plan. Every request has no key or
 * at least as many as rows; heads are those of the model.
 *   Of `tensors` q, kv, qo_indptr, kv_indptr, kv_page_indices, kv_last_page_lens, q_scale and
 *   kv_scale are read, as for mla_decode_stage1(); of `output` only the last extent, the elements
 *   of a value: 512 where it is NULL. */
typedef struct mla_reference_results {
  double* out;       /* [rows, heads, value] */
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
