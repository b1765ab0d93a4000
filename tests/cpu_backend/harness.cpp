#include "tests/cpu_backend/harness.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "core/engine/step_hooks.hpp"
#include "core/numeric/bf16.hpp"
#include "properties/generate/tensors.hpp"
#include "tests/catch.hpp"

namespace mla::cpu::test {
namespace {

double ratio(double value, double exact, double bound) {
  if (value == exact) return 0;
  const double error = std::fabs(value - exact);
  return error <= bound ? error / bound : std::max(error / bound, 1.0 + 1e-9);
}

double worst(double so_far, double next) {
  return std::isnan(next) ? std::numeric_limits<double>::infinity() : std::max(so_far, next);
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](T x, T y) {
           if constexpr (std::is_same_v<T, float>)
             return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
           else
             return x == y;
         });
}

}  // namespace

ReferenceResult Step::reference() const {
  return dense_reference({.batch = batch,
                          .tensors = tensors,
                          .arch = spec.arch,
                          .dtype = spec.dtype,
                          .model_heads = spec.heads,
                          .causal = spec.causal});
}

std::unique_ptr<Step> try_step(const Case& spec) {
  auto step = std::make_unique<Step>();
  step->spec = spec;
  auto batch = make_batch(spec);
  if (!batch) return nullptr;
  step->batch = *batch;
  const auto shape = resolve_shape(spec, step->batch);
  if (!shape) return nullptr;
  step->buffers = make_decode_buffers(spec, step->batch, *shape);
  const DecodeMetadataBuilder builder({.max_requests = 0}, StepHooks::none());
  auto metadata = builder.build(step->batch, *shape, step->buffers);
  if (!metadata) return nullptr;
  step->metadata = std::move(*metadata);
  step->tensors = prop::make_tensors(spec, step->batch);
  return step;
}

std::unique_ptr<Step> make_step(const std::string& line) {
  const auto spec = parse_case(line);
  if (!spec) FAIL(spec.error().message);
  auto step = try_step(*spec);
  if (step == nullptr) FAIL("refused: " + line);
  return step;
}

DecodeResult run(const Backend& backend, const Step& step, const ExecutionOptions& options) {
  auto result = backend.run(step.launch(), options);
  if (!result) FAIL(result.error().message);
  return std::move(*result);
}

DecodeResult run(const Step& step) {
  return run(*make_cpu_backend(), step,
             {.schedule_seed = step.spec.schedule_seed, .threads = 2, .record_stages = true});
}

Closeness closeness(const DecodeResult& result, const ReferenceResult& reference) {
  REQUIRE(result.out.size() == reference.out.size());
  REQUIRE(result.lse.size() == reference.lse.size());
  Closeness c;
  for (std::size_t i = 0; i < result.out.size(); ++i)
    c.out =
        worst(c.out, ratio(bf16_to_float(result.out[i]), reference.out[i], reference.out_bound[i]));
  for (std::size_t i = 0; i < result.lse.size(); ++i)
    c.lse = worst(c.lse, ratio(result.lse[i], reference.lse[i], reference.lse_bound[i]));
  return c;
}

bool same_bits(const DecodeResult& a, const DecodeResult& b) {
  return same(a.out, b.out) && same(a.lse, b.lse) && same(a.partial_out, b.partial_out) &&
         same(a.partial_lse, b.partial_lse) && same(a.stage1_out, b.stage1_out) &&
         same(a.stage1_lse, b.stage1_lse);
}

std::string faults_text(const DecodeResult& result) {
  std::string text;
  for (const Fault& fault : result.faults) text += (text.empty() ? "" : "; ") + fault.what;
  return text;
}

}  // namespace mla::cpu::test
