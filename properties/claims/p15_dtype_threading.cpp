// P15: the plan and the sizes that were made from the declared dtypes are those that the dtypes of
// the actual tensors give.
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support.hpp"

namespace mla::prop {
namespace {

std::string text(DtypePair pair) {
  return say(name(pair.q), "/", name(pair.kv));
}

// What the tensors hold, read off their sizes and the cache's own type.
std::optional<DtypePair> actual_dtypes(Subject& subject) {
  const DecodeTensors& t = *subject.tensors();
  const std::int64_t elements = subject.batch()->rows().count() * subject.spec().heads * kKeyDim;
  for (const Dtype q : {Dtype::bf16, Dtype::fp8})
    if (static_cast<std::int64_t>(t.q.size()) == elements * element_bytes(q))
      return DtypePair{q, t.cache.dtype};
  return std::nullopt;
}

}  // namespace

Outcome p15_dtype_threading(Subject& subject) {
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
  // From the core's own question, with the dtypes of the tensors.
  PlanQuestion own = DecodeMetadataBuilder({}).question(*metadata);
  own.input.key.dtype = own.query.dtype = *actual;
  const auto plan = plan_step(own.input, own.query);
  if (!plan)
    return failed("from the dtypes of the tensors no plan is made: " + plan.error().message);
  if (!subject.planted() && !(*plan == *metadata->plan))
    return failed("the plan is another one than from the dtypes of the tensors");
  return passed();
}

}  // namespace mla::prop
