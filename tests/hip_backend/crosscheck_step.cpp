#include "tests/hip_backend/crosscheck_step.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "core/engine/step_hooks.hpp"
#include "core/numeric/bf16.hpp"
#include "properties/generate/tensors.hpp"
#include "properties/step/decode/stage_compare.hpp"
#include "tests/built_in_dims.hpp"

namespace mla::hip::test {
namespace {

// Of one element; above 1 when the bound is broken, infinite for NaN.
double ratio(double value, double exact, double bound) {
  if (value == exact) return 0;
  const double error = std::fabs(value - exact);
  if (std::isnan(error)) return std::numeric_limits<double>::infinity();
  return error <= bound ? error / bound : std::max(error / bound, 1.0 + 1e-9);
}

}  // namespace

std::unique_ptr<Step> try_step(const Case& spec, std::string& reason) {
  auto batch = make_batch(spec);
  if (!batch) return reason = batch.error().message, nullptr;
  const auto shape = resolve_shape(spec, *batch);
  if (!shape) return reason = shape.error().message, nullptr;
  return step_of(spec, std::move(*batch), *shape, plan::Fidelity::safe, reason);
}

std::unique_ptr<Step> step_of(const Case& spec, Batch batch, const ResolvedShape& shape,
                              plan::Fidelity fidelity, std::string& reason) {
  auto step = std::make_unique<Step>();
  step->spec = spec;
  step->batch = std::move(batch);
  step->buffers = make_decode_buffers(spec, step->batch, shape);
  const DecodeMetadataBuilder builder({.max_requests = 0, .fidelity = fidelity}, StepHooks::none());
  auto metadata = builder.build(step->batch, shape, step->buffers);
  if (!metadata) return reason = metadata.error().message, nullptr;
  step->metadata = std::move(*metadata);
  step->tensors = prop::make_tensors(spec, step->batch);
  return step;
}

prop::CaseDomain crosscheck_domain(int size) {
  prop::CaseDomain domain = prop::random_domain(size);
  domain.kind = {{StepKind::decode}};
  domain.later_steps = {{0}};
  domain.kernel_rows = {{0}};
  return domain;
}

std::string judge(const Step& step, const DecodeResult& result, Closeness& closeness) {
  const cpu::ReferenceResult reference = cpu::dense_reference({.batch = step.batch,
                                                               .tensors = step.tensors,
                                                               .arch = step.spec.arch,
                                                               .dtype = step.spec.dtype,
                                                               .model_heads = step.spec.heads,
                                                               .causal = step.spec.causal});
  if (result.out.size() != reference.out.size() || result.lse.size() != reference.lse.size())
    return std::to_string(result.out.size()) + " outputs, the reference has " +
           std::to_string(reference.out.size());
  closeness = {};
  std::size_t worst = 0;
  for (std::size_t i = 0; i < result.out.size(); ++i) {
    const double r = ratio(bf16_to_float(result.out[i]), reference.out[i], reference.out_bound[i]);
    if (r > closeness.out) {
      closeness.out = r;
      worst = i;
    }
  }
  const auto heads = static_cast<std::size_t>(step.spec.heads);
  if (closeness.out > 1)
    return "out row " + std::to_string(worst / kValueDim / heads) + " head " +
           std::to_string(worst / kValueDim % heads) + " element " +
           std::to_string(worst % kValueDim) + " is " +
           std::to_string(bf16_to_float(result.out[worst])) + ", the reference " +
           std::to_string(reference.out[worst]) + " +- " +
           std::to_string(reference.out_bound[worst]);
  for (std::size_t i = 0; i < result.lse.size(); ++i) {
    const double r = ratio(result.lse[i], reference.lse[i], reference.lse_bound[i]);
    closeness.lse = std::max(closeness.lse, r);
    if (r > 1)
      return "lse row " + std::to_string(i / heads) + " head " + std::to_string(i % heads) +
             " is " + std::to_string(result.lse[i]) + ", the reference " +
             std::to_string(reference.lse[i]) + " +- " + std::to_string(reference.lse_bound[i]);
  }
  if (!result.faults.empty()) return "fault: " + result.faults.front().what;
  return {};
}

std::string compare_stages(const Step& step, const DecodeResult& cpu, const DecodeResult& device) {
  const auto found = prop::first_stage_difference(step.launch(), cpu, device);
  return found ? found->what + " on the CPU and on the device" : std::string();
}

}  // namespace mla::hip::test
