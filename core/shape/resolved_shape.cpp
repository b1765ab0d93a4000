#include "core/shape/resolved_shape.hpp"

#include <algorithm>

#include "core/say.hpp"
#include "core/shape/folded_rows.hpp"
#include "core/shape/persistent_gate.hpp"
#include "core/shape/split_count.hpp"

namespace mla {
namespace {

struct RowCounts {
  std::int64_t longest = 0;
  std::int64_t uniform = -1;  // rows of every request, or -1
  std::int64_t leading = 0;   // of them put in front by the engine
};

// Uniform means equal, never "divides evenly" (BUG-016).
RowCounts count_rows(const Batch& batch) {
  RowCounts rows;
  for (const RequestSpec& r : batch.requests) rows.longest = std::max(rows.longest, r.qo_len);
  const bool equal = std::all_of(batch.requests.begin(), batch.requests.end(),
                                 [&](const RequestSpec& r) { return r.qo_len == rows.longest; });
  if (equal && rows.longest > 0) rows.uniform = rows.longest;
  return rows;
}

// An engine raises several rows, the same number in every request, to a length that a kernel has
// (vllm_metadata.md 1.4, G3 step 7).
RowCounts raised_rows(const RowCounts& rows, std::int64_t kernel_rows) {
  if (rows.uniform <= 1 || rows.uniform >= kernel_rows) return rows;
  return {kernel_rows, kernel_rows, kernel_rows - rows.uniform};
}

std::string what(const ResolvedShape& s, std::int64_t qo_len) {
  return say(s.heads.kernel.count(), " heads, ", qo_len, " query rows, ", name(s.dtype.q), "/",
             name(s.dtype.kv), " on ", name(s.arch));
}

// Why the persistent kernel cannot take whole requests of these rows, of which s.max_qo_len is the
// longest; empty if it can.
std::string why_not_persistent(const ResolvedShape& s, const Case& c, const RowCounts& rows) {
  const auto kernel = find_persistent_kernel(s.arch, s.dtype, s.heads.kernel.count(), rows.longest);
  if (!kernel) return "no persistent kernel for " + what(s, rows.longest);
  if (!c.causal && rows.longest > 1 && !kernel->non_causal)
    return say(kernel->label, " always masks several rows causally");
  if (c.decode().need_lse && !kernel->lse) return say(kernel->label, " returns no final LSE");
  if (!kernel->masks && rows.longest > 1 && c.page_size > 1)
    return say(kernel->label, " relies on the causal trim, which pages do not have");
  const auto plan = resolve_plan_shape(s.plan_key());
  if (!plan) return plan.error().message;
  if (plan->fold_ratio == 1) return {};
  if (rows.uniform != rows.longest)
    return "folded heads need the same number of rows in every request";
  return misread_rows(*kernel, plan->fold_ratio, rows.longest);
}

MaybeError check_old_planner(const ResolvedShape& s, const Case& c) {
  const bool v10 = s.planner == plan::PlannerVersion::v1_0;
  if (s.planner == plan::PlannerVersion::v1_2) return std::nullopt;
  const std::string version = v10 ? "planner v1.0" : "planner v1.1";
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorCode::unsupported, version + " " + why};
  };
  if (c.page_size > 1) return refuse(say("counts kv_offset in pages: page size ", c.page_size));
  if (v10 && s.heads.kernel.count() != 16)
    return refuse(say("is taken for 16 heads only, not ", s.heads.kernel.count()));
  if (v10 && s.uniform_qo_len < 0) return refuse("needs the same number of rows in every request");
  const auto old = resolve_plan_shape_v11(s.plan_key());
  if (!old) return old.error();
  if (old->fold_ratio != s.plan.fold_ratio) {
    Error error =
        refuse(say("folds ", s.heads.kernel.count(), " heads differently than the kernel"));
    error.bug = "BUG-014";
    return error;
  }
  if (v10 && s.plan.tiles(s.max_qo_len) > 1) {
    Error error = refuse(say("puts all ", s.max_qo_len, " rows in one tile, the kernel takes ",
                             s.plan.tile_rows(s.max_qo_len)));
    error.bug = "BUG-014";
    return error;
  }
  for (std::int64_t q = 1; q <= s.max_qo_len; ++q)
    if (old->tile_rows(q) > s.plan.tile_rows(q)) {
      Error error = refuse(say("puts ", old->tile_rows(q), " of ", q,
                               " rows in a tile, the kernel takes ", s.plan.tile_rows(q)));
      error.bug = "BUG-014";
      return error;
    }
  return std::nullopt;
}

void choose_planner(ResolvedShape& s, PlannerChoice choice) {
  switch (choice) {
    case PlannerChoice::v10:
      s.planner = plan::PlannerVersion::v1_0;
      break;
    case PlannerChoice::v11:
      s.planner = plan::PlannerVersion::v1_1;
      break;
    case PlannerChoice::v12_serial:
      s.planner_kernel = plan::V12Kernel::serial;
      break;
    case PlannerChoice::v12_parallel:
      s.planner_kernel = plan::V12Kernel::parallel;
      break;
    default:
      break;
  }
}

// The rows of a persistent launch. A request may have fewer keys than raised rows; where these are
// cut in tiles, the first tiles would end before they begin (BUG-075), so nothing is raised there.
RowCounts persistent_rows(ResolvedShape& s, const RowCounts& live, std::int64_t kernel_rows) {
  const RowCounts rows = raised_rows(live, kernel_rows);
  if (rows.leading == 0) return live;
  s.max_qo_len = rows.longest;
  const auto plan = resolve_plan_shape(s.plan_key());
  if (!plan || plan->tiles(rows.longest) == 1) return rows;
  s.notes.push_back(say("not raised to ", rows.longest, " rows, which are ",
                        plan->tiles(rows.longest), " tiles"));
  return live;
}

Result<ResolvedShape> take_persistent(ResolvedShape s, const Case& c, const RowCounts& live) {
  const RowCounts rows = persistent_rows(s, live, c.decode().kernel_rows);
  s.max_qo_len = rows.longest;
  const std::string why_not = why_not_persistent(s, c, rows);
  s.route = why_not.empty() ? Route::persistent : Route::persistent_rows;
  s.route_reason = why_not.empty() ? "a persistent kernel takes these requests" : why_not;
  if (!why_not.empty()) s.max_qo_len = 1;
  s.uniform_qo_len = why_not.empty() ? rows.uniform : 1;
  s.leading_rows = why_not.empty() ? rows.leading : 0;
  const auto kernel = find_persistent_kernel(s.arch, s.dtype, s.heads.kernel.count(), s.max_qo_len);
  if (!kernel || (c.decode().need_lse && !kernel->lse))
    return Error{ErrorCode::unsupported,
                 kernel ? "no kernel returns the final LSE for " + what(s, rows.longest)
                        : "no kernel for " + what(s, rows.longest)};
  s.kernel = *kernel;
  auto plan = resolve_plan_shape(s.plan_key());
  if (!plan) return plan.error();
  s.plan = *plan;
  choose_planner(s, c.planner);
  if (MaybeError refusal = check_old_planner(s, c)) return *refusal;
  if (s.kernel.label.starts_with("a8w8 qh16_qseqlen4_v3"))
    s.notes.push_back(say(s.kernel.label,
                          " is right for works of 192 keys and more only while loads arrive "
                          "neither too early nor too late (AITER-10)"));
  if (c.page_size > 1)
    s.notes.push_back("most shipped persistent kernels ignore the page size and take 1");
  return s;
}

// A caller that passes num_kv_splits and its list gets what it asks for.
Result<std::int64_t> splits_of(const ResolvedShape& s, const Case& c, const Batch& batch) {
  if (c.decode().kv_splits > 0) return c.decode().kv_splits;
  std::int64_t total = 0;
  for (const RequestSpec& r : batch.requests)
    if (r.qo_len > 0) total += r.kv_len;  // of a request without rows no key is listed
  return plan::split_count({s.compute_units,
                            Requests(static_cast<std::int64_t>(batch.requests.size())),
                            Tokens(total), s.heads.kernel, s.max_qo_len, s.dtype});
}

Result<ResolvedShape> take_split(ResolvedShape s, const Case& c, const Batch& batch,
                                 const RowCounts& live) {
  const RowCounts rows = raised_rows(live, c.decode().kernel_rows);
  s.route = Route::split;
  s.max_qo_len = rows.longest;
  s.uniform_qo_len = rows.uniform;
  s.leading_rows = rows.leading;
  const auto kernel = find_split_kernel(s.arch, s.dtype, s.heads.kernel.count(), rows.longest);
  if (!kernel)
    return Error{ErrorCode::unsupported,
                 "no non-persistent kernel is known to be right for " + what(s, rows.longest)};
  if (!c.causal && rows.longest > 1 && !kernel->non_causal)
    return Error{ErrorCode::unsupported, say(kernel->label, " always masks several rows causally"),
                 "BUG-108"};
  s.kernel = *kernel;
  const auto splits = splits_of(s, c, batch);
  if (!splits) return splits.error();
  s.kv_splits = *splits;
  if (c.decode().need_lse && *splits == 1 &&
      !plan::merges_one_split(s.heads.kernel, rows.longest, s.dtype))
    return Error{ErrorCode::unsupported,
                 say(kernel->label, " with one split writes the output itself, and no final LSE")};
  s.split_granularity = plan::split_granularity(s.heads.kernel, rows.longest, s.dtype);
  return s;
}

}  // namespace

std::string_view name(Route route) {
  switch (route) {
    case Route::persistent:
      return "persistent";
    case Route::persistent_rows:
      return "persistent-rows";
    case Route::split:
      return "split";
  }
  return {};
}

PlanKey ResolvedShape::plan_key() const {
  return {arch, compute_units, heads.kernel, Heads(1), dtype, max_qo_len, false};
}

Heads ResolvedShape::row_heads() const {
  return route == Route::split ? heads.kernel : plan.plan_heads;
}

std::int64_t ResolvedShape::launch_row(std::int64_t row) const {
  if (leading_rows == 0) return row;
  const std::int64_t live = uniform_qo_len - leading_rows;
  return row / live * uniform_qo_len + leading_rows + row % live;
}

std::int64_t ResolvedShape::fold_ratio() const {
  return route == Route::split ? 1 : plan.fold_ratio;
}

Result<ResolvedShape> resolve_shape(const Case& c, const Batch& batch, std::int64_t told_rows) {
  const auto refuse = [](std::string why) { return Error{ErrorCode::unsupported, std::move(why)}; };
  if (c.kind() != StepKind::decode)
    return refuse(say("a case of kind ", name(c.kind()), " has no decode shape"));
  ResolvedShape s;
  s.arch = c.arch;
  s.compute_units = ComputeUnits(c.compute_units);
  s.dtype = c.dtype;
  s.fp8 = fp8_variant(c.arch);
  s.widths = c.widths();
  if (!s.widths.same_tensors(kBuiltIn))
    s.notes.push_back(say("no kernel of AITER has rows of ", text_of(s.widths), ": planned as for ",
                          text_of(kBuiltIn)));
  s.causal = c.causal;
  s.final_lse = c.decode().need_lse;
  s.block_size = c.block_size;
  s.page_size = c.page_size;
  s.granularity = c.decode().granularity;
  s.max_split = c.decode().max_split;
  auto heads = resolve_head_padding(Heads(c.heads));
  if (!heads) return heads.error();
  s.heads = *heads;
  if (c.dtype.q == Dtype::fp8 && c.dtype.kv == Dtype::bf16)
    return refuse("dtype fp8/bf16: no kernel takes an fp8 query with a bf16 cache");
  if (c.block_size % c.page_size != 0)
    return refuse(
        say("block size ", c.block_size, " is not a multiple of page size ", c.page_size));
  RowCounts rows = count_rows(batch);
  if (rows.longest == 0) return refuse("no request has a query row (longest is 0)");
  if (told_rows > 0 && told_rows < rows.longest)
    return refuse(
        say("the kernel is told of ", told_rows, " rows, and a request has ", rows.longest));
  rows.longest = std::max(rows.longest, told_rows);
  s.request_rows = rows.longest;

  if (c.planner == PlannerChoice::none) {
    s.route_reason = "the case asks for no plan";
    return take_split(std::move(s), c, batch, rows);
  }
  if (c.decode().kv_splits > 0)
    return refuse(say("splits=", c.decode().kv_splits, ": planner ", name(c.planner),
                      " makes a plan, which has no such splits (planner=none)"));
  const bool gated =
      runs_without_plan(c.arch, c.dtype, s.heads.kernel, rows.longest, std::ssize(batch.requests));
  if (gated && c.planner == PlannerChoice::automatic) {
    s.route_reason =
        "one bf16 row of 16 heads on gfx950 runs without a plan from 32 requests on "
        "(AITER_MLA_DECODE_PERSISTENT_MAX_BATCH)";
    return take_split(std::move(s), c, batch, rows);
  }
  if (!is_power_of_two(s.granularity))
    return refuse(say("gran=", s.granularity, ": planners take powers of two"));
  return take_persistent(std::move(s), c, rows);
}

}  // namespace mla
