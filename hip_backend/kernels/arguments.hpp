// The argument structs of the kernels: the one thing that host and device code share as bytes.
//
// Every kernel takes one of these by value. Pointers are device addresses; counts are as named;
// rows are kernel rows (one token of one folded request), a packed row is one head of one of them.
// Plain types only: this header is compiled for hosts and for devices without any library.
#pragma once

namespace mla::hip {

// Roundings of a final bf16 (numeric/bf16.hpp).
enum : int { kRoundEven = 0, kRoundAway = 1, kRoundTruncate = 2 };

// Stage 1 on both routes. Persistent: workgroup x is slot x and runs its works of work_meta_data.
// Split: workgroup x is split x % splits of request x / splits. Workgroup y takes every grid_y-th
// block of packed rows of each work.
struct DecodeArguments {
  const void* q;      // [rows, heads, 576]
  const void* cache;  // [slots, 576], the first one is slot `first_slot`
  const int* kv_indices;
  const int* kv_indptr;                      // [requests + 1] pages
  const int* qo_indptr;                      // [requests + 1] rows before folding
  const int* last_page_len;                  // [requests] tokens
  const unsigned long long* work_meta_data;  // addresses of work_indptr and work_info_set
  const unsigned char* skip;                 // [works, or requests * splits] 1: must not run
  const unsigned char* skip_slot;            // [slots] the same
  unsigned short* out;                       // [rows, heads, 512]
  float* lse;                                // [rows, heads]
  float* partial_out;                        // [partial rows, heads, 512]
  float* partial_lse;                        // [partial rows, heads]
  long long first_slot;
  int heads;            // of a kernel row
  int fold;             // kernel rows for each query row
  int uniform_qo_len;   // read when fold > 1
  int page_shift;       // log2 of the page size
  int masks;            // 1: row i of the last q sees the keys up to its own
  int splits;           // 0: persistent
  int granularity;      // tokens of a split's tile
  int rounding;         // of a direct write
  int row_groups;       // workgroups along y
  float score_scale;    // softmax scale times query and cache scale, times log2(e)
  float out_scale;      // cache scale
  float fp8_factor;     // NVIDIA: 2^120 (e4m3fn) or 2^119 (e4m3fnuz)
  int fp8_nan;          // NVIDIA: the NaN without sign (e4m3fn), or 0x80 (e4m3fnuz)
  unsigned sleep_seed;  // 0: none; otherwise waves sleep at places drawn from it
};

// The merge of partial rows. Persistent: workgroup x is tile x of the reduce maps. Split: it is
// request x, whose rows have min(splits, ceil(keys / granularity)) partials each.
struct ReduceArguments {
  const int* reduce_indptr;
  const int* reduce_final_map;
  const int* reduce_partial_map;
  const int* kv_indptr;
  const int* qo_indptr;
  const int* last_page_len;
  const unsigned char* skip;  // [tiles or requests]
  const float* partial_out;
  const float* partial_lse;
  unsigned short* out;
  float* lse;
  int heads;
  int dims;  // columns of a head: at most 512, a multiple of 4
  int page_shift;
  int splits;  // 0: persistent
  int granularity;
  int rounding;
  int row_groups;  // workgroups along y
};

// Page expansion: workgroup (x, y) is program y of request x.
struct ExpandArguments {
  const int* table;            // [rows, columns], strided
  const int* kv_indptr;        // [requests + 1] pages
  const long long* table_row;  // [requests]
  int* kv_indices;
  long long row_stride;
  long long column_stride;
  int pages_per_block;
  int programs;
  int chunk;  // pages
};

// Planner v1.2 in one workgroup: what the host has decided (PlanInput, PlanShape), and the buffers.
struct PlanArguments {
  const int* qo_indptr;      // read when uniform_qo_len <= 0
  const int* kv_indptr;      // [batch + 1] pages
  const int* last_page_len;  // read when page_size > 1
  unsigned long long* work_meta_data;
  int* work_indptr;
  int* work_info;
  int* reduce_indptr;
  int* reduce_final_map;
  int* reduce_partial_map;
  int* scratch;  // [5 * (batch + 1)], parallel form
  int batch;
  int fold;
  int plan_heads;
  int rows_per_workgroup;
  int query_split;
  int slots;
  int split_budget;
  int page_size;
  int granularity;  // pages
  int max_qo_len;
  int uniform_qo_len;
  int causal;
  int cp_round_robin;
  int reduce_indptr_size;
  int parallel;  // 1: the form for one row a request
};

// Prefill: rows of one head of Q over keys of the same head; heads of 192 elements, values of 128.
// With a plan (work_indptr is not null) workgroup x is slot x and runs its works, one head each.
// Without one it is head x % heads of request x / heads: varlen flash attention. Workgroup y takes
// every row_groups-th block of rows.
struct PrefillArguments {
  const void* q;         // [rows, heads, 192]
  const void* k;         // [key rows, heads, 192]
  const void* v;         // [key rows, heads, 128]
  const int* qo_indptr;  // [requests + 1] rows
  const int* kv_indptr;  // [requests + 1] entries of key_rows, or rows of K without a plan
  const int* key_rows;   // row of K and V of each entry; read with a plan
  const int* work_indptr;
  const int* work_info;
  const unsigned char* skip;  // [works, or requests] 1: must not run
  unsigned short* out;        // [rows, heads, 128]
  float* lse;                 // [rows, heads]
  float* partial_out;         // [partial rows, heads, 128]
  float* partial_lse;         // [partial rows, heads]
  int heads;
  int row_groups;
  int causal;
  int rounding;       // of the output
  float score_scale;  // scales of softmax and operands, times log2(e)
  float fp8_factor;   // as in DecodeArguments
  int fp8_nan;
};

}  // namespace mla::hip
