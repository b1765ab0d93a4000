// P20, P22 and P23 for prefill steps: every kernel sees the plan of its step, the scratch that was
// reserved holds the worst case, and not much more.
#include <algorithm>
#include <numeric>

#include "core/say.hpp"
#include "properties/claims/prefill_claims.hpp"
#include "properties/claims/support.hpp"
#include "properties/step/prefill/run.hpp"

namespace mla::prop {
namespace {

using namespace prefill;

// Steps that follow the case's own, small enough to run them twice.
std::vector<Case> steps_behind(const Case& c) {
  constexpr std::int64_t kRows = 16;
  std::vector<Case> steps;
  Case next = c;
  next.later_steps.clear();
  for (const auto& requests : c.later_steps) {
    next.requests = requests;
    steps.push_back(next);
  }
  Random random(c, "P20");
  while (steps.size() < 3) {
    next.requests.resize(
        static_cast<std::size_t>(random.between(1, static_cast<std::int64_t>(c.requests.size()))));
    for (RequestSpec& r : next.requests) {
      r.qo_len = random.between(1, kRows);
      r.kv_len = r.qo_len;
    }
    steps.push_back(next);
  }
  return steps;
}

// Batches that fill the limits: one request, all of them, and a few between.
std::vector<std::vector<std::int32_t>> full_batches(const Limits& limits, Random& random) {
  const std::int64_t rows = limits.max_rows.count();
  const std::int64_t longest = std::min(limits.max_model_len.count(), rows);
  std::vector<std::int64_t> counts{1, limits.max_requests.count()};
  while (counts.size() < 6) counts.push_back(random.between(1, limits.max_requests.count()));
  std::vector<std::vector<std::int32_t>> batches;
  for (const std::int64_t count : counts) {
    std::vector<std::int32_t> starts{0};
    for (std::int64_t r = 0; r < count; ++r) {
      const std::int64_t left = rows - starts.back();
      const std::int64_t fair = ceil_div(left, count - r);
      const std::int64_t take =
          r % 2 == 0 ? fair : random.between(1, std::max<std::int64_t>(1, fair));
      const std::int64_t q = std::min({take, left, longest});
      if (q > 0) starts.push_back(starts.back() + static_cast<std::int32_t>(q));
    }
    batches.push_back(std::move(starts));
  }
  return batches;
}

// The plans of a step with these rows: that of the new tokens, and that of a chunk that fills the
// workspace with context of all requests.
std::vector<PlanLists> lists_of(const std::vector<std::int32_t>& starts,
                                const EngineConfig& config) {
  std::vector<PlanLists> lists{new_token_lists(starts)};
  const auto requests = static_cast<std::int64_t>(starts.size()) - 1;
  const std::int64_t each = config.workspace_tokens / requests;
  if (!config.context_plans || each == 0) return lists;
  PlanLists context{starts, {0}, {}, false};
  for (std::int64_t r = 0; r < requests; ++r) {
    context.context_lens.push_back(static_cast<std::int32_t>(each));
    context.kv_indptr.push_back(context.kv_indptr.back() + static_cast<std::int32_t>(each));
  }
  lists.push_back(std::move(context));
  return lists;
}

struct Worst {
  std::int64_t tiles = 0;
  std::size_t bytes = 0;
};

// The most scratch that any of the batches needs; an error if one does not fit its buffers.
Result<Worst> worst_of(const EngineConfig& config, const StepHooks& hooks, Random& random) {
  const auto sizes = plan::query_ps_sizes(size_query_of(config));
  if (!sizes) return sizes.error();
  Worst worst;
  for (const auto& starts : full_batches(config.limits, random)) {
    for (const PlanLists& lists : lists_of(starts, config)) {
      const auto plan = plan_prefill(lists, config, *sizes, hooks);
      if (!plan) return plan.error();
      const std::int64_t tiles = host_plan(starts, {}, *plan).num_partial_tiles;
      const ScratchLayout layout = scratch_layout(tiles, config.kernel_heads, Rows(starts.back()));
      worst.tiles = std::max(worst.tiles, tiles);
      worst.bytes = std::max(worst.bytes, layout.bytes());
    }
  }
  return worst;
}

// The case's own limits, and those of a small engine.
std::vector<EngineConfig> configs_of(const Subject& subject) {
  const Case& c = subject.spec();
  std::vector<EngineConfig> configs{config_of(c, limits_of({c}), subject.hooks())};
  configs.push_back(config_of(c, {Requests(32), Rows(4096), Tokens(2048)}, subject.hooks()));
  for (EngineConfig& config : configs) config.fp8 = true;
  return configs;
}

}  // namespace

Outcome prefill_stream_order(Subject& subject) {
  const auto& alone = subject.prefill();
  if (!alone) return refusal(alone.error());
  if (!alone->steps.front()->metadata.fp8) return skipped("no plan is staged on path flash");
  std::vector<Case> steps = steps_behind(subject.spec());
  steps.insert(steps.begin(), alone->steps.front()->spec);
  Random random(subject.spec(), "P20 ahead");
  const auto ahead = static_cast<std::size_t>(random.between(1, 3));
  const auto together = run_prefill(steps, subject, {.ahead = ahead, .threads = 1, .rule = {}});
  if (!together) return refusal(together.error());
  if (!together->faults.empty()) return failed(together->faults.front());
  if (const auto why = prefill_difference(*together->steps[0], *alone->steps[0]))
    return failed(say("step 0 of a host ", ahead, " steps ahead: ", *why));
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const auto again = run_prefill({steps[i]}, subject, {.ahead = 0, .threads = 1, .rule = {}});
    if (!again) return refusal(again.error());
    if (const auto why = prefill_difference(*together->steps[i], *again->steps[0]))
      return failed(say("step ", i, " of a host ", ahead, " steps ahead: ", *why));
  }
  return passed();
}

Outcome p22_workspace_reserved(Subject& subject) {
  const auto& run = subject.prefill();
  if (!run && run.error().code == ErrorCode::overrun) return failed(run.error().message);
  if (!run && run.error().bug == "BUG-089") return failed(run.error().message);
  if (!run) return refusal(run.error());
  if (!run->steps.front()->config.fp8) return skipped("the engine has no fp8 prefill");
  Random random(subject.spec(), "P22");
  for (const EngineConfig& config : configs_of(subject)) {
    device::DeviceHeap heap;
    device::Workspace workspace(heap);
    if (const Status bad = reserve_scratch(config, workspace, subject.hooks()))
      return refusal(*bad);
    const auto worst = worst_of(config, subject.hooks(), random);
    if (!worst) return failed("a batch within the limits: " + worst.error().message);
    if (worst->bytes > workspace.reserved_bytes())
      return failed(say("a batch of ", config.limits.max_rows.count(), " rows needs ", worst->bytes,
                        " bytes of scratch, ", workspace.reserved_bytes(), " are reserved"));
  }
  return passed();
}

Outcome prefill_bound_tight(Subject& subject) {
  constexpr std::int64_t kSlack = 4;
  const auto& run = subject.prefill();
  if (!run) return refusal(run.error());
  if (!run->steps.front()->config.fp8) return skipped("the engine has no fp8 prefill");
  Random random(subject.spec(), "P23");
  for (const EngineConfig& config : configs_of(subject)) {
    device::DeviceHeap heap;
    device::Workspace workspace(heap);
    if (const Status bad = reserve_scratch(config, workspace, subject.hooks()))
      return refusal(*bad);
    const auto worst = worst_of(config, subject.hooks(), random);
    if (!worst) return refusal(worst.error());
    const std::int64_t most = std::max<std::int64_t>(kSlack * worst->tiles, 2);
    const std::size_t limit =
        scratch_layout(most, config.kernel_heads, config.limits.max_rows).bytes();
    if (workspace.reserved_bytes() > limit)
      return failed(say("for ", config.limits.max_requests.count(), " requests of together ",
                        config.limits.max_rows.count(), " rows ", workspace.reserved_bytes(),
                        " bytes are reserved; the worst batch found has ", worst->tiles,
                        " partial tiles and needs ", worst->bytes));
  }
  return passed();
}

}  // namespace mla::prop
