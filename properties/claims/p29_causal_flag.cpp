// P29: a step without a causal mask is attended without one, or refused.
#include "properties/claims/claims.hpp"
#include "properties/claims/support.hpp"
#include "properties/step/compare.hpp"
#include "properties/step/fa/compare.hpp"

namespace mla::prop {
namespace {

Outcome decode_causal_flag(Subject& subject) {
  Case open = subject.spec();
  open.causal = false;
  Subject unmasked = subject.sibling(open);
  const auto& shape = unmasked.shape();
  if (!shape) return refusal(shape.error());
  if (shape->causal) return failed("a step without a causal mask resolves to a causal shape");
  Outcome outcome = compare_with_reference(unmasked);
  if (outcome.verdict == Verdict::fail)
    outcome.message = "without a causal mask: " + outcome.message;
  return outcome;
}

Outcome fa_causal_flag(Subject& subject) {
  Case open = subject.spec();
  open.causal = false;
  Subject unmasked = subject.sibling(open);
  const auto& steps = unmasked.fa();
  if (!steps) return refusal(steps.error());
  Outcome outcome = compare_fa(*steps);
  if (outcome.verdict == Verdict::fail)
    outcome.message = "without a causal mask: " + outcome.message;
  return outcome;
}

}  // namespace

constexpr Property kP29{"P29", "causal_flag",
                        "A step without a causal mask is attended without one, or refused.",
                        by_kind<decode_causal_flag, nullptr, fa_causal_flag>};

}  // namespace mla::prop
