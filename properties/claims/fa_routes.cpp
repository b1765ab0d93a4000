// P28 and P29 for FA steps: every layer and query length gets the kernel of the rule or a refusal
// with a reason, and a step without a mask is attended without one or refused.
#include "core/say.hpp"
#include "properties/claims/fa_claims.hpp"
#include "properties/claims/support.hpp"
#include "properties/step/compare.hpp"
#include "properties/step/fa/compare.hpp"

namespace mla::prop {
namespace {

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

}  // namespace

Outcome fa_kernel_available(Subject& subject) {
  Random random(subject.spec(), "P28");
  for (int round = 0; round < 16; ++round) {
    const fa::Layer layer = random_layer(random);
    const bool causal = layer.window >= 0 || random.below(4) != 0;
    if (const auto why = check_route(layer, causal, random.between(0, 9))) return failed(*why);
  }
  const auto& steps = subject.fa();
  if (!steps) {
    const Error& error = steps.error();
    if (error.code != ErrorCode::unsupported && error.code != ErrorCode::refused)
      return failed("the step is neither taken nor refused: " + error.message);
    return error.message.empty() ? failed("the step is refused without a reason") : passed();
  }
  for (const FaStepRun& step : *steps)
    if (const auto why = check_step(step)) return failed(*why);
  return passed();
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

}  // namespace mla::prop
