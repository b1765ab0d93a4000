#include <optional>
#include <string>
#include <utility>

#include "core/case/limits.hpp"
#include "core/say.hpp"
#include "properties/dump/read/parts.hpp"
#include "properties/files/json_fields.hpp"

namespace mla::dump {
namespace {

using files::Fields;
using plan::PlannerVersion;

// Pieces of a request. With the limits of heads, rows and requests, no product of the size query is
// above 2^60: 2^22 requests of 2^12 rows of 2^14 heads, 16 to a tile, in 2^16 pieces.
constexpr std::int64_t kMaxSplits = 65536;

// Keys that no planner reads.
constexpr std::string_view kOtherKeys[] = {
    // What we write with a plan.
    "name", "format", "note", "decisions", "predicted", "buffer_sizes", "work_indptr", "work_info",
    "reduce_indptr", "reduce_final_map", "reduce_partial_map", "overruns",
    // The cache (check/lists.hpp), and what a replay reads (replay/step.hpp).
    "kv_indices", "num_pages", "prefix_caching", "latent", "rope", "value", "q", "kv_cache",
    "kv_cache_pages", "out", "lse", "softmax_scale", "q_scale", "kv_scale", "q_scale_shape",
    "kv_scale_shape",
    // The scheduler (check/schedule.hpp).
    "scheduler_seq_lens", "scheduler_query_lens", "scheduler_block_table", "scheduler_block_size",
    // The kernel's launch (mla_capture.py).
    "launch_addresses", "launch_max_seqlen_q", "launch_num_heads", "launch_dtype_q",
    "launch_dtype_kv", "launch_page_size", "launch_causal", "launch_cp_world_size",
    "launch_cp_rank", "launch_g_kv_indptr", "launch_num_kv_splits", "launch_num_kv_splits_indptr",
    "launch_total_kv", "launch_persistent", "launch_work_indptr", "launch_work_info",
    "launch_reduce_indptr", "launch_reduce_final_map", "launch_reduce_partial_map",
    "launch_seqlens_qo_indptr", "launch_seqlens_kv_indptr", "launch_kv_last_page_lens",
    "launch_kv_indices",
    // Golden vectors.
    "expected", "expected_serial", "sums", "derived", "kernel_default", "serial", "error"};

PlannerVersion read_version(Fields& fields, bool intra_batch) {
  const bool fast = fields.truth_or("fast_mode", true);
  if (fast) return PlannerVersion::v1_2;
  return intra_batch ? PlannerVersion::v1_0 : PlannerVersion::v1_1;
}

// What a launch says of the ranks: no planner is told of them, and what a row sees depends on them.
void read_ranks(Fields& fields, PlannerCall& c) {
  constexpr const char* kList = "launch_g_kv_indptr";
  c.ranks = fields.if_given("launch_cp_world_size", &Fields::number);
  c.rank = fields.if_given("launch_cp_rank", &Fields::number);
  if (!fields.has(kList)) return;
  Words list = fields.words(kList);
  if (list.size() < c.lists->kv_indptr.size())
    fields.reject(kList, say("has ", list.size(), " entries: expected at least the ",
                             c.lists->kv_indptr.size(), " of seqlens_kv_indptr"));
  c.global_kv_indptr = std::make_shared<const Words>(std::move(list));
}

}  // namespace

std::span<const std::string_view> keys_beside_a_call() {
  return kOtherKeys;
}

std::int64_t number_up_to(Fields& fields, const char* key, std::int64_t most, std::int64_t value) {
  if (value > most) fields.reject(key, say("is ", value, ": expected at most ", most));
  return value;
}

ComputeUnits read_compute_units(Fields& fields) {
  return ComputeUnits(number_up_to(fields, "num_cu", kMaxComputeUnits, fields.number("num_cu")));
}

Heads read_heads(Fields& fields, const char* key) {
  const std::int64_t heads = number_up_to(fields, key, kMaxHeads, fields.number(key));
  if (heads < 1) fields.reject(key, say("is ", heads, ": it must be at least 1"));
  return Heads(heads);
}

Dtype read_dtype(Fields& fields, const char* key) {
  const std::string text = fields.text_or(key, "bf16");
  const std::optional<Dtype> dtype = dtype_from_name(text);
  if (!dtype) fields.reject(key, "is '" + text + "': it must be bf16 or fp8");
  return dtype.value_or(Dtype::bf16);
}

Arch read_arch(Fields& fields) {
  const std::string text = fields.text("arch");
  const std::optional<Arch> arch = arch_from_name(text);
  if (!arch) fields.reject("arch", "is '" + text + "': it must be gfx942 or gfx950");
  return arch.value_or(Arch::gfx942);
}

Result<PlannerCall> read_planner_call(const nlohmann::json& object) {
  Fields fields(object);
  PlannerCall c;
  plan::PlanInput& in = c.input;
  in.key.arch = read_arch(fields);
  in.key.compute_units = read_compute_units(fields);
  CallLists lists;
  lists.qo_indptr = fields.words("seqlens_qo_indptr");
  lists.kv_indptr = fields.words("seqlens_kv_indptr");
  lists.last_page_len = fields.words("kv_last_page_lens");
  c.refer_to(std::move(lists));
  in.key.heads_per_kv_head = read_heads(fields, "num_heads_per_head_k");
  in.key.kv_heads = read_heads(fields, "num_heads_k");
  c.causal_given = fields.has("is_causal");
  in.causal = fields.truth_or("is_causal", true);
  in.page_size = fields.number_or("page_size", 1);
  in.kv_granularity = fields.number_or("kv_granularity", 16);
  const auto rows_or_none = [&fields](const char* key) {
    return number_up_to(fields, key, kMaxQoLen, fields.number_or(key, -1));
  };
  in.key.max_qo_len = rows_or_none("max_seqlen_qo");
  in.uniform_qo_len = rows_or_none("uni_seqlen_qo");
  in.topk = fields.number_or("topk", -1);
  const auto splits = [&fields](const char* key, std::int64_t absent) {
    return number_up_to(fields, key, kMaxSplits, fields.number_or(key, absent));
  };
  in.max_split_per_batch = splits("max_split_per_batch", -1);
  in.cp_round_robin = fields.truth_or("is_cp_round_robin", false);
  in.key.dtype = {read_dtype(fields, "dtype_q"), read_dtype(fields, "dtype_kv")};
  c.intra_batch_mode = fields.truth_or("intra_batch_mode", false);
  in.version = read_version(fields, c.intra_batch_mode);
  c.num_kv_splits = splits("num_kv_splits", 0);
  c.launched_rows = rows_or_none("launch_max_seqlen_q");
  read_ranks(fields, c);
  fields.reject_unknown(keys_beside_a_call());
  if (!fields.error().empty()) return Error{ErrorCode::usage, fields.error()};
  return c;
}

}  // namespace mla::dump
