// P02: what lies after the live part of kv_indices, and how much, changes nothing.
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/decode/compare.hpp"

namespace mla::prop {
namespace {

Case with_other_spare(const Case& c) {
  Random random(c, "P02");
  Case other = c;
  other.decode().spare.entries = c.decode().spare.entries + random.between(1, 6000);
  other.decode().spare.fill = random.pick(
      std::vector{TailFill::minus_one, TailFill::stale, TailFill::random, TailFill::huge});
  return other;
}

std::optional<std::string> shapes_differ(const ResolvedShape& a, const ResolvedShape& b) {
  if (a.route != b.route) return say("the route is ", name(a.route), " or ", name(b.route));
  if (a.kv_splits != b.kv_splits)
    return say("a request is cut into ", a.kv_splits, " or ", b.kv_splits, " splits");
  return std::nullopt;
}

Outcome decode_tail_invariance(Subject& subject) {
  const Case other_case = with_other_spare(subject.spec());
  Subject other = subject.sibling(other_case);
  const auto& metadata = subject.metadata();
  if (!metadata) return refusal(metadata.error());
  const std::string spare =
      say("with ", subject.spec().decode().spare.entries, " or ", other_case.decode().spare.entries,
          " spare entries (", name(other_case.decode().spare.fill), ")");
  const auto& other_metadata = other.metadata();
  if (!other_metadata)
    return failed(spare + " the step is taken or refused: " + other_metadata.error().message);
  if (const auto why = shapes_differ(*subject.shape(), *other.shape()))
    return failed(spare + " " + *why);
  const auto& plan = metadata->plan;
  const auto& other_plan = other_metadata->plan;
  if (plan.has_value() != other_plan.has_value() || (plan && !(*plan == *other_plan)))
    return failed(spare + " the plan is another one");
  const auto& result = subject.result();
  if (!result) return refusal(result.error());
  const auto& other_result = other.result();
  if (!other_result)
    return failed(spare + " the step is taken or refused: " + other_result.error().message);
  if (const auto why = bitwise_difference(*result, *other_result, subject.spec().heads))
    return failed(spare + " the result differs: " + *why);
  return passed();
}

}  // namespace

constexpr Property kP02{
    "P02", "tail_invariance",
    "Plan, split choice and result do not depend on spare capacity or its contents.",
    by_kind<decode_tail_invariance, nullptr, nullptr>};

}  // namespace mla::prop
