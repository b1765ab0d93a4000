// P29: a step without a causal mask is attended without one, or refused.
#include <algorithm>
#include <utility>

#include "core/engine/fa/decode_call.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/compare_subject.hpp"
#include "properties/step/fa/compare.hpp"

namespace mla::prop {
namespace {

// Without a mask a row sees all keys, however few they are: the first request of several rows with
// one key is taken like the others, and attended right.
Outcome fewer_keys_than_rows(Subject& unmasked) {
  Case other = unmasked.spec();
  const bool v12 = other.planner == PlannerChoice::automatic ||
                   other.planner == PlannerChoice::v12 ||
                   other.planner == PlannerChoice::v12_serial;
  const auto several = std::ranges::find_if(
      other.requests, [](const RequestSpec& r) { return r.qo_len > 1 && r.kv_len > 0; });
  if (!v12 || several == other.requests.end() || !unmasked.metadata()) return passed();
  several->kv_len = 1;
  other.later_steps.clear();
  Subject shorter = unmasked.sibling(other);
  if (!shorter.batch()) return passed();
  if (!shorter.metadata())
    return failed("as " + format_case(other) +
                  " the step is refused: " + shorter.metadata().error().message);
  if (other.data.seed % 4 != 0) return passed();  // one step more is executed
  Outcome outcome = compare_with_reference(shorter);
  if (outcome.verdict == Verdict::fail)
    outcome.message = "as " + format_case(other) + ": " + outcome.message;
  return outcome.verdict == Verdict::fail ? outcome : passed();
}

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
  if (outcome.verdict != Verdict::pass) return outcome;
  return fewer_keys_than_rows(unmasked);
}

// A layer takes the flag of its own index; one without a flag is refused (BUG-109).
std::optional<std::string> other_flag() {
  fa::Metadata md;
  md.causal = {true, false, true};
  fa::Layer layer;
  for (layer.index = 0; layer.index < md.causal.size(); ++layer.index) {
    const auto flag = fa::causal_of(layer, md);
    if (!flag || *flag != md.causal[layer.index])
      return say("layer ", layer.index, " of 3 does not get its own causal flag");
  }
  const auto none = fa::causal_of(layer, md);
  if (none.ok() || none.error().message.empty())
    return "layer 3 of 3 gets a causal flag, or no reason why not";
  return std::nullopt;
}

Outcome fa_causal_flag(Subject& subject) {
  if (auto why = other_flag()) return failed(std::move(*why));
  Case open = subject.spec();
  open.causal = false;
  Subject unmasked = subject.sibling(open);
  const auto& steps = unmasked.fa();
  if (!steps) return refusal(steps.error());
  Outcome outcome = compare(*steps);
  if (outcome.verdict == Verdict::fail)
    outcome.message = "without a causal mask: " + outcome.message;
  return outcome;
}

}  // namespace

constexpr Property kP29{"P29", "causal_flag",
                        "A step without a causal mask is attended without one, or refused.",
                        by_kind<decode_causal_flag, nullptr, fa_causal_flag>};

}  // namespace mla::prop
