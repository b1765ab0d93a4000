#include "properties/claims/p41_planners_valid/plain_steps.hpp"

#include <cstdint>
#include <initializer_list>

#include "core/arch.hpp"
#include "core/plan/plan_check.hpp"
#include "core/say.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

using enum PlannerChoice;

constexpr std::int64_t kCap = 32;  // of splits, which v1.0 needs

// 16 bf16 heads.
Case on(Arch arch, std::size_t requests, RequestSpec request) {
  Case c;
  c.arch = arch;
  c.compute_units = product_compute_units(arch).count();
  c.decode().max_split = kCap;
  c.requests.assign(requests, request);
  return c;
}

Arch any_arch(Random& random) {
  return random.below(2) == 0 ? Arch::gfx942 : Arch::gfx950;
}

// One row a request, with as many keys as v1.0 wants.
Case plain(Random& random) {
  return on(any_arch(random), static_cast<std::size_t>(random.between(1, 3)),
            {1, random.between(200, 900)});
}

Case on_one_unit(Random& random) {
  Case c = plain(random);
  c.compute_units = 1;
  return c;
}

// On gfx950 such a row is a tile.
Case of_128_heads(Random& random) {
  Case c = on(Arch::gfx950, static_cast<std::size_t>(random.between(1, 3)),
              {random.between(2, 4), random.between(200, 900)});
  c.heads = 128;
  return c;
}

// One block of pages, so one piece.
Case of_few_keys(Random& random) {
  return on(Arch::gfx942, static_cast<std::size_t>(random.between(1, 3)),
            {1, random.between(1, 16)});
}

// Pieces of a few keys, of which v1.0 gives the last to the piece before.
Case in_small_blocks(Random& random) {
  Case c = on(Arch::gfx942, 1, {1, random.between(14, 70)});
  c.decode().granularity = std::int64_t{1} << random.between(0, 2);
  return c;
}

// Slots of v1.1 that are all near their limit, where a tile may go to one whose room is small.
Case crowded(Random& random) {
  Case c = on(Arch::gfx942, 64, {1, random.between(17, 28)});
  c.compute_units = 3;
  c.decode().granularity = 2;
  return c;
}

Case crowded_by_several_rows(Random&) {
  Case c = on(Arch::gfx942, 16, {4, 20});
  c.compute_units = 5;
  c.decode().granularity = 1;
  return c;
}

struct Step {
  const char* what;
  Case (*make)(Random& random);
  std::initializer_list<PlannerChoice> planners;
  bool taken;  // by each of them
};

const Step kSteps[] = {
    {"a plain step", plain, {v12_serial, v12_parallel, v11, v10}, true},
    {"a plain step on one compute unit", on_one_unit, {v12_serial, v12_parallel, v11, v10}, true},
    {"rows that are tiles", of_128_heads, {v12_serial, v11}, true},
    {"a few keys in one block", of_few_keys, {v12_serial, v12_parallel, v11, v10}, true},
    {"pieces of a few keys", in_small_blocks, {v10}, false},
    {"slots near their limit", crowded, {v11}, false},
    {"slots near their limit, requests of several rows", crowded_by_several_rows, {v11}, false},
};

// With one row a request no planner but the parallel kernel needs to be told of it.
bool planned_untold(const Case& c) {
  return c.planner != v12_parallel && c.requests.front().qo_len == 1;
}

std::optional<std::string> misplanned(const Subject& subject, const Step& step, const Case& c,
                                      Random& random) {
  const std::string what = say("planner ", name(c.planner), ", ", step.what, ", ", format_case(c));
  Subject made = subject.sibling(c);
  const auto& metadata = made.metadata();
  if (!metadata && step.taken) return say(what, ": declined: ", metadata.error().message);
  if (!metadata) return std::nullopt;
  const auto violations = plan::plan_check(check_input_of(*metadata));
  if (!violations.empty())
    return say(what, ": breaks the rule ", name(violations[0].rule), ": ", violations[0].what);
  const bool planned = step.taken && planned_untold(c);
  if (const auto why = wrong_untold(made, *metadata, random,
                                    planned ? Untold::planned : Untold::planned_or_refused))
    return say(what, ": ", *why);
  return std::nullopt;
}

// A kernel of v1.2 that is named is not exchanged for the other one.
std::optional<std::string> exchanged(const Subject& subject, Random& random) {
  Case c = plain(random);
  c.planner = v12_parallel;
  c.requests.front().qo_len = 2;
  Subject step = subject.sibling(c);
  const auto& metadata = step.metadata();
  if (metadata) return "planner v12_parallel takes " + format_case(c) + ", which it cannot plan";
  if (metadata.error().code == ErrorCode::unsupported) return std::nullopt;
  return "planner v12_parallel declines " + format_case(c) +
         " for another reason: " + metadata.error().message;
}

}  // namespace

std::optional<std::string> wrong_untold(const Subject& subject, const DecodeMetadata& metadata,
                                        Random& random, Untold expected) {
  PlanQuestion question = subject.builder().question(metadata);
  // AITER's default is -1, with which its planner leaves short tails (BUG-012); 0 is as good.
  question.input.key.max_qo_len = random.between(-1, 0);
  const Functions functions = functions_of(subject);
  const auto sizes = functions.query_sizes(question.query);
  if (!sizes) return std::nullopt;
  const std::string told = say("told max_seqlen_qo = ", question.input.key.max_qo_len);
  auto made = functions.make_plan(question.input, *sizes);
  if (!made && expected == Untold::planned)
    return say(told, ", declines it: ", made.error().message);
  if (!made) return std::nullopt;
  const plan::Plan plan = without_empty_works(std::move(*made));  // as an engine does
  plan::PlanCheckInput input = check_input_of(metadata);
  input.plan = plan.view();
  const auto violations = plan::plan_check(input);
  if (violations.empty()) return std::nullopt;
  return say(told, ", breaks the rule ", name(violations[0].rule), ": ", violations[0].what);
}

std::optional<std::string> plain_step_misplanned(const Subject& subject, Random& random) {
  for (const Step& step : kSteps) {
    Case c = step.make(random);
    for (const PlannerChoice planner : step.planners) {
      c.planner = planner;
      c.decode().max_split = planner == v11 ? -1 : kCap;  // v1.1 keeps none
      if (auto why = misplanned(subject, step, c, random)) return why;
    }
  }
  return exchanged(subject, random);
}

}  // namespace mla::prop
