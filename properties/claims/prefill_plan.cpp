// P05, P14 and P15 for prefill steps: the plan covers what it has to, heads and arithmetic are
// decided once, and a fallback says why.
#include "core/say.hpp"
#include "properties/claims/prefill_claims.hpp"
#include "properties/claims/support.hpp"
#include "properties/step/prefill/plan_rules.hpp"

namespace mla::prop {
namespace {

using prefill::Path;

Outcome compared(Subject& subject) {
  return compare_prefill(*subject.prefill()->steps.front(), subject.prefill_reference());
}

std::string heads(Heads h) {
  return std::to_string(h.count());
}

// Different heads in the works of the plan.
std::int64_t planned_heads(const SeenPlan& plan) {
  std::int64_t most = 0;
  for (std::size_t w = 0; w < static_cast<std::size_t>(plan.work_indptr.back()); ++w)
    most = std::max<std::int64_t>(most, plan.work_info[w * plan::kWorkItemWords + 7] >> 16);
  return most;
}

}  // namespace

Outcome prefill_plan_coverage(Subject& subject) {
  const auto& run = subject.prefill();
  if (!run) return refusal(run.error());
  const PrefillStep& step = *run->steps.front();
  if (!run->faults.empty()) return failed(run->faults.front());
  const std::int64_t kernel_heads = step.config.kernel_heads.count();
  if (step.metadata.fp8)
    if (const auto why = broken_rule({step.plan, kernel_heads, true}))
      return failed("the plan of the new tokens: " + *why);
  for (std::size_t i = 0; i < step.context_plans.size(); ++i)
    if (const auto why = broken_rule({step.context_plans[i], kernel_heads, false}))
      return failed(say("the plan of context chunk ", i, ": ", *why));
  return compared(subject);
}

Outcome prefill_head_pad(Subject& subject) {
  const auto& run = subject.prefill();
  if (!run) return refusal(run.error());
  const PrefillStep& step = *run->steps.front();
  const HeadPadding& padding = step.shape.heads;
  if (padding.model != Heads(subject.spec().heads))
    return failed(say("the model has ", subject.spec().heads, " heads, the shape says ",
                      heads(padding.model)));
  // The path depends on platform, dtypes and context, on the number of heads never.
  Case sixteen = step.spec;
  sixteen.heads = 16;
  const auto shape = prefill::resolve_prefill_shape(sixteen, step.batch, subject.hooks());
  if (shape.ok() && shape->path != step.shape.path)
    return failed(say(heads(padding.model), " heads take path ", name(step.shape.path),
                      ", 16 take ", name(shape->path)));
  if (step.shape.path == Path::flash) {
    if (padding.kind != PadKind::none) return failed("flash attention gets padded heads");
    return compared(subject);
  }
  if (padding.kernel.count() % 16 != 0 || padding.kernel < padding.model)
    return failed(heads(padding.model) + " heads are padded to " + heads(padding.kernel));
  if (step.config.kernel_heads != padding.kernel)
    return failed("buffers and scratch are made for " + heads(step.config.kernel_heads) +
                  " heads, the kernel gets " + heads(padding.kernel));
  if (planned_heads(step.plan) != padding.kernel.count())
    return failed(say("the plan is made for ", planned_heads(step.plan), " heads, the kernel gets ",
                      heads(padding.kernel)));
  return compared(subject);
}

Outcome prefill_dtype_threading(Subject& subject) {
  const auto& run = subject.prefill();
  if (!run) return refusal(run.error());
  const PrefillStep& step = *run->steps.front();
  const Case& c = step.spec;
  const bool fp8 = step.shape.arithmetic() == Dtype::fp8;
  const std::string where = say("a ", mla::name(c.dtype.kv), " cache on ", mla::name(c.arch));
  if (fp8 && (c.dtype.kv != Dtype::fp8 || c.arch != Arch::gfx950))
    return failed(where + " is computed in fp8");
  if (fp8 != step.metadata.fp8.has_value())
    return failed(say("path ", name(step.shape.path),
                      fp8 ? " has no plan" : " has a plan that it does not use"));
  if (fp8 != step.shape.fallback.empty())
    return failed(fp8 ? "the fp8 path gives a reason against itself: " + step.shape.fallback[0]
                      : "the step falls back to flash attention without a reason");
  return compared(subject);
}

}  // namespace mla::prop
