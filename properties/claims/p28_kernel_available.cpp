// P28: every shape resolves to a listed kernel that does what the case asks, or is refused with a
// reason; a resolved shape can be planned and executed.
#include <algorithm>
#include <limits>
#include <utility>

#include "core/case/steps.hpp"
#include "core/engine/launch.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/shape_rules.hpp"
#include "properties/claims/support.hpp"
#include "properties/step/fa/run.hpp"

namespace mla::prop {
namespace {

bool same_entry(const KernelEntry& a, const KernelEntry& b) {
  return a.label == b.label && a.arch == b.arch && a.dtype == b.dtype && a.heads == b.heads &&
         a.min_qo_len == b.min_qo_len && a.max_qo_len == b.max_qo_len;
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
  if (c.decode().need_lse && !listed->lse)
    return say(what, "runs on ", listed->label, ", which returns no final LSE");
  if (!c.causal && shape.max_qo_len > 1 && !listed->non_causal)
    return say(what, "runs on ", listed->label, ", which masks causally");
  if (shape.causal != c.causal) return what + "ignores the causal flag of the case";
  if (shape.route_reason.empty()) return what + "is taken without a reason";
  return std::nullopt;
}

std::optional<std::string> check_refusal(const Error& error) {
  if (error.code != ErrorCode::unsupported && error.code != ErrorCode::refused)
    return "the shape is neither taken nor refused: " + error.message;
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
  return other;
}

// What has a kernel on both architectures, at least with every row as a request.
bool everybody_takes_decode(const Case& c) {
  const bool single = std::ranges::all_of(c.requests, [](auto& r) { return r.qo_len <= 1; });
  const bool planned =
      c.planner == PlannerChoice::automatic || c.planner == PlannerChoice::v12 ||
      (single && c.heads <= 16 && c.dtype.q == c.dtype.kv && c.planner == PlannerChoice::none);
  const bool dtypes = c.dtype.q == Dtype::bf16 || c.dtype.kv == Dtype::fp8;
  double pages = 0;  // if every row is a request
  for (const RequestSpec& r : c.requests)
    pages += static_cast<double>(r.qo_len) * static_cast<double>(r.kv_len);
  return planned && dtypes && (c.causal || single) && !c.decode().need_lse && c.page_size == 1 &&
         pages <= std::numeric_limits<std::int32_t>::max() &&
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
         !c.decode().need_lse && std::ssize(batch.requests) > kMostPlanned;
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
  if (auto why = check_kernel(subject.spec(), *shape)) return why;
  if (auto why = other_planner(subject.spec(), *shape)) return why;
  if (auto why = wrong_folding(*shape)) return why;
  const Support support = subject.backend().supports(*shape);
  if (!support.ok && support.reason.empty()) return "the backend declines without a reason";
  return std::nullopt;
}

Outcome decode_kernel_available(Subject& subject) {
  if (!subject.batch()) return refusal(subject.batch().error());
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

// For FA steps: every layer and query length gets the kernel of the rule or a refusal.
struct Wanted {
  fa::DecodeKernel kernel;
  bool available;
};

// The rule in words of its own (vllm_metadata.md 3.3, and what each kernel can do).
Wanted wanted(const fa::Layer& layer, bool causal, std::int64_t rows) {
  if (layer.window >= 0 || layer.head_dim < 64 || rows > 1)
    return {fa::DecodeKernel::unified_attention, causal || rows <= 1};
  return {fa::DecodeKernel::paged_attention_v1,
          layer.head_dim % 64 == 0 && layer.heads.count() / layer.kv_heads.count() <= 16};
}

std::string text(const fa::Layer& layer, bool causal, std::int64_t rows) {
  return say(layer.heads.count(), "/", layer.kv_heads.count(), " heads of ", layer.head_dim,
             ", window ", layer.window, ", ", rows, " rows, ", causal ? "causal" : "not causal");
}

std::optional<std::string> check_route(const fa::Layer& layer, bool causal, std::int64_t rows) {
  const Wanted want = wanted(layer, causal, rows);
  const auto got = fa::route_decode(layer, causal, rows);
  if (got.ok() != want.available)
    return text(layer, causal, rows) +
           (got.ok() ? " runs on a kernel that cannot" : " is refused: " + got.error().message);
  if (!got) {
    if (!got.error().message.empty()) return std::nullopt;
    return text(layer, causal, rows) + " is refused without a reason";
  }
  if (got->kernel != want.kernel)
    return say(text(layer, causal, rows), " goes to ", name(got->kernel));
  if (got->reason.empty()) return text(layer, causal, rows) + " is routed without a reason";
  return std::nullopt;
}

// A window has no kernel without the mask (BUG-108).
std::optional<std::string> check_varlen(const fa::Layer& layer, bool causal) {
  const bool refused = fa::refuse_varlen(layer, causal).has_value();
  if (refused == (layer.window >= 0 && !causal)) return std::nullopt;
  return text(layer, causal, 1) + (refused ? " is refused" : " is taken") + " by varlen attention";
}

fa::Layer random_layer(Random& random) {
  fa::Layer layer;
  layer.kv_heads = Heads(random.between(1, 4));
  layer.heads = layer.kv_heads * random.between(1, 20);
  layer.head_dim = 16 * random.between(1, 16);
  layer.window = random.pick(std::vector<std::int64_t>{-1, -1, 0, 15, 127});
  return layer;
}

std::optional<std::string> check_step(const FaStepRun& step) {
  if (step.parts.split.decodes == Requests(0)) return std::nullopt;
  const std::int64_t rows = step.parts.decode_max_query_len;
  const Wanted want = wanted(step.layer, step.spec.causal, rows);
  if (step.route == name(want.kernel)) return std::nullopt;
  return text(step.layer, step.spec.causal, rows) + " ran on " + step.route;
}

// What every FA kernel takes, so that nobody may decline it as unsupported.
bool everybody_takes(const Case& c) {
  constexpr std::int64_t kFarBlock = std::int64_t{1} << 20;  // the ids of any batch fit behind it
  const FaSpec& fa = c.fa();
  std::int64_t requests = std::ssize(c.requests);
  for (const auto& step : c.later_steps) requests = std::max(requests, std::ssize(step));
  requests += c.pad_requests;  // one that stands in the run of the extends shares the workspace
  const bool room = fa.workspace_tokens >= requests && c.origin_block < kFarBlock;
  return room && c.causal && c.dtype.both(Dtype::bf16) && fa.head_dim % 64 == 0 &&
         (c.block_size == 16 || c.block_size == 32) && c.heads % fa.kv_heads == 0 &&
         c.heads / fa.kv_heads <= 16;
}

// A workspace of one token for each extend is the smallest that holds a chunk of each.
std::optional<std::string> check_workspace(Random& random) {
  std::vector<std::int64_t> contexts(static_cast<std::size_t>(random.between(1, 5)));
  for (std::int64_t& context : contexts) context = random.between(1, 40);
  const std::int64_t least = std::ssize(contexts);
  for (const std::int64_t tokens : {least, least - 1})
    if (fa::plan_chunks(contexts, tokens).ok() != (tokens == least))
      return say("a workspace of ", tokens, " tokens is ", tokens == least ? "refused" : "taken",
                 " for ", least, " extends");
  return std::nullopt;
}

Outcome fa_kernel_available(Subject& subject) {
  Random random(subject.spec(), "P28");
  if (auto why = check_workspace(random)) return failed(std::move(*why));
  for (int round = 0; round < 16; ++round) {
    const fa::Layer layer = random_layer(random);
    const bool causal = layer.window >= 0 || random.below(4) != 0;
    if (const auto why = check_route(layer, causal, random.between(0, 9))) return failed(*why);
    if (const auto why = check_varlen(layer, random.below(2) == 0)) return failed(*why);
  }
  const auto& steps = subject.fa();
  if (!steps) {
    const Error& error = steps.error();
    if (error.code != ErrorCode::unsupported && error.code != ErrorCode::refused)
      return failed("the step is neither taken nor refused: " + error.message);
    if (error.code == ErrorCode::unsupported && everybody_takes(subject.spec()))
      return failed("every kernel takes the step, which is declined: " + error.message);
    return error.message.empty() ? failed("the step is refused without a reason") : passed();
  }
  for (const FaStepRun& step : *steps)
    if (const auto why = check_step(step)) return failed(*why);
  return passed();
}

}  // namespace

constexpr Property kP28{
    "P28", "kernel_available",
    "Every shape gets a listed kernel or is refused with a reason; what has a "
    "kernel is taken.",
    by_kind<decode_kernel_available, prefill_kernel_available, fa_kernel_available>};

}  // namespace mla::prop
