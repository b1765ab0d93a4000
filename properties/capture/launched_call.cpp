#include "properties/capture/launched_call.hpp"

#include <algorithm>

#include "core/case/limits.hpp"
#include "core/paging/pages.hpp"
#include "core/say.hpp"
#include "core/shape/kernel_table.hpp"
#include "core/shape/persistent_gate.hpp"
#include "core/shape/split_count.hpp"
#include "properties/capture/bundle.hpp"
#include "properties/capture/checked_launch.hpp"
#include "properties/files/json_fields.hpp"

namespace mla::cli {
namespace {

using nlohmann::json;
using Arguments = std::vector<LaunchedArgument>;

constexpr std::string_view kArguments[] = {
    "launch_max_seqlen_q", "launch_num_heads",     "launch_dtype_q",       "launch_dtype_kv",
    "launch_page_size",    "launch_causal",        "launch_cp_world_size", "launch_cp_rank",
    "launch_g_kv_indptr",  "launch_num_kv_splits", "launch_total_kv",      "launch_persistent"};

// Where the planner was told of no rows, the longest request is the measure: the plan is judged for
// the kernel of the launch (size_query). Fewer than one row are impossible_rows'.
void compare_rows(const PlannerCall& call, std::int64_t rows, Arguments& out) {
  const std::int64_t told = call.input.key.max_qo_len;
  if (rows < 1 || rows == told) return;
  const bool fewer = rows < call.sizes.max_qo_len;
  out.push_back({.planned = told > 0 ? say(told, " query rows a request")
                                     : say("an unknown number of rows (the longest request has ",
                                           longest_request(call.qo_indptr), ")"),
                 .gets = say("the kernel gets ", rows),
                 .keys = {{"max_seqlen_qo", rows}},
                 .untold = told < 1 && !fewer,
                 .chooses = told > 0 || fewer});
}

// The planner decides by the product too (v1_2_device.cuh); kernels take one KV head (asm_mla.cu).
void compare_heads(const PlannerCall& call, files::Fields& fields, Arguments& out) {
  constexpr const char* kKey = "launch_num_heads";
  if (!fields.has(kKey)) return;
  const std::int64_t told =
      (call.input.key.heads_per_kv_head * call.input.key.kv_heads.count()).count();
  const std::int64_t heads = read_heads(fields, kKey).count();
  if (heads != told)
    out.push_back({.planned = say(told, " heads"),
                   .gets = say("the kernel gets ", heads),
                   .keys = {{"num_heads_per_head_k", heads}, {"num_heads_k", 1}},
                   .chooses = true});
}

void compare_dtypes(const PlannerCall& call, files::Fields& fields, Arguments& out) {
  const DtypePair told = call.input.key.dtype;
  DtypePair found = told;
  if (fields.has("launch_dtype_q")) found.q = read_dtype(fields, "launch_dtype_q");
  if (fields.has("launch_dtype_kv")) found.kv = read_dtype(fields, "launch_dtype_kv");
  if (found != told)
    out.push_back({.planned = say(name(told.q), "/", name(told.kv), " tensors"),
                   .gets = say("the kernel gets ", name(found.q), "/", name(found.kv)),
                   .keys = {{"dtype_q", name(found.q)}, {"dtype_kv", name(found.kv)}},
                   .chooses = true});
}

void compare_pages(const PlannerCall& call, files::Fields& fields, Arguments& out) {
  constexpr const char* kKey = "launch_page_size";
  const std::int64_t told = call.input.page_size;
  const std::int64_t found = fields.number_or(kKey, told);
  if (!is_power_of_two(found))
    fields.reject(kKey, say("is ", found, ": it must be a power of two"));
  if (found != told)
    out.push_back({.planned = say("pages of ", told),
                   .gets = say("the kernel gets pages of ", found),
                   .keys = {{"page_size", found}}});
}

// The kernel for one row masks nothing either way (asm_mla.cu, config_causal).
void compare_mask(const PlannerCall& call, std::int64_t rows, files::Fields& fields,
                  Arguments& out) {
  const bool told = call.input.causal;
  const bool found = fields.truth_or("launch_causal", told);
  if (found != told && rows > 1)
    out.push_back({.planned = told ? "a causal step" : "a step without a causal mask",
                   .gets = found ? "the kernel gets a causal one" : "the kernel gets one without",
                   .keys = {{"is_causal", found}}});
  // The mask of global positions; one row sees all keys of its rank.
  const std::int64_t ranks = fields.number_or("launch_cp_world_size", 1);
  const std::int64_t rank = fields.number_or("launch_cp_rank", 0);
  if (ranks > 1 && (rank < 0 || rank >= ranks))
    fields.reject("launch_cp_rank", say("is ", rank, " of ", ranks, " ranks"));
  if (!fields.has("launch_cp_world_size") || rows <= 1 || (ranks > 1) == call.input.cp_round_robin)
    return;
  out.push_back({.planned = ranks > 1 ? "a step without context parallelism"
                                      : "a step of context parallelism",
                 .gets = ranks > 1 ? say("the kernel gets cp_world_size ", ranks)
                                   : "the kernel gets one without",
                 .keys = {{"is_cp_round_robin", ranks > 1}}});
}

// The reduce has room for max(compute units, num_kv_splits) pieces (reduce.cu, max_splits); 0 or
// nothing asks for the compute units.
void compare_splits(const PlannerCall& call, files::Fields& fields, Arguments& out) {
  const std::int64_t told = call.sizes.num_kv_splits;
  const std::int64_t found = fields.number_or("launch_num_kv_splits", told);
  (void)fields.truth_or("launch_persistent", true);
  (void)fields.number_or("launch_total_kv", 0);
  const std::int64_t room = std::max(call.input.key.compute_units.count(), found);
  if (found > 0 && room < told)
    out.push_back({.planned = say("up to ", told, " pieces of a request"),
                   .gets = say("the kernel gets num_kv_splits ", found),
                   .keys = {{"num_kv_splits", found}},
                   .untold = true});
}

}  // namespace

bool is_launched_argument(std::string_view key) {
  return std::ranges::find(kArguments, key) != std::end(kArguments);
}

Result<Arguments> launched_arguments(const PlannerCall& call, const json& object) {
  Arguments out;
  files::Fields fields(object);
  const std::int64_t rows = fields.number_or(kLaunchRows, call.sizes.max_qo_len);
  if (fields.has(kLaunchRows)) compare_rows(call, rows, out);
  compare_heads(call, fields, out);
  compare_dtypes(call, fields, out);
  compare_pages(call, fields, out);
  compare_mask(call, rows, fields, out);
  compare_splits(call, fields, out);
  if (!fields.error().empty()) return Error{ErrorCode::usage, fields.error(), ""};
  return out;
}

std::string impossible_rows(const json& object) {
  const std::int64_t rows = files::Fields(object).number_or(kLaunchRows, 1);
  if (rows > 0) return {};
  return say("max_seqlen_q is ", rows, " at the launch: a kernel takes at least 1 row");
}

std::string missing_build(const json& object) {
  const auto call = read_planner_call(told_as_launched(object));
  if (!call || runs_unplanned(object)) return {};
  const PlanKey& key = call->input.key;
  const std::int64_t rows = call->sizes.max_qo_len;
  const auto kernel =
      find_persistent_kernel(key.arch, key.dtype, key.heads_per_kv_head.count(), rows);
  if (!kernel) return {};
  files::Fields fields(object);
  const std::string build = say(" build of ", kernel->label, " on ", name(key.arch));
  if (rows > 1 && !kernel->non_causal && !fields.truth_or("launch_causal", true))
    return "causal is false, and there is no unmasked" + build;
  if (fields.number_or("launch_cp_world_size", 1) > 1 && !takes_ranks(*kernel))
    return "g_kv_indptr is given, and there is no round-robin" + build;
  return {};
}

bool launches_another_kernel(const PlannerCall& call, const json& object) {
  const auto arguments = launched_arguments(call, object);
  return arguments && std::ranges::any_of(*arguments, &LaunchedArgument::chooses);
}

Status check_launch_keys(const json& object) {
  const auto call = read_planner_call(object);
  if (!call) return call.error();
  const auto arguments = launched_arguments(*call, object);
  return arguments ? Status() : arguments.error();
}

bool runs_unplanned(const json& object) {
  if (!has_plan(object)) return true;
  const auto call = read_planner_call(told_as_launched(object));
  if (!call) return false;
  files::Fields fields(object);
  const PlanKey& key = call->input.key;
  const bool passed = !fields.has("launch_num_kv_splits") &&
                      runs_without_plan(key.arch, key.dtype, key.heads_per_kv_head,
                                        call->sizes.max_qo_len, std::ssize(call->qo_indptr) - 1);
  return !fields.truth_or("launch_persistent", !passed);
}

Result<std::int64_t> launched_splits(const PlannerCall& call, const json& object,
                                     std::int64_t dumped_kv) {
  files::Fields fields(object);
  const PlanKey& key = call.input.key;
  const std::int64_t requests = std::ssize(call.qo_indptr) - 1;
  const std::int64_t asked = fields.number_or("launch_num_kv_splits", 0);
  const std::int64_t total = fields.number_or("launch_total_kv", dumped_kv);
  constexpr const char* kList = "launch_num_kv_splits_indptr";
  const bool listed = asked > 0 && fields.has(kList);
  if (listed) {
    const std::vector<std::int32_t> list = fields.words(kList);
    bool even = std::ssize(list) > requests;
    for (std::int64_t r = 0; r <= requests && even; ++r)
      even = list[static_cast<std::size_t>(r)] == r * asked;
    if (!even) fields.reject(kList, say("gives not every request ", asked, " splits"));
  }
  if (total < 0) fields.reject("launch_total_kv", say("is ", total, ": expected at least 0"));
  if (asked > kMaxKvSplits)
    fields.reject("launch_num_kv_splits",
                  say("is ", asked, " without a plan: expected at most ", kMaxKvSplits));
  if (!fields.error().empty()) return Error{ErrorCode::usage, fields.error(), ""};
  if (listed) return asked;
  return plan::split_count({.compute_units = key.compute_units,
                            .batch = Requests(std::max<std::int64_t>(requests, 1)),
                            .total_kv = Tokens(total),
                            .heads = key.heads_per_kv_head,
                            .max_qo_len = call.sizes.max_qo_len,
                            .dtype = key.dtype,
                            .asked = asked});
}

json told_as_launched(const json& object) {
  const auto call = read_planner_call(object);
  const auto arguments = call ? launched_arguments(*call, object) : Result<Arguments>(call.error());
  if (!arguments) return object;
  json out = without_launch(object);
  for (const LaunchedArgument& a : *arguments) out.update(a.keys);
  return out;
}

}  // namespace mla::cli
