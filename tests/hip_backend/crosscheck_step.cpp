#include "tests/hip_backend/crosscheck_step.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "core/numeric/bf16.hpp"
#include "properties/generate/tensors.hpp"

namespace mla::hip::test {
namespace {

bool unwritten(float value) {
  return std::bit_cast<std::uint32_t>(value) == kPoisonF32;
}
bool unwritten(std::uint16_t bits) {
  return bits == kPoisonBf16;
}
float number(float value) {
  return value;
}
float number(std::uint16_t bits) {
  return bf16_to_float(bits);
}

// Of one element; above 1 when the bound is broken, infinite for NaN.
double ratio(double value, double exact, double bound) {
  if (value == exact) return 0;
  const double error = std::fabs(value - exact);
  if (std::isnan(error)) return std::numeric_limits<double>::infinity();
  return error <= bound ? error / bound : std::max(error / bound, 1.0 + 1e-9);
}

struct Stage {
  const char* name;
  std::int64_t heads;
  std::int64_t width;  // elements of a head of a row
  double relative;     // of the largest element of the head
  double absolute;
};

std::string place(const Stage& stage, std::size_t index) {
  const auto width = static_cast<std::size_t>(stage.width);
  const auto heads = static_cast<std::size_t>(stage.heads);
  return std::string(stage.name) + " row " + std::to_string(index / width / heads) + " head " +
         std::to_string(index / width % heads) + " element " + std::to_string(index % width);
}

template <class T>
std::string compare(const Stage& stage, const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size())
    return std::string(stage.name) + ": " + std::to_string(a.size()) + " elements on the CPU, " +
           std::to_string(b.size()) + " on the device";
  const auto width = static_cast<std::size_t>(stage.width);
  for (std::size_t begin = 0; begin < a.size(); begin += width) {
    double largest = 0;
    for (std::size_t i = begin; i < begin + width; ++i)
      if (std::isfinite(number(a[i]))) largest = std::max<double>(largest, std::fabs(number(a[i])));
    for (std::size_t i = begin; i < begin + width; ++i) {
      const float x = number(a[i]);
      const float y = number(b[i]);
      const bool same_kind = unwritten(a[i]) == unwritten(b[i]) && std::isnan(x) == std::isnan(y) &&
                             std::isinf(x) == std::isinf(y);
      if (same_kind && (std::isnan(x) || x == y)) continue;
      const double tolerance = stage.absolute + stage.relative * largest;
      if (!same_kind || std::fabs(double{x} - double{y}) > tolerance)
        return place(stage, i) + ": " + std::to_string(x) + " on the CPU, " + std::to_string(y) +
               " on the device" + (unwritten(b[i]) ? " (never written)" : "");
    }
  }
  return {};
}

}  // namespace

std::unique_ptr<Step> try_step(const Case& spec, std::string& reason) {
  auto step = std::make_unique<Step>();
  step->spec = spec;
  const auto refuse = [&](const Error& error) {
    reason = error.message;
    return nullptr;
  };
  auto batch = make_batch(spec);
  if (!batch) return refuse(batch.error());
  step->batch = std::move(*batch);
  const auto shape = resolve_shape(spec, step->batch);
  if (!shape) return refuse(shape.error());
  step->buffers = make_decode_buffers(spec, step->batch, *shape);
  const DecodeMetadataBuilder builder({.max_requests = 0});
  auto metadata = builder.build(step->batch, *shape, step->buffers);
  if (!metadata) return refuse(metadata.error());
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
  // A probability that is rounded the other way moves a mean of values by its unit, and the largest
  // element of a head is at most a few times smaller than the largest value behind it.
  const bool fp8 = step.spec.dtype.both(Dtype::fp8);
  const double unit = fp8 ? 0x1p-2 : 0x1p-5;
  const double small = fp8 ? 0x1p-4 : 0x1p-7;
  const std::int64_t heads = cpu.kernel_heads;
  const float scale = step.tensors.kv_scale;
  for (const std::string& text :
       {compare({"partial output", heads, kValueDim, unit, small * scale}, cpu.partial_out,
                device.partial_out),
        compare({"partial LSE", heads, 1, 0x1p-14, 0x1p-10}, cpu.partial_lse, device.partial_lse),
        compare({"output after stage 1", heads, kValueDim, unit, small * scale}, cpu.stage1_out,
                device.stage1_out),
        compare({"LSE after stage 1", heads, 1, 0x1p-14, 0x1p-10}, cpu.stage1_lse,
                device.stage1_lse)})
    if (!text.empty()) return text;
  return {};
}

}  // namespace mla::hip::test
