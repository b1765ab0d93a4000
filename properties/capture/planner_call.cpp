#include "properties/capture/planner_call.hpp"

#include <algorithm>
#include <optional>

#include "core/case/limits.hpp"
#include "core/say.hpp"
#include "properties/files/json_fields.hpp"

namespace mla::cli {
namespace {

using plan::PlannerVersion;

// Query rows of a batch. An engine's largest step has some 100 thousand; what is looked at row by
// row takes about 50 bytes for each. So many requests too: where no kernel takes several rows, each
// row is planned as a request.
constexpr std::int64_t kMostRows = 4 << 20;
// Pieces of a request. With the limits of heads, rows and requests, no product of the size query is
// above 2^60: 2^22 requests of 2^12 rows of 2^14 heads, 16 to a tile, in 2^16 pieces.
constexpr std::int64_t kMaxSplits = 65536;
// int32 words of all buffers together, 256 MiB. The largest of a real call, v1.1 with 4096 requests
// on 304 compute units, has 11 million.

// Keys that no planner reads.
constexpr std::string_view kOtherKeys[] = {
    // What we write with a plan.
    "name", "format", "note", "decisions", "buffer_sizes", "work_indptr", "work_info",
    "reduce_indptr", "reduce_final_map", "reduce_partial_map", "overruns",
    // The cache (checked_lists.hpp), and what a replay reads (captured_step.hpp).
    "kv_indices", "num_pages", "prefix_caching", "q", "kv_cache", "kv_cache_pages", "out", "lse",
    "softmax_scale", "q_scale", "kv_scale", "q_scale_shape", "kv_scale_shape",
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

PlannerVersion read_version(files::Fields& fields, bool intra_batch) {
  const bool fast = fields.truth_or("fast_mode", true);
  if (fast) return PlannerVersion::v1_2;
  return intra_batch ? PlannerVersion::v1_0 : PlannerVersion::v1_1;
}

// Buffers are asked for with the longest query there can be: with max_seqlen_qo, or the real one
// where the planner is told 1 because every row is a request (sparse), or nothing (-1). Then the
// rows of the launch count where they are more: they choose the kernel. v1.0 gets
// as many places a request as it may split it. AITER's size query looks at intra_batch_mode in fast
// mode too, where its planner does not.
plan::SizeQuery size_query(const PlannerCall& c, std::int64_t num_kv_splits, bool intra_batch,
                           std::int64_t launched_rows) {
  const plan::PlanInput& in = c.input;
  const bool sparse = in.topk >= 0;
  const std::int64_t real =
      sparse ? longest_request(c.qo_indptr)
             : std::max(in.uniform_qo_len > 0 ? in.uniform_qo_len : longest_request(c.qo_indptr),
                        launched_rows);
  const std::int64_t splits = in.max_split_per_batch > 0 ? in.max_split_per_batch : 32;
  return {.arch = in.key.arch,
          .compute_units = in.key.compute_units,
          .batch = Requests(std::max<std::int64_t>(in.batch(), 0)),
          .max_qo_len = in.key.max_qo_len > 0 && !sparse ? in.key.max_qo_len : real,
          .heads = in.key.heads_per_kv_head * in.key.kv_heads.count(),
          .dtype = in.key.dtype,
          .sparse = sparse,
          .fast_mode = in.version == PlannerVersion::v1_2,
          .num_kv_splits = num_kv_splits > 0 ? num_kv_splits : splits,
          .intra_batch_mode = intra_batch};
}

// A number that is at most `most`, as in a case.
std::int64_t number_up_to(files::Fields& fields, const char* key, std::int64_t most,
                          std::int64_t value) {
  if (value > most) fields.reject(key, say("is ", value, ": expected at most ", most));
  return value;
}

// Kernels for ranks take pages of one key, and a rank is known by its number.
void read_dealt(files::Fields& fields, PlannerCall& c) {
  constexpr const char* kList = "launch_g_kv_indptr";
  const std::int64_t ranks = fields.number_or("launch_cp_world_size", 0);
  const std::int64_t rank = fields.number_or("launch_cp_rank", -1);
  if (fields.has(kList)) c.global_kv_indptr = fields.words(kList);
  if (fields.has(kList) && c.global_kv_indptr.size() < c.kv_indptr.size())
    fields.reject(kList, say("has ", c.global_kv_indptr.size(), " entries: expected at least the ",
                             c.kv_indptr.size(), " of seqlens_kv_indptr"));
  if (c.input.cp_round_robin && c.input.page_size == 1 && ranks > 1 && rank >= 0 && rank < ranks)
    c.dealt = {.ranks = ranks, .rank = rank, .global_kv_indptr = c.global_kv_indptr};
}

}  // namespace

ComputeUnits read_compute_units(files::Fields& fields) {
  return ComputeUnits(number_up_to(fields, "num_cu", kMaxComputeUnits, fields.number("num_cu")));
}

std::span<const std::string_view> keys_beside_a_call() {
  return kOtherKeys;
}

Heads read_heads(files::Fields& fields, const char* key) {
  const std::int64_t heads = number_up_to(fields, key, kMaxHeads, fields.number(key));
  if (heads < 1) fields.reject(key, say("is ", heads, ": it must be at least 1"));
  return Heads(heads);
}

Dtype read_dtype(files::Fields& fields, const char* key) {
  const std::string text = fields.text_or(key, "bf16");
  const std::optional<Dtype> dtype = dtype_from_name(text);
  if (!dtype) fields.reject(key, "is '" + text + "': it must be bf16 or fp8");
  return dtype.value_or(Dtype::bf16);
}

Arch read_arch(files::Fields& fields) {
  const std::string text = fields.text("arch");
  const std::optional<Arch> arch = arch_from_name(text);
  if (!arch) fields.reject("arch", "is '" + text + "': it must be gfx942 or gfx950");
  return arch.value_or(Arch::gfx942);
}

std::int64_t longest_request(std::span<const std::int32_t> qo_indptr) {
  std::int64_t rows = 1;
  for (std::size_t i = 1; i < qo_indptr.size(); ++i)
    rows = std::max<std::int64_t>(rows, std::int64_t{qo_indptr[i]} - qo_indptr[i - 1]);
  return rows;
}

Result<PlannerCall> read_planner_call(const nlohmann::json& object) {
  files::Fields fields(object);
  PlannerCall c;
  plan::PlanInput& in = c.input;
  in.key.arch = read_arch(fields);
  in.key.compute_units = read_compute_units(fields);
  c.qo_indptr = fields.words("seqlens_qo_indptr");
  c.kv_indptr = fields.words("seqlens_kv_indptr");
  c.last_page_len = fields.words("kv_last_page_lens");
  in.key.heads_per_kv_head = read_heads(fields, "num_heads_per_head_k");
  in.key.kv_heads = read_heads(fields, "num_heads_k");
  in.causal = fields.truth("is_causal");
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
  const bool intra_batch = fields.truth_or("intra_batch_mode", false);
  in.version = read_version(fields, intra_batch);
  const std::int64_t num_kv_splits = splits("num_kv_splits", 0);
  const std::int64_t launched_rows = rows_or_none("launch_max_seqlen_q");
  read_dealt(fields, c);
  fields.reject_unknown(kOtherKeys);
  if (!fields.error().empty()) return Error{ErrorCode::usage, fields.error(), ""};
  in.qo_indptr = c.qo_indptr;
  in.kv_indptr = c.kv_indptr;
  in.last_page_len = c.last_page_len;
  c.sizes = size_query(c, num_kv_splits, intra_batch, launched_rows);
  return c;
}

plan::PsSizeQuery prefill_sizes(const plan::PsInput& in) {
  return {.compute_units = in.compute_units,
          .batch = Requests(std::max<std::int64_t>(in.batch(), 0)),
          .kv_heads = in.kv_heads,
          .max_qo_len = longest_request(in.qo_indptr),
          .qlen_granularity = in.qlen_granularity};
}

namespace {

// Why a list is longer than that of any engine's step; nothing if it is not.
Status too_many_rows(std::span<const std::int32_t> qo_indptr) {
  if (const std::int64_t requests = std::ssize(qo_indptr) - 1; requests > kMostRows)
    return Error{
        ErrorCode::usage,
        say("key 'seqlens_qo_indptr' has ", requests, " requests: expected at most ", kMostRows),
        ""};
  if (qo_indptr.empty() || qo_indptr.back() <= kMostRows) return std::nullopt;
  return Error{ErrorCode::usage,
               say("key 'seqlens_qo_indptr' ends in ", qo_indptr.back(), ": expected at most ",
                   kMostRows, " query rows"),
               ""};
}

Status too_large(const plan::BufferSizes& sizes) {
  // Works and partial results are 2^60 at most: 9 * 2^60 and the few others are below 2^64.
  const auto count = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  const std::uint64_t words = count(sizes.work_indptr) + 8 * count(sizes.work_items) +
                              count(sizes.reduce_indptr) + 2 * count(sizes.reduce_final_rows) +
                              count(sizes.reduce_partial_map);
  if (words <= kMostWords) return std::nullopt;
  return Error{ErrorCode::usage,
               say("the plan buffers of this call have ", words, " words, ", sizes.work_items,
                   " works among them: expected at most ", kMostWords, " words"),
               ""};
}

}  // namespace

// What has no sizes is refused by whoever asks for them.
Status too_large(const PlannerCall& call) {
  if (Status bad = too_many_rows(call.qo_indptr)) return bad;
  if (const std::int64_t longest = longest_request(call.qo_indptr); longest > kMaxQoLen)
    return Error{ErrorCode::usage,
                 say("key 'seqlens_qo_indptr' gives a request ", longest,
                     " query rows: expected at most ", kMaxQoLen),
                 ""};
  const auto sizes = plan::query_sizes(call.sizes);
  return sizes ? too_large(*sizes) : std::nullopt;
}

Status too_large(const plan::PsInput& call) {
  if (Status bad = too_many_rows(call.qo_indptr)) return bad;
  const auto sizes = plan::query_ps_sizes(prefill_sizes(call));
  return sizes ? too_large(*sizes) : std::nullopt;
}

void write_planner_call(nlohmann::ordered_json& out, const plan::PlanInput& input) {
  out["arch"] = name(input.key.arch);
  out["num_cu"] = input.key.compute_units.count();
  out["seqlens_qo_indptr"] = input.qo_indptr;
  out["seqlens_kv_indptr"] = input.kv_indptr;
  out["kv_last_page_lens"] = input.last_page_len;
  out["num_heads_per_head_k"] = input.key.heads_per_kv_head.count();
  out["num_heads_k"] = input.key.kv_heads.count();
  out["is_causal"] = input.causal;
  out["page_size"] = input.page_size;
  out["kv_granularity"] = input.kv_granularity;
  out["max_seqlen_qo"] = input.key.max_qo_len;
  out["uni_seqlen_qo"] = input.uniform_qo_len;
  out["fast_mode"] = input.version == PlannerVersion::v1_2;
  out["topk"] = input.topk;
  out["max_split_per_batch"] = input.max_split_per_batch;
  out["intra_batch_mode"] = input.version == PlannerVersion::v1_0;
  out["is_cp_round_robin"] = input.cp_round_robin;
  out["dtype_q"] = name(input.key.dtype.q);
  out["dtype_kv"] = name(input.key.dtype.kv);
}

}  // namespace mla::cli
