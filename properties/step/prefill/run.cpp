#include "properties/step/prefill/run.hpp"

#include <algorithm>

#include "core/engine/prefill/forward.hpp"
#include "core/engine/step_hooks.hpp"
#include "core/say.hpp"
#include "cpu_backend/prefill/prefill_reference.hpp"
#include "properties/generate/cost.hpp"
#include "properties/generate/sample.hpp"
#include "properties/step/prefill/tensors.hpp"

namespace mla::prop {
namespace {

using namespace prefill;

// The engine of a run: one device, one stream, buffers for the declared limits.
class PrefillEngine {
 public:
  PrefillEngine(const EngineConfig& config, const Kernels& kernels, const prefill::Hooks& hooks,
                device::DeviceHeap& heap)
      : config_(config), kernels_(kernels), hooks_(hooks), heap_(heap) {}

  MaybeError start() {
    auto buffers = make_prefill_buffers(config_, device());
    if (!buffers) return buffers.error();
    buffers_ = std::move(*buffers);
    if (MaybeError bad = reserve_scratch(config_, workspace_, hooks_)) return bad;
    workspace_.lock();
    return std::nullopt;
  }

  // Builds the step and queues its kernels after a look at their plans.
  MaybeError queue(PrefillStep& step, const PrefillOptions& options) {
    auto md = build_prefill(step.batch, step.shape, config_, buffers_, device(), hooks_);
    if (!md) return md.error();
    step.metadata = std::move(*md);
    step.context_plans.resize(step.metadata.context_plans.size());
    stream_.launch("look at the plans", [&step](const device::DeviceAccess& access) {
      if (step.metadata.fp8) look(*step.metadata.fp8, access, step.plan);
      for (std::size_t i = 0; i < step.context_plans.size(); ++i)
        look(step.metadata.context_plans[i].fields, access, step.context_plans[i]);
    });
    return queue_prefill({step.metadata, step.tensors}, kernels_,
                         {.schedule_seed = step.spec.schedule_seed,
                          .timing_seed = options.timing_seed,
                          .threads = options.threads,
                          .record_stages = false},
                         stream_, workspace_, step.result);
  }

  void advance() { stream_.advance(); }
  [[nodiscard]] std::size_t waits() const { return ledger_.waits().size(); }

 private:
  [[nodiscard]] Device device() { return {heap_, ledger_, stream_}; }

  static void look(const PlanFields& fields, const device::DeviceAccess& access, SeenPlan& seen) {
    const auto copy = [&](const char*, const Words& view) {
      const auto words = view.on(access);
      return std::vector<std::int32_t>(words.begin(), words.end());
    };
    seen = {lists_of(fields, copy), copy("", fields.qo_indptr), copy("", fields.kv_indptr),
            copy("", fields.kv_indices), fields.num_partial_tiles};
  }

  EngineConfig config_;
  const Kernels& kernels_;
  const prefill::Hooks& hooks_;
  device::DeviceHeap& heap_;
  device::TransferLedger ledger_;
  device::Workspace workspace_{heap_};
  PrefillBuffers buffers_;
  device::Stream stream_{ledger_};
};

Result<std::unique_ptr<PrefillStep>> prepare(const Case& c, const Kernels& kernels,
                                             const StepContext& context,
                                             const PrefillOptions& options) {
  if (!kernels.prefill_ps) return Error{ErrorCode::unsupported, "the backend has no prefill step"};
  if (kernels.arch && *kernels.arch != c.arch)
    return Error{ErrorCode::unsupported,
                 say("a case of ", name(c.arch), " does not run on ", name(*kernels.arch),
                     ": fp8 variant and roundings differ")};
  if (const MaybeError too_much = why_not_executed(c, context.limits)) return *too_much;
  auto step = std::make_unique<PrefillStep>();
  step->spec = c;
  auto batch = make_batch(c);
  if (!batch) return batch.error();
  step->batch = std::move(*batch);
  auto shape = resolve_prefill_shape(c, step->batch, context.hooks);
  if (!shape) return shape.error();
  step->shape = std::move(*shape);
  if (step->shape.path == Path::flash && !kernels.flash)
    return Error{ErrorCode::unsupported,
                 say("the backend has no flash attention, only works of a plan: ",
                     step->shape.fallback.front())};
  if (options.rule) step->shape.rule = *options.rule;
  step->tensors = make_prefill_tensors(c, step->batch);
  if (options.change) options.change(step->tensors);
  return step;
}

}  // namespace

MaybeError why_not_built(const Case& c, const prefill::Hooks& hooks,
                         const plan::StepPlanner* planner) {
  const auto batch = make_batch(c);
  if (!batch) return batch.error();
  const auto shape = resolve_prefill_shape(c, *batch, hooks);
  if (!shape) return shape.error();
  const EngineConfig config = config_of(c, limits_of({c}), hooks, planner);
  device::DeviceHeap heap;
  device::TransferLedger ledger;
  device::Stream stream(ledger);
  auto buffers = make_prefill_buffers(config, {heap, ledger, stream});
  if (!buffers) return buffers.error();
  const auto built = build_prefill(*batch, *shape, config, *buffers, {heap, ledger, stream}, hooks);
  return built ? MaybeError() : built.error();
}

Kernels kernels_of(const StepContext& context) {
  Kernels kernels;
  if (const Kernels* own = context.backend.prefill_kernels()) kernels = *own;
  context.hooks.on_kernels(kernels);
  return kernels;
}

Result<PrefillRun> run_prefill(const std::vector<Case>& steps, const StepContext& context,
                               const PrefillOptions& options) {
  const Kernels kernels = kernels_of(context);
  const prefill::Hooks& hooks = context.hooks;
  PrefillRun run;
  run.heap = std::make_unique<device::DeviceHeap>();
  for (const Case& c : steps) {
    auto step = prepare(c, kernels, context, options);
    if (!step) return step.error();
    run.steps.push_back(std::move(*step));
  }
  const EngineConfig config =
      config_of(steps.front(), limits_of(steps), hooks, context.backend.planner());
  PrefillEngine engine(config, kernels, hooks, *run.heap);
  if (MaybeError bad = engine.start()) return *bad;
  std::size_t queued = 0;
  for (const auto& step : run.steps) {
    step->config = config;
    if (MaybeError bad = engine.queue(*step, options)) return *bad;
    if (queued++ >= options.ahead) engine.advance(), queued = 0;
  }
  engine.advance();
  for (const auto& step : run.steps) {
    context.log.note(step->result.launches);
    if (step->result.no_result) return *step->result.no_result;
  }
  run.faults = run.heap->faults();
  run.waits = engine.waits();
  return run;
}

std::vector<std::int64_t> context_merges(const PrefillStep& step) {
  std::vector<std::int64_t> merges(step.batch.requests.size(), 0);
  if (step.metadata.context)
    for (const ContextChunk& chunk : step.metadata.context->chunks)
      for (std::int64_t i = 0; i < chunk.requests(); ++i)
        if (const auto r = static_cast<std::size_t>(chunk.first_request + i); r < merges.size())
          ++merges[r];
  return merges;
}

cpu::ReferenceResult reference_of(const PrefillStep& step) {
  const Case& c = step.spec;
  const std::vector<std::int64_t> pairs = sampled_pairs(c, step.batch.requests);
  const auto shape = resolve_prefill_shape(c, step.batch, StepHooks::none());
  return cpu::prefill_reference({.batch = step.batch,
                                 .tensors = make_prefill_tensors(c, step.batch),
                                 .arch = c.arch,
                                 .arithmetic = shape.ok() ? shape->arithmetic() : Dtype::bf16,
                                 .causal = c.causal,
                                 .merges = context_merges(step),
                                 .pairs = pairs});
}

}  // namespace mla::prop
