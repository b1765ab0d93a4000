// P28: every shape resolves to a listed kernel that does what the case asks, or is refused with a
// reason; a resolved shape can be planned and executed.
#include <algorithm>
#include <limits>
#include <utility>

#include "core/case/steps.hpp"
#include "core/engine/decode_step.hpp"
#include "core/engine/launch.hpp"
#include "core/engine/step_hooks.hpp"
#include "core/say.hpp"
#include "core/shape/dispatch.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/shape_rules.hpp"
#include "properties/claims/support/support.hpp"

namespace mla::prop {
namespace {

bool same_entry(const KernelEntry& a, const KernelEntry& b) {
  return a.label == b.label && a.arch == b.arch && a.dtype == b.dtype && a.heads == b.heads &&
         a.min_qo_len == b.min_qo_len && a.max_qo_len == b.max_qo_len;
}

// Without a plan the merge writes it (aiter.md 4), and one split is merged for a single bf16 row of
// 16 heads only.
bool returns_lse(const ResolvedShape& shape, const KernelEntry& kernel) {
  if (shape.route != Route::split) return kernel.lse;
  return shape.kv_splits > 1 ||
         (kernel.heads == 16 && kernel.max_qo_len == 1 && shape.dtype.q == Dtype::bf16);
}

std::optional<std::string> check_kernel(const Case& c, const ResolvedShape& shape) {
  const std::int64_t heads = shape.heads.kernel.count();
  const auto listed =
      shape.route == Route::split
          ? find_split_kernel(shape.arch, shape.dtype, heads, shape.max_qo_len)
          : find_persistent_kernel(shape.arch, shape.dtype, heads, shape.max_qo_len);
  const std::string what =
      say("route ", name(shape.route), " with ", heads, " heads and ", shape.max_qo_len, " rows ");
  if (!listed) return what + "has no listed kernel, but is taken";
  if (!same_entry(*listed, shape.kernel))
    return say(what, "runs on '", shape.kernel.label, "', listed is '", listed->label, "'");
  if (c.decode().need_lse && !returns_lse(shape, *listed))
    return say(what, "runs on ", listed->label, ", which returns no final LSE");
  if (!c.causal && shape.max_qo_len > 1 && !listed->non_causal)
    return say(what, "runs on ", listed->label, ", which masks causally");
  if (shape.causal != c.causal) return what + "ignores the causal flag of the case";
  if (shape.route_reason.empty()) return what + "is taken without a reason";
  return std::nullopt;
}

std::optional<std::string> check_refusal(const Error& error) {
  if (!is_refusal(error)) return "the shape is neither taken nor refused: " + error.message;
  if (error.message.empty()) return "the shape is refused without a reason";
  return std::nullopt;
}

// The same case for other heads, rows and dtypes; nothing is executed.
Case other_shape(const Case& c, Random& random) {
  const std::vector<DtypePair> dtypes = {{Dtype::bf16, Dtype::bf16},
                                         {Dtype::bf16, Dtype::fp8},
                                         {Dtype::fp8, Dtype::fp8},
                                         {Dtype::fp8, Dtype::bf16}};
  Case other = c;
  other.heads = random.between(1, 128);
  other.arch = random.below(2) == 0 ? Arch::gfx942 : Arch::gfx950;
  other.dtype = random.pick(dtypes);
  other.requests.resize(std::min<std::size_t>(c.requests.size(), 3));
  const std::int64_t q = random.between(1, 17);
  for (RequestSpec& r : other.requests) r = {q, q + 30};
  other.planner = random.pick(std::vector{PlannerChoice::automatic, PlannerChoice::v12,
                                          PlannerChoice::none, PlannerChoice::v12_serial,
                                          PlannerChoice::v12_parallel, PlannerChoice::v11});
  if (other.planner != PlannerChoice::none) other.decode().kv_splits = 0;
  return other;
}

// What has a kernel on both architectures, at least with every row as a request.
bool everybody_takes_decode(const Case& c) {
  const bool single = std::ranges::all_of(c.requests, [](auto& r) { return r.qo_len <= 1; });
  const bool planned =
      ((c.planner == PlannerChoice::automatic || c.planner == PlannerChoice::v12) &&
       is_power_of_two(c.decode().granularity)) ||
      (single && c.heads <= 16 && c.dtype.q == c.dtype.kv && c.planner == PlannerChoice::none);
  const bool splits = c.planner == PlannerChoice::none || c.decode().kv_splits == 0;
  const bool dtypes = c.dtype.q == Dtype::bf16 || c.dtype.kv == Dtype::fp8;
  double pages = 0;  // if every row is a request
  for (const RequestSpec& r : c.requests)
    pages += static_cast<double>(r.qo_len) * static_cast<double>(r.kv_len);
  return planned && splits && dtypes && (c.causal || single) && !c.decode().need_lse &&
         c.page_size == 1 && pages <= std::numeric_limits<std::int32_t>::max() &&
         std::ranges::any_of(c.requests, [](const RequestSpec& r) { return r.qo_len > 0; }) &&
         std::ranges::all_of(c.requests, [](const RequestSpec& r) {
           return r.kv_len == 0 || r.kv_len >= r.qo_len;
         });
}

// Whether a step runs without a plan, by AITER's rule (aiter.md 4).
bool runs_without_plan(const Case& c, const Batch& batch) {
  constexpr std::int64_t kMostPlanned = 31;  // requests
  if (c.planner != PlannerChoice::automatic) return c.planner == PlannerChoice::none;
  std::int64_t longest = 0;
  for (const RequestSpec& r : batch.requests) longest = std::max(longest, r.qo_len);
  return c.arch == Arch::gfx950 && c.dtype.both(Dtype::bf16) && c.heads <= 16 && longest == 1 &&
         std::ssize(batch.requests) > kMostPlanned;
}

std::optional<std::string> check_shape(Subject& subject) {
  if (!subject.batch()) return std::nullopt;
  const auto& shape = subject.shape();
  if (!shape && everybody_takes_decode(subject.spec()))
    return "every row has a kernel, and the shape is refused: " + shape.error().message;
  if (!shape) return check_refusal(shape.error());
  if ((shape->route == Route::split) != runs_without_plan(subject.spec(), *subject.batch()))
    return say("the step takes route ", name(shape->route), ": ", shape->route_reason);
  if (shape->route == Route::persistent_rows &&
      takes_whole_requests(subject.spec(), *shape, *subject.batch()))
    return "a kernel takes whole requests, and each row is one: " + shape->route_reason;
  if (const Support common = common_support(*shape); !common.ok)
    return "the shape is taken, and no backend may run it: " + common.reason;
  const bool by_table = !chosen_by_dispatch(*shape);
  if (by_table)
    if (auto why = check_kernel(subject.spec(), *shape)) return why;
  if (auto why = other_planner(subject.spec(), *shape)) return why;
  if (by_table)
    if (auto why = wrong_folding(*shape)) return why;
  const Support support = subject.backend().supports(*shape);
  if (!support.ok && support.reason.empty()) return "the backend declines without a reason";
  return std::nullopt;
}

// A taken shape with one thing in it that no backend can run is declined with a reason.
std::optional<std::string> check_damaged(const ResolvedShape& shape) {
  const struct {
    const char* what;
    void (*change)(ResolvedShape& s);
  } damages[] = {
      {"an fp8 query over a bf16 cache",
       [](ResolvedShape& s) { s.dtype = {Dtype::fp8, Dtype::bf16}; }},
      {"pages of no token", [](ResolvedShape& s) { s.page_size = 0; }},
      {"folded heads of ragged requests",
       [](ResolvedShape& s) {
         s.route = Route::persistent;
         s.plan.fold_ratio = 2;
         s.uniform_qo_len = -1;
       }},
      {"no split",
       [](ResolvedShape& s) {
         s.route = Route::split;
         s.kv_splits = 0;
         s.split_granularity = 16;
       }},
      {"splits of no token",
       [](ResolvedShape& s) {
         s.route = Route::split;
         s.kv_splits = 2;
         s.split_granularity = 0;
       }},
  };
  for (const auto& damage : damages) {
    ResolvedShape other = shape;
    damage.change(other);
    if (const Support support = common_support(other); support.ok || support.reason.empty())
      return say("a shape with ", damage.what, " may run, or is declined without a reason");
  }
  return std::nullopt;
}

// No kernel takes an fp8 query over a bf16 cache, so that an engine for such steps gets no buffers.
std::optional<std::string> check_provision(const Case& c) {
  Case mixed = c;
  mixed.dtype = {Dtype::fp8, Dtype::bf16};
  const auto sizes =
      engine::DecodeStepBuilder(mixed, {.max_requests = 2, .max_qo_len = 2}, StepHooks::none())
          .provision();
  if (!sizes && !sizes.error().message.empty()) return std::nullopt;
  return "an engine that no kernel serves gets buffers, or no reason why not";
}

Outcome decode_kernel_available(Subject& subject) {
  if (!subject.batch()) return refusal(subject.batch().error());
  if (auto why = check_provision(subject.spec())) return failed(std::move(*why));
  if (subject.shape())
    if (auto why = check_damaged(*subject.shape())) return failed(std::move(*why));
  if (const auto why = check_shape(subject)) return failed(*why);
  Random random(subject.spec(), "P28");
  for (int round = 0; round < 8; ++round) {
    Subject other = subject.sibling(other_shape(subject.spec(), random));
    if (const auto why = check_shape(other))
      return failed("as " + format_case(other.spec()) + ": " + *why);
  }
  if (!subject.shape()) return passed();
  const std::vector<Case> steps = single_steps(subject.spec());
  for (std::size_t i = 1; i < steps.size(); ++i) {
    Subject later = subject.sibling(steps[i]);
    if (const auto why = check_shape(later)) return failed(say("step ", i, ": ", *why));
    if (!later.shape()) return passed();
  }
  // What is refused later must be a known defect of the original, not a second opinion.
  // Only a planner kernel that the case names may decline by itself.
  const auto& metadata = subject.metadata();
  const bool named = subject.spec().planner == PlannerChoice::v12_parallel;
  if (!metadata && !named &&
      (metadata.error().code != ErrorCode::refused ||
       std::ranges::all_of(steps, everybody_takes_decode)))
    return failed("the shape is taken, but the step is not: " + metadata.error().message);
  return passed();
}

}  // namespace

constexpr Property kP28{
    "P28", "kernel_available",
    "Every shape gets a listed kernel or is refused with a reason; what has a "
    "kernel is taken.",
    by_kind<decode_kernel_available, prefill_kernel_available, fa_kernel_available>};

}  // namespace mla::prop
