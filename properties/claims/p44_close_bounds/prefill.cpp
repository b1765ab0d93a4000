// P44 for prefill steps.
#include <algorithm>

#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/p44_close_bounds/bounded_rows.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/generate/sample.hpp"
#include "properties/step/prefill/run.hpp"

namespace mla::prop {
namespace {

using prefill::kQkDim;
using prefill::kVDim;

// bf16 bits as the step computes with them: fp8 steps cast their operands first.
double prefill_operand(std::uint16_t bits, Dtype arithmetic, Arch arch) {
  const float value = bf16_to_float(bits);
  if (arithmetic == Dtype::bf16) return value;
  return fp8_to_float(fp8_from_float(value, fp8_variant(arch)), fp8_variant(arch));
}

RowKeys prefill_keys(const PrefillStep& step, std::int64_t pair, const RequestAt& at) {
  const Case& c = step.spec;
  const prefill::PrefillTensors& t = step.tensors;
  const Dtype dtype = step.shape.arithmetic();
  const auto [q, n] = step.batch.requests[static_cast<std::size_t>(at.request)];
  const std::int64_t head = pair % t.heads;
  const std::int64_t first_row = pair / t.heads - at.row;
  RowKeys keys{.last = c.causal ? n - q + at.row + 1 : n, .all = n, .value_dims = kVDim};
  const std::uint16_t* query = t.q.data() + pair * kQkDim;
  std::transform(query, query + kQkDim, std::back_inserter(keys.q),
                 [&](std::uint16_t bits) { return prefill_operand(bits, dtype, c.arch); });
  keys.load = [&step, dtype, at, head, first_row, context = n - q](
                  std::int64_t j, std::span<double> key, std::span<double> value) {
    const prefill::PrefillTensors& tensors = step.tensors;
    const std::int64_t fresh = (first_row + j - context) * tensors.heads + head;
    const std::uint16_t* k = tensors.k.data() + fresh * kQkDim;
    const std::uint16_t* v = tensors.v.data() + fresh * kVDim;
    if (j < context) {
      const std::int64_t slot = step.batch.slot(at.request, j) - tensors.cache.first_slot;
      k = tensors.cache.bits.data() + (slot * tensors.heads + head) * (kQkDim + kVDim);
      v = k + kQkDim;
    }
    for (std::size_t d = 0; d < key.size(); ++d)
      key[d] = prefill_operand(k[d], dtype, step.spec.arch);
    for (std::size_t d = 0; d < value.size(); ++d)
      value[d] = prefill_operand(v[d], dtype, step.spec.arch);
  };
  return keys;
}

}  // namespace

Outcome prefill_close_bounds(Subject& subject) {
  const auto& run = subject.prefill();
  if (!run) return refusal(run.error());
  const PrefillStep& step = *run->steps.front();
  const cpu::ReferenceResult& reference = subject.prefill_reference();
  const std::vector<std::int64_t> merges = context_merges(step);
  const Dtype dtype = step.shape.arithmetic();
  return close_bounds(
      subject, {.batch = step.batch,
                .heads = step.spec.heads,
                .pairs = sampled_pairs(step.spec, step.batch.requests),
                .reference = reference,
                .out = step.result.out,
                .lse = step.result.lse,
                .arithmetic_of =
                    [&](const RequestAt& at) {
                      return RowArithmetic{
                          .dtype = {dtype, dtype},
                          .arch = step.spec.arch,
                          .output_unit = dtype == Dtype::fp8 && step.spec.arch == Arch::gfx942
                                             ? 0x1p-7
                                             : 0x1p-8,
                          .score_scale = step.tensors.softmax_scale,
                          .merges = merges[static_cast<std::size_t>(at.request)]};
                    },
                .keys_of = [&](std::int64_t pair,
                               const RequestAt& at) { return prefill_keys(step, pair, at); }});
}

}  // namespace mla::prop
