// P28 for FA steps: every layer and query length gets the kernel of the rule or a refusal, and what
// every kernel takes is not declined.
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/fa/run.hpp"

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

std::optional<std::string> check_fa_step(const FaStepRun& step) {
  if (step.parts.split.decodes == Requests(0)) {
    if (step.route.empty()) return std::nullopt;
    return "a step without decodes launches " + step.route;
  }
  const std::int64_t rows = step.parts.decode_max_query_len;
  const Wanted want = wanted(step.layer, step.spec.causal, rows);
  if (step.route == name(want.kernel)) return std::nullopt;
  return text(step.layer, step.spec.causal, rows) + " ran on " + step.route;
}

// What every FA kernel takes, so that no backend may decline it as unsupported.
bool everybody_takes(const Case& c) {
  constexpr std::int64_t kFarBlock = std::int64_t{1} << 20;  // the ids of any batch fit after it
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
  for (const std::int64_t context : {65536, 65537})
    if (fa::plan_chunks(std::span(&context, 1), 1).ok() != (context == 65536))
      return say("a context in ", context, " chunks is ", context == 65536 ? "refused" : "taken");
  return std::nullopt;
}

}  // namespace

Outcome fa_kernel_available(Subject& subject) {
  Random random(subject.spec(), "P28");
  if (auto why = check_workspace(random)) return failed(std::move(*why));
  for (int round = 0; round < 16; ++round) {
    const fa::Layer layer = random_layer(random);
    const bool causal = layer.window >= 0 || random.below(4) != 0;
    if (const auto why = check_route(layer, causal, random.between(0, 3))) return failed(*why);
    if (const auto why = check_varlen(layer, random.below(2) == 0)) return failed(*why);
  }
  const auto& steps = subject.fa();
  if (!steps) {
    const Error& error = steps.error();
    if (!is_refusal(error))
      return failed("the step is neither taken nor refused: " + error.message);
    if (error.code == ErrorCode::unsupported && everybody_takes(subject.spec()))
      return failed("every kernel takes the step, which is declined: " + error.message);
    return error.message.empty() ? failed("the step is refused without a reason") : passed();
  }
  for (const FaStepRun& step : *steps)
    if (const auto why = check_fa_step(step)) return failed(*why);
  return passed();
}

}  // namespace mla::prop
