#include "tests/hip_backend/aiter/planned_prefill.hpp"

#include <algorithm>
#include <cmath>

#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "core/say.hpp"
#include "hip_backend/aiter/prefill.hpp"
#include "properties/step/prefill/tensors.hpp"

namespace mla::hip::aiter::test {
namespace {

constexpr std::int64_t kUnit = 128;  // keys that the plan deals out together
constexpr std::int64_t kSlab = 256;  // rows of a partial result

std::vector<std::byte> as_fp8(const std::vector<std::uint16_t>& bits, Arch arch) {
  std::vector<std::byte> bytes;
  for (const std::uint16_t b : bits)
    bytes.push_back(std::byte{fp8_from_float(bf16_to_float(b), fp8_variant(arch))});
  return bytes;
}

std::string worst_lse(const std::vector<float>& lse, const cpu::ReferenceResult& reference) {
  for (std::size_t i = 0; i < lse.size(); ++i)
    if (!(std::fabs(lse[i] - reference.lse[i]) <= reference.lse_bound[i]))
      return say("LSE ", i, " is ", lse[i], ", the reference ", reference.lse[i]);
  return {};
}

}  // namespace

std::string worst_output(const std::vector<std::uint16_t>& out,
                         const cpu::ReferenceResult& reference, std::int64_t heads,
                         std::int64_t width) {
  if (out.size() != reference.out.size()) return std::to_string(out.size()) + " outputs";
  std::size_t at = 0;
  double most = 1;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double error = std::fabs(bf16_to_float(out[i]) - reference.out[i]);
    const double ratio = std::isnan(error) ? HUGE_VAL : error / reference.out_bound[i];
    if (ratio > most) most = ratio, at = i;
  }
  if (most <= 1) return {};
  const auto pair = static_cast<std::int64_t>(at) / width;
  return "out row " + std::to_string(pair / heads) + " head " + std::to_string(pair % heads) +
         " is " + std::to_string(bf16_to_float(out[at])) + ", the reference " +
         std::to_string(reference.out[at]) + " +- " + std::to_string(reference.out_bound[at]);
}

std::unique_ptr<PlannedPrefill> PlannedPrefill::make(const Case& spec, std::int64_t units,
                                                     bool causal, std::string& reason) {
  const auto refuse = [&reason](const Error& error) {
    reason = error.message;
    return nullptr;
  };
  const auto batch = make_batch(spec);
  if (!batch) return refuse(batch.error());
  std::unique_ptr<PlannedPrefill> step(new PlannedPrefill);
  step->spec_ = spec;
  step->causal_ = causal;
  step->indptr_ = {0};
  for (const RequestSpec& r : spec.requests) {
    step->lengths_.push_back(static_cast<std::int32_t>(r.qo_len));
    step->indptr_.push_back(step->indptr_.back() + step->lengths_.back());
  }
  for (std::int32_t row = 0; row < step->indptr_.back(); ++row) step->rows_.push_back(row);
  const auto sizes = plan::query_ps_sizes(
      {.compute_units = ComputeUnits(units),
       .batch = Requests(std::ssize(step->lengths_)),
       .kv_heads = Heads(spec.heads),
       .max_qo_len = *std::max_element(step->lengths_.begin(), step->lengths_.end())});
  if (!sizes) return refuse(sizes.error());
  step->sizes_ = *sizes;
  auto plan = plan::plan_ps_prefill({.compute_units = ComputeUnits(units),
                                     .kv_heads = Heads(spec.heads),
                                     .qo_indptr = step->indptr_,
                                     .kv_indptr = step->indptr_,
                                     .context_lens = step->lengths_,
                                     .kvlen_granularity = kUnit,
                                     .block_size = 1,
                                     .causal = causal},
                                    *sizes);
  if (!plan) return refuse(plan.error());
  step->plan_ = std::make_unique<plan::Plan>(std::move(*plan));
  const prefill::PrefillTensors tensors = prop::make_prefill_tensors(spec, *batch);
  step->softmax_scale_ = tensors.softmax_scale;
  step->q_ = as_fp8(tensors.q, spec.arch);
  step->k_ = as_fp8(tensors.k, spec.arch);
  step->v_ = as_fp8(tensors.v, spec.arch);
  step->reference_ =
      cpu::prefill_reference({.batch = *batch,
                              .tensors = tensors,
                              .arch = spec.arch,
                              .arithmetic = Dtype::fp8,
                              .causal = causal,
                              .merges = std::vector<std::int64_t>(step->lengths_.size(), 0)});
  return step;
}

PrefillInput PlannedPrefill::input(const plan::Plan& plan) const {
  return {.q = q_,
          .k = k_,
          .v = v_,
          .dtype = Dtype::fp8,
          .arch = spec_.arch,
          .heads = spec_.heads,
          .causal = causal_,
          .score_scale = softmax_scale_,
          .direct_lse = true,
          .qo_indptr = indptr_,
          .kv_indptr = indptr_,
          .key_rows = rows_,
          .plan = &plan,
          .partial_rows = sizes_.reduce_partial_map * kSlab};
}

std::string PlannedPrefill::run(const plan::Plan& plan, Installation& installation,
                                const EmulatedOptions& options) const {
  const auto device = make_emulated_device(spec_.arch, options);
  const auto result = prefill_with_plan(*device, installation, input(plan));
  if (!result) return result.error().message;
  if (auto wrong = worst_output(result->out, reference_, spec_.heads, prefill::kVDim);
      !wrong.empty())
    return wrong;
  return worst_lse(result->lse, reference_);
}

std::vector<plan::Violation> PlannedPrefill::check(const plan::Plan& plan) const {
  return plan::ps_check(
      {.plan = plan.view(),
       .qo_indptr = indptr_,
       .kv_indptr = indptr_,
       .context_lens = lengths_,
       .heads = Heads(spec_.heads),
       .qlen_granularity = kSlab,
       .block_size = 1,
       .causal = causal_,
       .partial_tiles = plan_->reduce_indptr.at(plan_->reduce_indptr.size() - 1)});
}

}  // namespace mla::hip::aiter::test
