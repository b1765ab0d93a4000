// P42: the planners answer AITER's calls as AITER's own planners do, bit for bit.
//
// The other properties ask whether a plan is right. Many plans are; this one asks whether it is the
// plan that a user's kernel gets. Which calls a case asks for depends on its seed.
#include "core/say.hpp"
#include "properties/claims/aiter_calls.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

constexpr int kCallsOfACase = 8;

std::optional<std::string> difference(const Functions& functions, const AiterCall& aiter,
                                      const plan::PlanInput& input) {
  const auto sizes = functions.query_sizes(aiter.call.sizes);
  if (!sizes) return "its buffers are refused: " + sizes.error().message;
  const auto made = functions.make_plan(input, *sizes);
  if (!made) return "it is refused: " + made.error().message;
  if (const auto list = other_list(aiter, *made)) return say(*list, " is not AITER's");
  return std::nullopt;
}

Outcome decode_aiter_plans(Subject& subject) {
  const Functions functions = functions_of(subject);
  const std::vector<AiterCall>& calls = aiter_calls();
  Random random(subject.spec(), "P42");
  for (int round = 0; round < kCallsOfACase; ++round) {
    const AiterCall& aiter = random.pick(calls);
    const std::string what = say("call ", aiter.name, " of fixtures/golden/random.json");
    if (const auto why = difference(functions, aiter, aiter.call.input))
      return failed(say(what, ": ", *why));
    if (aiter.call.input.uniform_qo_len >= 0) continue;
    plan::PlanInput zero = aiter.call.input;
    zero.uniform_qo_len = 0;  // as good as -1 to AITER
    if (const auto why = difference(functions, aiter, zero))
      return failed(say(what, ", with uni_seqlen_qo 0 for -1: ", *why));
  }
  return passed();
}

}  // namespace

constexpr Property kP42{"P42", "aiter_plans",
                        "The planners answer AITER's calls as AITER's own planners do.",
                        by_kind<decode_aiter_plans, nullptr, nullptr>};

}  // namespace mla::prop
