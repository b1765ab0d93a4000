#include <algorithm>
#include <utility>

#include "core/shape/split_count.hpp"
#include "cpu_backend/cpu_backend.hpp"
#include "hip_backend/aiter/aiter_backend.hpp"
#include "hip_backend/device/emulated_device.hpp"
#include "properties/step/decode/stage_compare.hpp"
#include "tests/hip_backend/aiter/packed_cache.hpp"
#include "tests/hip_backend/aiter/sweep.hpp"
#include "tests/hip_backend/crosscheck_step.hpp"

namespace mla::hip::aiter::test {
namespace {

// One case of a row: what the line cannot say stands beside it.
struct RowCase {
  Case spec;
  std::int64_t splits = 0;  // without a plan; 0: as many as AITER takes
  plan::Fidelity fidelity = plan::Fidelity::safe;
  std::uint32_t ranks = 0;   // keys dealt out to so many; 0: not
  bool tail_is_nan = false;  // what lies after the keys of a last packed page; otherwise 0
};

std::string label(const RowCase& c) {
  std::string text = format_case(c.spec);
  if (c.spec.planner == PlannerChoice::none)
    text += " splits=" + (c.splits > 0 ? std::to_string(c.splits) : std::string("auto"));
  if (c.tail_is_nan) text += " tail=nan";
  return text + (c.ranks > 0 ? " ranks=" + std::to_string(c.ranks) : "");
}

Case case_of(Arch arch, const RowKey& key, std::int64_t q, const std::vector<std::int64_t>& kv) {
  Case c;
  for (const std::int64_t n : kv) c.requests.push_back({q, n});
  c.heads = key.heads;
  c.arch = arch;
  c.compute_units = 5;
  c.dtype = {key.q == ElementType::fp8 ? Dtype::fp8 : Dtype::bf16,
             key.kv == ElementType::fp8 ? Dtype::fp8 : Dtype::bf16};
  c.causal = key.causal;
  c.decode().need_lse = key.lse;
  c.planner = key.persistent ? PlannerChoice::v12 : PlannerChoice::none;
  if (key.kv == ElementType::bytes) {  // the kernel takes pages of 64 tokens
    c.page_size = 64;
    c.block_size = 64;
    c.decode().granularity = 1;
  }
  return c;
}

std::vector<RowCase> cases_of(Arch arch, const RowKey& key) {
  std::vector<std::int64_t> lengths = {std::max<std::int64_t>(key.qo_len, 1)};
  if (key.qo_len == 0) lengths = {1, 2, 4};
  if (key.qo_len == 8) lengths = {5, 6, 7, 8};  // ROCm/aiter#2720 is about 6
  if (key.persistent && key.qo_len == 4 && key.heads == 16) lengths = {3, 4};
  if (key.persistent && key.qo_len == 4 && key.heads == 32 && !key.cprr) lengths = {4, 5};
  if (key.kv == ElementType::bytes) lengths = {1, 2, 3, 4};
  std::vector<RowCase> out;
  for (const std::int64_t q : lengths) {
    RowCase split{.spec = case_of(arch, key, q, {300, 337})};
    if (key.q == ElementType::fp8) split.spec.decode().q_scale = 0.5F;
    if (key.kv == ElementType::fp8) split.spec.decode().kv_scale = 0.75F;
    RowCase whole{.spec = case_of(arch, key, q, {40, 70, 40})};
    whole.spec.compute_units = 64;
    whole.spec.decode().max_split = 1;
    if (!key.persistent) whole.splits = 1;
    if (key.cprr) {
      split.ranks = 1;
      whole.ranks = 4;
    }
    out.push_back(split);
    out.push_back(whole);
    if (key.kv == ElementType::bytes) {
      // The last page in a work of its own, which a safe plan does not do where it hides keys.
      out.push_back({.spec = case_of(arch, key, q, {65}), .fidelity = plan::Fidelity::as_aiter});
      out.push_back({.spec = case_of(arch, key, q, {44}), .tail_is_nan = true});
    }
    if (key.persistent) continue;
    split.splits = 3;
    out.push_back(split);
    // Requests of different lengths have the same number of splits.
    out.push_back({.spec = case_of(arch, key, q, {600, 20})});
  }
  return out;
}

// With one rank the global lengths are the local ones. With four, keys are dealt out so that all
// rows of a request see the same local keys, all of them.
AiterOptions options_of(const RowCase& c, const ManifestRow& row) {
  AiterOptions options;
  options.row = row;
  if (c.ranks == 0) return options;
  options.ranks = c.ranks;
  options.rank = c.ranks - 1;
  options.global_kv_indptr.push_back(0);
  for (const RequestSpec& r : c.spec.requests) {
    const std::int64_t length =
        c.ranks == 1 ? r.kv_len : c.ranks * (r.kv_len - 1) + options.rank + r.qo_len;
    options.global_kv_indptr.push_back(options.global_kv_indptr.back() +
                                       static_cast<std::int32_t>(length));
  }
  return options;
}

std::string judge_case(const RowCase& c, const ManifestRow& row,
                       const std::shared_ptr<Installation>& installation,
                       const EmulatedOptions& device) {
  std::string reason;
  auto batch = make_batch(c.spec);
  if (!batch) return batch.error().message;
  auto step = hip::test::step_of(c.spec, std::move(*batch), shape_of(c.spec, row.key, c.splits),
                                 c.fidelity, reason);
  if (step == nullptr) return "not planned: " + std::move(reason);
  AiterOptions options = options_of(c, row);
  if (row.key.kv == ElementType::bytes) {
    if (!c.tail_is_nan) clear_nan(step->tensors.cache);
    options.packed_cache =
        pack_cache(step->tensors.cache, c.spec.page_size, fp8_variant(c.spec.arch));
  }
  const auto backend = make_aiter_backend(make_emulated_device(c.spec.arch, device), installation,
                                          std::move(options));
  const auto result = backend->run(step->launch(), {.record_stages = true});
  if (!result) return result.error().message;
  if (c.ranks > 1) step->spec.causal = false;
  hip::test::Closeness closeness;
  if (std::string bad = hip::test::judge(*step, *result, closeness); !bad.empty()) return bad;
  // Without a plan a split is what the kernel takes for one: only the merge is a contract.
  if (c.ranks > 1 || !row.key.persistent) return {};
  const auto cpu = cpu::make_cpu_backend()->run(step->launch(), {.record_stages = true});
  return cpu ? hip::test::compare_stages(*step, *cpu, *result) : cpu.error().message;
}

}  // namespace

ResolvedShape shape_of(const Case& spec, const RowKey& key, std::int64_t splits) {
  ResolvedShape s;
  s.arch = spec.arch;
  s.compute_units = ComputeUnits(spec.compute_units);
  s.dtype = spec.dtype;
  s.fp8 = fp8_variant(spec.arch);
  s.heads = {Heads(spec.heads), Heads(spec.heads), PadKind::none};
  s.causal = spec.causal;
  s.final_lse = spec.decode().need_lse;
  s.route = key.persistent ? Route::persistent : Route::split;
  s.max_qo_len = 0;
  for (const RequestSpec& r : spec.requests) s.max_qo_len = std::max(s.max_qo_len, r.qo_len);
  s.uniform_qo_len = s.max_qo_len;
  for (const RequestSpec& r : spec.requests)
    if (r.qo_len != s.max_qo_len) s.uniform_qo_len = -1;
  s.max_split = spec.decode().max_split;
  s.block_size = spec.block_size;
  s.page_size = spec.page_size;
  s.granularity = spec.decode().granularity;
  s.kernel.masks = !(spec.arch == Arch::gfx942 && key.persistent && spec.heads == 128);
  if (key.persistent) {
    const auto plan = resolve_plan_shape(s.plan_key());
    if (plan) s.plan = *plan;
    return s;
  }
  std::int64_t total = 0;
  for (const RequestSpec& r : spec.requests) total += r.kv_len;
  const auto chosen =
      plan::split_count({product_compute_units(spec.arch), Requests(std::ssize(spec.requests)),
                         Tokens(total), s.heads.kernel, s.max_qo_len, s.dtype});
  s.kv_splits = splits > 0 ? splits : chosen ? *chosen : 2;
  s.split_granularity = plan::split_granularity(s.heads.kernel, s.max_qo_len, s.dtype);
  return s;
}

std::vector<Verdict> judge_decode_row(Arch arch, const ManifestRow& row,
                                      const std::shared_ptr<Installation>& installation,
                                      const EmulatedOptions& device) {
  std::vector<Verdict> verdicts;
  for (const RowCase& c : cases_of(arch, row.key))
    verdicts.push_back({label(c), judge_case(c, row, installation, device)});
  return verdicts;
}

}  // namespace mla::hip::aiter::test
