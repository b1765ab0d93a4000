// P15: the plan and the sizes that were made from the declared dtypes are those that the dtypes of
// the actual tensors give.
#include <algorithm>

#include "core/engine/step_hooks.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/compare_subject.hpp"
#include "properties/step/prefill/run.hpp"

namespace mla::prop {
namespace {

std::string text(DtypePair pair) {
  return say(name(pair.q), "/", name(pair.kv));
}

// What the tensors hold, read off their sizes and the cache's own type.
std::optional<DtypePair> actual_dtypes(Subject& subject) {
  const DecodeTensors& t = *subject.tensors();
  const std::int64_t elements = subject.batch()->rows().count() * subject.spec().heads *
                                subject.spec().widths().key().count();
  for (const Dtype q : {Dtype::bf16, Dtype::fp8})
    if (static_cast<std::int64_t>(t.q.size()) == elements * element_bytes(q))
      return DtypePair{q, t.cache.dtype};
  return std::nullopt;
}

Outcome decode_dtype_threading(Subject& subject) {
  const auto& metadata = subject.metadata();
  if (!metadata) return refusal(metadata.error());
  if (!subject.tensors()) return refusal(subject.tensors().error());
  const ResolvedShape& shape = metadata->shape;
  const auto actual = actual_dtypes(subject);
  if (!actual) return failed("the query has a size that no dtype explains");
  if (!(shape.dtype == *actual))
    return failed("the shape says " + text(shape.dtype) + ", the tensors hold " + text(*actual));
  if (!(shape.kernel.dtype == *actual))
    return failed(say("the kernel ", shape.kernel.label, " takes ", text(shape.kernel.dtype),
                      ", the tensors hold ", text(*actual)));
  if (!metadata->plan) return passed();
  const PlanQuestion question = subject.builder().question(*metadata);
  if (!(question.input.key.dtype == *actual) || !(question.query.dtype == *actual))
    return failed("the plan is made for " + text(question.input.key.dtype) +
                  " and its buffers for " + text(question.query.dtype) + ", the tensors hold " +
                  text(*actual));
  // From the core's own question, with the dtypes of the tensors, by whoever plans.
  PlanQuestion own = DecodeMetadataBuilder({}, StepHooks::none()).question(*metadata);
  own.input.key.dtype = own.query.dtype = *actual;
  const plan::StepPlanner* const planner = subject.backend().planner();
  const auto sizes = plan_sizes(planner, own.query);
  if (!sizes)
    return failed("from the dtypes of the tensors no sizes come: " + sizes.error().message);
  const auto plan = plan_step(planner, own.input, *sizes);
  if (!plan)
    return failed("from the dtypes of the tensors no plan is made: " + plan.error().message);
  if (!subject.planted() && !(*plan == *metadata->plan))
    return failed("the plan is another one than from the dtypes of the tensors");
  return passed();
}

bool has_context(const Case& c) {
  return std::any_of(c.requests.begin(), c.requests.end(),
                     [](const RequestSpec& r) { return r.kv_len > r.qo_len; });
}

// Whether an fp8 cache on gfx950 is attended in fp8: a step with a plan, of new tokens only unless
// the case asks for v1.2.
bool takes_fp8(const Case& c) {
  return c.causal && (c.planner == PlannerChoice::v12 ||
                      (c.planner == PlannerChoice::automatic && !has_context(c)));
}

// The arithmetic is decided once, and a fallback says why.
Outcome prefill_dtype_threading(Subject& subject) {
  const auto& run = subject.prefill();
  if (!run) return refusal(run.error());
  const PrefillStep& step = *run->steps.front();
  const Case& c = step.spec;
  const bool fp8 = step.shape.arithmetic() == Dtype::fp8;
  const std::string where = say("a ", mla::name(c.dtype.kv), " cache on ", mla::name(c.arch));
  const bool kernel = c.dtype.kv == Dtype::fp8 && c.arch == Arch::gfx950;
  if (fp8 != (kernel && takes_fp8(c)))
    return failed(where + (fp8 ? " is computed in fp8" : " is not computed in fp8"));
  if (fp8 && (step.shape.path == prefill::Path::fp8_context) != has_context(c))
    return failed(say("a step ", has_context(c) ? "with" : "without", " context takes path ",
                      name(step.shape.path)));
  if (fp8 != step.metadata.fp8.has_value())
    return failed(say("path ", name(step.shape.path),
                      fp8 ? " has no plan" : " has a plan that it does not use"));
  if (fp8 != step.shape.fallback.empty())
    return failed(fp8 ? "the fp8 path gives a reason against itself: " + step.shape.fallback[0]
                      : "the step falls back to flash attention without a reason");
  return compare_with_reference(subject);
}

}  // namespace

constexpr Property kP15{"P15", "dtype_threading",
                        "The plan from the declared dtypes is the plan from the tensors' dtypes.",
                        by_kind<decode_dtype_threading, prefill_dtype_threading, nullptr>};

}  // namespace mla::prop
