#include <cmath>
#include <memory>
#include <utility>

#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "core/plan/ps_prefill.hpp"
#include "cpu_backend/prefill/prefill_reference.hpp"
#include "hip_backend/aiter/prefill.hpp"
#include "hip_backend/device/emulated_device.hpp"
#include "properties/step/prefill/tensors.hpp"
#include "tests/hip_backend/aiter/sweep.hpp"
#include "tests/hip_backend/crosscheck_step.hpp"

namespace mla::hip::aiter::test {
namespace {

using prefill::kVDim;

// The worst element that leaves its bound, in words.
std::string worst(const std::vector<std::uint16_t>& out, const cpu::ReferenceResult& reference,
                  std::int64_t heads, std::int64_t width) {
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

Case case_of(Arch arch, std::int64_t heads, std::vector<RequestSpec> requests) {
  Case c;
  c.requests = std::move(requests);
  c.heads = heads;
  c.arch = arch;
  return c;
}

std::string judge_latent(const Case& spec, Installation& installation,
                         const EmulatedOptions& options) {
  std::string reason;
  auto batch = make_batch(spec);
  if (!batch) return batch.error().message;
  ResolvedShape shape;
  shape.arch = spec.arch;
  shape.heads = {Heads(spec.heads), Heads(spec.heads), PadKind::none};
  shape.route = Route::split;  // without a plan
  const auto step =
      hip::test::step_of(spec, std::move(*batch), shape, plan::Fidelity::safe, reason);
  if (step == nullptr) return reason;
  const auto device = make_emulated_device(spec.arch, options);
  const auto out = latent_prefill(*device, installation,
                                  {.q = step->tensors.q,
                                   .cache = step->tensors.cache.bytes,
                                   .arch = spec.arch,
                                   .heads = spec.heads,
                                   .softmax_scale = step->tensors.softmax_scale,
                                   .qo_indptr = step->metadata.qo_indptr,
                                   .kv_indptr = step->metadata.kv_indptr,
                                   .kv_indices = step->metadata.kv_indices});
  if (!out) return out.error().message;
  const auto reference = cpu::dense_reference({.batch = step->batch,
                                               .tensors = step->tensors,
                                               .arch = spec.arch,
                                               .dtype = spec.dtype,
                                               .model_heads = spec.heads,
                                               .causal = true});
  return worst(*out, reference, spec.heads, kValueDim);
}

std::vector<std::byte> as_fp8(const std::vector<std::uint16_t>& bits, Arch arch) {
  std::vector<std::byte> bytes;
  for (const std::uint16_t b : bits)
    bytes.push_back(std::byte{fp8_from_float(bf16_to_float(b), fp8_variant(arch))});
  return bytes;
}

// Prompts without context: keys are the rows' own. `units` decides how much is split.
std::string judge_with_plan(const Case& spec, std::int64_t units, bool causal,
                            Installation& installation, const EmulatedOptions& options) {
  const auto batch = make_batch(spec);
  if (!batch) return batch.error().message;
  const prefill::PrefillTensors tensors = prop::make_prefill_tensors(spec, *batch);
  std::vector<std::int32_t> indptr = {0};
  std::vector<std::int32_t> lengths;
  std::int64_t longest = 0;
  for (const RequestSpec& r : spec.requests) {
    lengths.push_back(static_cast<std::int32_t>(r.qo_len));
    indptr.push_back(indptr.back() + lengths.back());
    longest = std::max(longest, r.qo_len);
  }
  std::vector<std::int32_t> rows(static_cast<std::size_t>(indptr.back()));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int32_t>(i);
  const auto sizes = plan::query_ps_sizes({.compute_units = ComputeUnits(units),
                                           .batch = Requests(std::ssize(lengths)),
                                           .kv_heads = Heads(spec.heads),
                                           .max_qo_len = longest});
  if (!sizes) return sizes.error().message;
  const auto plan = plan::plan_ps_prefill({.compute_units = ComputeUnits(units),
                                           .kv_heads = Heads(spec.heads),
                                           .qo_indptr = indptr,
                                           .kv_indptr = indptr,
                                           .context_lens = lengths,
                                           .kvlen_granularity = 128,
                                           .block_size = 1,
                                           .causal = causal},
                                          *sizes);
  if (!plan) return plan.error().message;
  const auto q = as_fp8(tensors.q, spec.arch);
  const auto k = as_fp8(tensors.k, spec.arch);
  const auto v = as_fp8(tensors.v, spec.arch);
  const auto device = make_emulated_device(spec.arch, options);
  const auto result = prefill_with_plan(*device, installation,
                                        {.q = q,
                                         .k = k,
                                         .v = v,
                                         .dtype = Dtype::fp8,
                                         .arch = spec.arch,
                                         .heads = spec.heads,
                                         .causal = causal,
                                         .score_scale = tensors.softmax_scale,
                                         .qo_indptr = indptr,
                                         .kv_indptr = indptr,
                                         .key_rows = rows,
                                         .plan = &*plan,
                                         .partial_rows = sizes->reduce_partial_map * 256});
  if (!result) return result.error().message;
  const auto reference =
      cpu::prefill_reference({.batch = *batch,
                              .tensors = tensors,
                              .arch = spec.arch,
                              .arithmetic = Dtype::fp8,
                              .causal = causal,
                              .merges = std::vector<std::int64_t>(lengths.size(), 0)});
  return worst(result->out, reference, spec.heads, kVDim);
}

}  // namespace

std::vector<Verdict> judge_prefill_row(Arch arch, const ManifestRow& row,
                                       const std::shared_ptr<Installation>& installation,
                                       const EmulatedOptions& device) {
  std::vector<Verdict> verdicts;
  if (!row.key.persistent) {
    for (const auto& requests : std::vector<std::vector<RequestSpec>>{
             {{20, 100}, {3, 40}}, {{70, 70}}, {{1, 33}, {9, 9}}}) {
      const Case c = case_of(arch, row.key.heads, requests);
      verdicts.push_back({format_case(c), judge_latent(c, *installation, device)});
    }
    return verdicts;
  }
  for (const std::int64_t units : {1, 6}) {
    Case c = case_of(arch, 2, {{300, 300}, {40, 40}});
    c.step = PrefillSpec{};
    verdicts.push_back({format_case(c) + " units=" + std::to_string(units),
                        judge_with_plan(c, units, row.key.causal, *installation, device)});
  }
  return verdicts;
}

}  // namespace mla::hip::aiter::test
