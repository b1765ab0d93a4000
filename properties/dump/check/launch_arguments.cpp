#include "properties/dump/check/launch_arguments.hpp"

#include <algorithm>

#include "core/case/limits.hpp"
#include "core/say.hpp"
#include "core/shape/kernel_table.hpp"
#include "core/shape/persistent_gate.hpp"
#include "core/shape/split_count.hpp"

namespace mla::dump {
namespace {

using Arguments = std::vector<LaunchedArgument>;

// Where the planner was told of no rows, the longest request is the measure: the plan is judged for
// the kernel of the launch (PlannerCall::sizes). Fewer than one row are impossible_rows'.
void compare_rows(const PlannerCall& call, std::int64_t rows, Arguments& out) {
  const std::int64_t planned = call.input.key.max_qo_len;
  if (rows < 1 || rows == planned) return;
  const bool fewer = rows < call.sizes().max_qo_len;
  out.push_back({.planned = planned > 0 ? say(planned, " query rows a request")
                                        : say("an unknown number of rows (the longest request has ",
                                              longest_request(call.input.qo_indptr), ")"),
                 .gets = say("the kernel gets ", rows),
                 .tell = [rows](PlannerCall& c) { c.input.key.max_qo_len = rows; },
                 .untold = planned < 1 && !fewer,
                 .chooses = planned > 0 || fewer});
}

// The planner decides by the product too (v1_2_device.cuh); kernels take one KV head (asm_mla.cu).
void compare_heads(const PlannerCall& call, Heads heads, Arguments& out) {
  const Heads planned = call.input.key.heads_per_kv_head * call.input.key.kv_heads.count();
  if (heads == planned) return;
  out.push_back({.planned = say(planned.count(), " heads"),
                 .gets = say("the kernel gets ", heads.count()),
                 .tell =
                     [heads](PlannerCall& c) {
                       c.input.key.heads_per_kv_head = heads;
                       c.input.key.kv_heads = Heads(1);
                     },
                 .chooses = true});
}

void compare_dtypes(const PlannerCall& call, const Launch& launch, Arguments& out) {
  const DtypePair planned = call.input.key.dtype;
  const DtypePair found = {launch.dtype_q.value_or(planned.q),
                           launch.dtype_kv.value_or(planned.kv)};
  if (found == planned) return;
  out.push_back({.planned = say(name(planned.q), "/", name(planned.kv), " tensors"),
                 .gets = say("the kernel gets ", name(found.q), "/", name(found.kv)),
                 .tell = [found](PlannerCall& c) { c.input.key.dtype = found; },
                 .chooses = true});
}

void compare_pages(const PlannerCall& call, std::int64_t found, Arguments& out) {
  const std::int64_t planned = call.input.page_size;
  if (found == planned) return;
  out.push_back({.planned = say("pages of ", planned),
                 .gets = say("the kernel gets pages of ", found),
                 .tell = [found](PlannerCall& c) { c.input.page_size = found; }});
}

// The kernel for one row masks nothing either way (asm_mla.cu, config_causal).
void compare_mask(const PlannerCall& call, bool found, Arguments& out) {
  const bool planned = call.input.causal;
  if (found == planned) return;
  out.push_back({.planned = planned ? "a causal step" : "a step without a causal mask",
                 .gets = found ? "the kernel gets a causal one" : "the kernel gets one without",
                 .tell = [found](PlannerCall& c) { c.input.causal = found; }});
}

// The mask of global positions; one row sees all keys of its rank.
void compare_ranks(const PlannerCall& call, std::int64_t ranks, Arguments& out) {
  const bool dealt = ranks > 1;
  if (dealt == call.input.cp_round_robin) return;
  out.push_back(
      {.planned = dealt ? "a step without context parallelism" : "a step of context parallelism",
       .gets = dealt ? say("the kernel gets cp_world_size ", ranks) : "the kernel gets one without",
       .tell = [dealt](PlannerCall& c) { c.input.cp_round_robin = dealt; }});
}

// The reduce has room for max(compute units, num_kv_splits) pieces (reduce.cu, max_splits); 0 or
// nothing asks for the compute units.
void compare_splits(const PlannerCall& call, std::int64_t found, Arguments& out) {
  const std::int64_t planned = call.sizes().num_kv_splits;
  const std::int64_t room = std::max(call.input.key.compute_units.count(), found);
  if (found <= 0 || room >= planned) return;
  out.push_back({.planned = say("up to ", planned, " pieces of a request"),
                 .gets = say("the kernel gets num_kv_splits ", found),
                 .tell = [found](PlannerCall& c) { c.num_kv_splits = found; },
                 .untold = true});
}

}  // namespace

Arguments launched_arguments(const PlannerCall& call, const Launch& launch) {
  Arguments out;
  const std::int64_t rows = launch.max_qo_len.value_or(call.sizes().max_qo_len);
  if (launch.max_qo_len) compare_rows(call, rows, out);
  if (launch.heads) compare_heads(call, *launch.heads, out);
  compare_dtypes(call, launch, out);
  if (launch.page_size) compare_pages(call, *launch.page_size, out);
  if (launch.causal && rows > 1) compare_mask(call, *launch.causal, out);
  if (call.ranks && rows > 1) compare_ranks(call, *call.ranks, out);
  if (launch.num_kv_splits) compare_splits(call, *launch.num_kv_splits, out);
  return out;
}

std::optional<LaunchedArgument> implied_mask(const PlannerCall& call, const Launch& launch) {
  const PlannerCall found = told_as_launched(call, launch);
  const PlanKey& key = found.input.key;
  const std::int64_t rows = found.sizes().max_qo_len;
  const auto kernel =
      find_persistent_kernel(key.arch, key.dtype, key.heads_per_kv_head.count(), rows);
  Arguments out;
  if (!launch.causal && rows > 1 && kernel && !kernel->non_causal) compare_mask(call, true, out);
  if (out.empty()) return std::nullopt;
  out[0].untold = true;
  return out[0];
}

PlannerCall told(PlannerCall call, const Arguments& arguments) {
  call.launched_rows = -1;
  for (const LaunchedArgument& a : arguments) a.tell(call);
  return call;
}

PlannerCall told_as_launched(const PlannerCall& call, const Launch& launch) {
  return told(call, launched_arguments(call, launch));
}

std::string impossible_rows(const Launch& launch) {
  const std::int64_t rows = launch.max_qo_len.value_or(1);
  if (rows > 0) return {};
  return say("max_seqlen_q is ", rows, " at the launch: a kernel takes at least 1 row");
}

std::string missing_build(const Planning& planned, const Launch& launch) {
  if (runs_unplanned(planned, &launch)) return {};
  const PlannerCall call = told_as_launched(planned.call, launch);
  const PlanKey& key = call.input.key;
  const std::int64_t rows = call.sizes().max_qo_len;
  const auto kernel =
      find_persistent_kernel(key.arch, key.dtype, key.heads_per_kv_head.count(), rows);
  if (!kernel) return {};
  const std::string build = say(" build of ", kernel->label, " on ", name(key.arch));
  if (rows > 1 && !kernel->non_causal && !launch.causal.value_or(true))
    return "causal is false, and there is no unmasked" + build;
  if (call.ranks.value_or(1) > 1 && !takes_ranks(*kernel))
    return "g_kv_indptr is given, and there is no round-robin" + build;
  return {};
}

bool launches_another_kernel(const PlannerCall& call, const Launch& launch) {
  return std::ranges::any_of(launched_arguments(call, launch), &LaunchedArgument::chooses);
}

bool runs_unplanned(const Planning& planned, const Launch* launch) {
  if (!planned.plan) return true;
  static const Launch kNothing;
  const Launch& found = launch != nullptr ? *launch : kNothing;
  const PlannerCall call = told_as_launched(planned.call, found);
  const PlanKey& key = call.input.key;
  const bool passed =
      !found.num_kv_splits &&
      runs_without_plan(key.arch, key.dtype, key.heads_per_kv_head, call.sizes().max_qo_len,
                        std::ssize(call.input.qo_indptr) - 1);
  return !found.persistent.value_or(!passed);
}

Result<std::int64_t> launched_splits(const PlannerCall& call, const Launch& launch,
                                     std::int64_t dumped_kv) {
  const auto bad = [](const std::string& why) { return Error{ErrorCode::usage, why}; };
  const PlanKey& key = call.input.key;
  const std::int64_t requests = std::ssize(call.input.qo_indptr) - 1;
  const std::int64_t asked = launch.num_kv_splits.value_or(0);
  const bool listed = asked > 0 && launch.num_kv_splits_indptr;
  if (listed) {
    const Words& list = *launch.num_kv_splits_indptr;
    bool even = std::ssize(list) > requests;
    for (std::int64_t r = 0; r <= requests && even; ++r)
      even = list[static_cast<std::size_t>(r)] == r * asked;
    if (!even)
      return bad(
          say("key 'launch_num_kv_splits_indptr' gives not every request ", asked, " splits"));
  }
  if (asked > kMaxKvSplits)
    return bad(say("key 'launch_num_kv_splits' is ", asked, " without a plan: expected at most ",
                   kMaxKvSplits));
  if (listed) return asked;
  return plan::split_count({.compute_units = key.compute_units,
                            .batch = Requests(std::max<std::int64_t>(requests, 1)),
                            .total_kv = Tokens(launch.total_kv.value_or(dumped_kv)),
                            .heads = key.heads_per_kv_head,
                            .max_qo_len = call.sizes().max_qo_len,
                            .dtype = key.dtype,
                            .asked = asked});
}

}  // namespace mla::dump
