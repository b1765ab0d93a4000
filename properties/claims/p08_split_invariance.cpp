// P08: into how many pieces keys are cut, on how many compute units, and by which planner, changes
// the result by no more than rounding; where the pieces are the same, by nothing.
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/claims/support/topology.hpp"
#include "properties/step/compare_subject.hpp"
#include "properties/step/decode/compare.hpp"

namespace mla::prop {
namespace {

// The case on another device, with another budget, or with another planner.
Case cut_otherwise(const Case& c) {
  Random random(c, "P08");
  Case other = c;
  switch (random.below(4)) {
    case 0:
      other.compute_units =
          random.pick(std::vector<std::int64_t>{1, 2, 7, 80, 256, 304, 305, 512, 1024});
      break;
    case 1:
      if (c.planner == PlannerChoice::none)
        other.decode().kv_splits = random.between(1, 16);
      else
        other.decode().max_split = random.between(1, 4);
      break;
    case 2:
      other.planner = random.pick(std::vector{PlannerChoice::v12_serial, PlannerChoice::v11,
                                              PlannerChoice::v12, PlannerChoice::none});
      if (other.planner != PlannerChoice::none) other.decode().kv_splits = 0;
      break;
    default:
      other.decode().granularity = random.pick(std::vector<std::int64_t>{1, 4, 16, 32, 64});
      other.compute_units = random.between(1, 64);
  }
  if (other == c) other.compute_units = c.compute_units == 3 ? 5 : 3;
  return other;
}

Outcome decode_split_invariance(Subject& subject) {
  const auto& result = subject.result();
  if (!result) return refusal(result.error());
  Subject other = subject.sibling(cut_otherwise(subject.spec()));
  const auto& other_result = other.result();
  if (!other_result)
    return skipped("cut otherwise the case is refused: " + other_result.error().message);
  const auto& reference = subject.reference();
  if (!reference) return refusal(reference.error());
  // Both runs have the same tensors and therefore the same reference.
  Outcome outcome = compare({.result = *other_result,
                             .reference = *reference,
                             .metadata = *other.metadata(),
                             .requests = other.batch()->requests,
                             .heads = subject.spec().heads});
  if (outcome.verdict != Verdict::pass) {
    outcome.message = "as " + format_case(other.spec()) + ": " + outcome.message;
    return outcome;
  }
  const Topology a = topology_of(*subject.metadata());
  const Topology b = topology_of(*other.metadata());
  const bool same_rounding = subject.shape()->route == other.shape()->route;
  for (std::size_t row = 0; row < a.pieces.size(); ++row) {
    if (!same_rounding || a.pieces[row] != b.pieces[row]) continue;
    const auto r = static_cast<std::int64_t>(row);
    const MatchedRows same{r, r, 1};
    if (const auto why =
            bitwise_difference(*result, *other_result, subject.spec().heads, std::span(&same, 1)))
      return failed("as " + format_case(other.spec()) +
                    " the keys are cut alike, but the result differs: " + *why);
  }
  return compare_with_reference(subject);
}

}  // namespace

constexpr Property kP08{
    "P08", "split_invariance",
    "The result does not depend on how and where the keys are cut, beyond rounding.",
    by_kind<decode_split_invariance, nullptr, nullptr>};

}  // namespace mla::prop
