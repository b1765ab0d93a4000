// P40 for FA steps: lists that are not those of the requests, a common prefix, and a request with
// fewer keys than rows are refused with a reason.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/engine/fa/builder.hpp"
#include "core/engine/fa/runner.hpp"
#include "core/engine/step_hooks.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/fa/run.hpp"

namespace mla::prop {
namespace {

constexpr std::int64_t kWorkspace = 256;  // tokens: what is refused needs no more

struct BadFaInput {
  const char* what;
  void (*apply)(fa::StepInput& in, std::int64_t& prefix);
};

template <class T>
void shorten(device::DeviceView<T>& view) {
  view = view.subview(0, view.size() - 1);
}

constexpr BadFaInput kBadFaInputs[] = {
    {"a row less than its requests have",
     [](fa::StepInput& in, std::int64_t&) {
       in.num_actual_tokens = in.num_actual_tokens - Rows(1);
       shorten(in.slot_mapping);
     }},
    {"an entry of query_start_loc too few",
     [](fa::StepInput& in, std::int64_t&) { shorten(in.query_start_loc); }},
    {"an entry of seq_lens too few",
     [](fa::StepInput& in, std::int64_t&) { shorten(in.seq_lens); }},
    {"an entry of slot_mapping too few",
     [](fa::StepInput& in, std::int64_t&) { shorten(in.slot_mapping); }},
    {"a common prefix", [](fa::StepInput&, std::int64_t& prefix) { prefix = 1; }},
};

// One device with room for a batch, on which a step is staged and built.
struct Engine {
  Engine(const fa::OrderedBatch& ordered, const fa::BuilderOptions& options)
      : batch(ordered.batch),
        runner(fa::limits_of(batch), heap),
        builder(options, StepHooks::none()),
        scratch(builder.allocate(heap)) {}

  const Batch& batch;
  device::DeviceHeap heap;
  device::TransferLedger ledger;
  device::Stream stream{ledger};
  fa::RunnerBuffers runner;
  fa::MetadataBuilder builder;
  fa::BuilderBuffers scratch;
};

fa::BuilderOptions options_of(const Case& c, const fa::Layer& layer) {
  return {.threshold = c.fa().draft_tokens + 1,
          .window = layer.window,
          .workspace_tokens = std::min(c.fa().workspace_tokens, kWorkspace),
          .kv_heads = layer.kv_heads,
          .head_dim = layer.head_dim};
}

// The first request with rows is given a key less than it has rows.
std::optional<std::string> check_short_of_keys(Case c) {
  const auto longer =
      std::ranges::find_if(c.requests, [](const RequestSpec& r) { return r.qo_len > 1; });
  if (longer == c.requests.end()) return std::nullopt;
  longer->kv_len = longer->qo_len - 1;
  const auto ordered = fa::make_ordered_batch(c);
  if (!ordered) return std::nullopt;
  device::DeviceHeap heap;
  device::TransferLedger ledger;
  device::Stream stream(ledger);
  const fa::RunnerBuffers runner(fa::limits_of(ordered->batch), heap);
  const auto staged = fa::stage_step(ordered->batch, {c.causal}, runner, stream);
  if (!staged && staged.error().bug == "BUG-075" && stream.pending() == 0) return std::nullopt;
  return say("a request of ", longer->qo_len, " rows and ", longer->kv_len, " keys is staged");
}

}  // namespace

Outcome fa_bad_input_refused(Subject& subject) {
  const auto& steps = subject.fa();
  if (!steps) return refusal(steps.error());
  const FaStepRun& step = steps->front();
  if (auto why = check_short_of_keys(step.spec)) return failed(std::move(*why));
  Engine engine(step.ordered, options_of(step.spec, step.layer));
  const auto input = fa::stage_step(engine.batch, {step.spec.causal}, engine.runner, engine.stream);
  if (!input) return failed("the step runs, and is not staged: " + input.error().message);
  for (const BadFaInput& damage : kBadFaInputs) {
    fa::StepInput other = *input;
    std::int64_t prefix = 0;
    if (other.num_actual_tokens == Rows(0)) continue;
    damage.apply(other, prefix);
    const auto built =
        engine.builder.build(prefix, other, engine.scratch, engine.heap, engine.stream);
    if (built.ok()) return failed(say("a step with ", damage.what, " is built"));
    if (built.error().message.empty())
      return failed(say("a step with ", damage.what, " is refused without a reason"));
  }
  return passed();
}

}  // namespace mla::prop
