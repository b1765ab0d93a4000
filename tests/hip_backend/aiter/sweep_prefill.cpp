#include <memory>
#include <utility>

#include "cpu_backend/decode/reference.hpp"
#include "hip_backend/aiter/prefill.hpp"
#include "hip_backend/device/emulated_device.hpp"
#include "tests/built_in_dims.hpp"
#include "tests/hip_backend/aiter/planned_prefill.hpp"
#include "tests/hip_backend/aiter/sweep.hpp"
#include "tests/hip_backend/crosscheck_step.hpp"

namespace mla::hip::aiter::test {
namespace {

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
  return worst_output(*out, reference, spec.heads, kValueDim);
}

std::string judge_with_plan(const Case& spec, std::int64_t units, bool causal,
                            Installation& installation, const EmulatedOptions& options) {
  std::string reason;
  const auto step = PlannedPrefill::make(spec, units, causal, reason);
  return step == nullptr ? reason : step->run(step->planned(), installation, options);
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
