// P43: the same step gives the same bits, and the same plan, under every legal timing: other orders
// of slots and pieces on the CPU; on an emulated device other turns of the waves, one wave far
// ahead of the others, and memory that answers late or at random.
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "core/engine/decode_builder.hpp"
#include "core/engine/run_decode.hpp"
#include "core/plan/step_planner.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/decode/compare.hpp"
#include "properties/step/prefill/compare.hpp"
#include "properties/step/prefill/run.hpp"

namespace mla::prop {
namespace {

// The most plausible first. An emulated device takes the turns of a wave from seed % 4 (to the
// barrier, 1, 4, 64), and from seed / 4 % 3 when memory answers (early, late, at random).
constexpr std::uint64_t kTimings = 12;
constexpr std::array<std::uint64_t, 6> kTried = {
    3,          // 64 instructions ahead
    0,          // to the barrier
    2 * 4 + 3,  // 64 instructions ahead, at random
    2 * 4 + 2,  // 4, at random
    4 + 0,      // to the barrier, late
    4 + 1,      // 1, late
};

// Seeds of the timings to try: each kind with orders and delays of the case.
std::array<std::uint64_t, kTried.size()> seeds_of(const Case& c) {
  Random random(c, "P43");
  std::array<std::uint64_t, kTried.size()> seeds{};
  for (std::size_t i = 0; i < seeds.size(); ++i)
    seeds[i] = kTimings * (1 + random.next() % 1000) + kTried[i];
  return seeds;
}

std::optional<std::string> nothing_to_choose(const Backend& backend) {
  if (!backend.timing(1).empty()) return std::nullopt;
  return backend_name(backend) + " has no choice of timings";
}

// What the checks of an emulated device name in the same launch, if anything.
std::string named_by_checks(Subject& subject) {
  const auto checked =
      run_decode(subject.backend(), {*subject.metadata(), *subject.tensors()},
                 {.schedule_seed = subject.spec().schedule_seed, .checked = true}, subject.hooks());
  return checked ? std::string() : "; the checks name " + checked.error().message;
}

// How the plan differs under another timing of the planner's own kernels, where it has any.
std::optional<std::string> plan_difference(Subject& subject, std::uint64_t seed) {
  const plan::StepPlanner* const planner = subject.backend().planner();
  const DecodeMetadata& md = *subject.metadata();
  if (planner == nullptr || !md.plan || subject.planted()) return std::nullopt;
  const PlanQuestion question = subject.builder().question(md);
  const std::string timing = "under " + subject.backend().timing(seed);
  const auto sizes = plan_sizes(planner, question.query);
  if (!sizes) return timing + " there are no sizes: " + sizes.error().message;
  const auto plan = planner->plan(question.input, *sizes, seed);
  if (!plan) return timing + " there is no plan: " + plan.error().message;
  if (!(*plan == *md.plan)) return timing + " the plan is another one";
  return std::nullopt;
}

Outcome decode_timing(Subject& subject) {
  const auto& first = subject.result();
  if (!first) return refusal(first.error());
  if (auto why = nothing_to_choose(subject.backend())) return not_applicable(std::move(*why));
  for (const std::uint64_t seed : seeds_of(subject.spec())) {
    if (auto why = plan_difference(subject, seed)) return failed(std::move(*why));
    const auto again = run_decode(
        subject.backend(), {*subject.metadata(), *subject.tensors()},
        {.schedule_seed = seed, .timing_seed = seed, .record_stages = true}, subject.hooks());
    const std::string timing = "under " + subject.backend().timing(seed);
    if (!again)
      return failed(timing + " the run fails: " + again.error().message + named_by_checks(subject));
    if (const auto why = bitwise_difference(*first, *again, subject.spec().heads))
      return failed(timing + " the result differs: " + *why + named_by_checks(subject));
  }
  return passed();
}

Outcome prefill_timing(Subject& subject) {
  const auto& run = subject.prefill();
  if (!run) return refusal(run.error());
  if (auto why = nothing_to_choose(subject.backend())) return not_applicable(std::move(*why));
  const PrefillStep& first = *run->steps.front();
  for (const std::uint64_t seed : seeds_of(first.spec)) {
    Case other = first.spec;
    other.schedule_seed = seed;
    const auto again = run_prefill({other}, subject.context(), {.timing_seed = seed});
    const std::string timing = "under " + subject.backend().timing(seed);
    if (!again) return failed(timing + " the run fails: " + again.error().message);
    if (const auto why = difference(first, *again->steps.front()))
      return failed(timing + " the result differs: " + *why);
  }
  return passed();
}

}  // namespace

constexpr Property kP43{"P43", "timing", "Every legal timing gives the same bits.",
                        by_kind<decode_timing, prefill_timing, nullptr>};

}  // namespace mla::prop
