#include "tests/hip_backend/aiter/calibration/kernel.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "hip_backend/aiter/aiter_backend.hpp"
#include "hip_backend/device/emulated_device.hpp"
#include "tests/hip_backend/aiter/packed_cache.hpp"
#include "tests/hip_backend/aiter/sweep.hpp"

namespace mla::hip::aiter::test {
namespace {

// The undamaged plans need some 20,000 instructions a wave.
constexpr std::uint64_t kInstructionLimit = 400000;

bool within(double value, double exact, double bound) {
  return value == exact || std::fabs(value - exact) <= bound;  // false for NaN
}

std::string difference(const char* what, std::size_t at, double value, double exact) {
  return std::string(what) + "[" + std::to_string(at) + "] is " + std::to_string(value) +
         ", the reference " + std::to_string(exact);
}

std::vector<std::int32_t> global_lengths(const Case& spec, const Deal& deal) {
  std::vector<std::int32_t> out{0};
  for (const RequestSpec& r : spec.requests)
    out.push_back(out.back() + static_cast<std::int32_t>(deal.global(r.kv_len)));
  return out;
}

// Every row as a request of the keys that it sees on this rank.
Batch rows_as_requests(const Batch& batch, const Deal& deal) {
  Batch out = batch;
  out.requests.clear();
  out.block_table.clear();
  for (std::size_t b = 0; b < batch.requests.size(); ++b) {
    const RequestSpec& r = batch.requests[b];
    const auto blocks = batch.block_table.begin() + static_cast<std::ptrdiff_t>(b) * batch.columns;
    for (std::int64_t row = 0; row < r.qo_len; ++row) {
      const std::int64_t seen = deal.global(r.kv_len) - (r.qo_len - 1 - row);  // global keys
      const std::int64_t before = std::max<std::int64_t>(0, seen - deal.rank + deal.ranks - 1);
      out.requests.push_back({1, std::min(r.kv_len, before / deal.ranks)});
      out.block_table.insert(out.block_table.end(), blocks, blocks + batch.columns);
    }
  }
  out.live = Requests(std::ssize(out.requests));
  return out;
}

}  // namespace

std::unique_ptr<KernelUnderTest> KernelUnderTest::make(
    const Case& spec, const ManifestRow& row, const std::shared_ptr<Installation>& installation,
    const Deal& deal, std::string& reason) {
  Case planned = spec;
  planned.causal = spec.causal && deal.ranks == 1;
  auto batch = make_batch(planned);
  if (!batch) return reason = batch.error().message, nullptr;
  std::unique_ptr<KernelUnderTest> kernel(new KernelUnderTest);
  kernel->step_ = hip::test::step_of(planned, std::move(*batch), shape_of(planned, row.key, 0),
                                     plan::Fidelity::safe, reason);
  if (kernel->step_ == nullptr) return nullptr;
  hip::test::Step& step = *kernel->step_;
  step.metadata.shape.causal = spec.causal;  // the kernel's mask
  AiterOptions options;
  options.row = row;
  options.as_planned = true;
  kernel->deal_ = deal;
  if (row.key.cprr) {
    kernel->global_kv_indptr_ = global_lengths(spec, deal);
    options.global_kv_indptr = kernel->global_kv_indptr_;
    options.ranks = static_cast<std::uint32_t>(deal.ranks);
    options.rank = static_cast<std::uint32_t>(deal.rank);
  }
  if (row.key.kv == ElementType::bytes) {
    clear_nan(step.tensors.cache);
    options.packed_cache = pack_cache(step.tensors.cache, spec.page_size, fp8_variant(spec.arch));
  }
  // The mask of a row is that of the ranks; of one rank it is the ordinary one.
  const bool dealt = row.key.cprr && spec.causal;
  const Batch judged = dealt ? rows_as_requests(step.batch, deal) : step.batch;
  kernel->reference_ = cpu::dense_reference({.batch = judged,
                                             .tensors = step.tensors,
                                             .arch = spec.arch,
                                             .dtype = spec.dtype,
                                             .model_heads = spec.heads,
                                             .causal = spec.causal && !dealt});
  kernel->backend_ = make_aiter_backend(
      make_emulated_device(spec.arch, {.run = {.instruction_limit = kInstructionLimit}}),
      installation, std::move(options));
  return kernel;
}

plan::PlanCheckInput KernelUnderTest::check_input(const plan::Plan& plan) const {
  plan::PlanCheckInput input = check_input_of(step_->metadata);
  input.plan = plan.view();
  if (deal_.ranks == 1) return input;
  input.cp_round_robin = true;
  input.dealt = {.ranks = deal_.ranks, .rank = deal_.rank, .global_kv_indptr = global_kv_indptr_};
  return input;
}

std::string KernelUnderTest::judge(const DecodeResult& result) const {
  for (const Fault& fault : result.faults) return fault.what;
  for (std::size_t i = 0; i < reference_.out.size(); ++i) {
    const double value = bf16_to_float(result.out[i]);
    if (!within(value, reference_.out[i], reference_.out_bound[i]))
      return difference("out", i, value, reference_.out[i]);
  }
  for (std::size_t i = 0; i < reference_.lse.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(result.lse[i]) == kPoisonF32) continue;
    if (!within(result.lse[i], reference_.lse[i], reference_.lse_bound[i]))
      return difference("lse", i, result.lse[i], reference_.lse[i]);
  }
  return {};
}

std::string KernelUnderTest::run_on(const Backend& backend, const plan::Plan& plan) {
  plan::Plan before = std::exchange(*step_->metadata.plan, plan.clone());
  const auto result = backend.run(step_->launch(), {});
  step_->metadata.plan = std::move(before);
  return result ? judge(*result) : result.error().message;
}

std::string KernelUnderTest::run(const plan::Plan& plan) {
  return run_on(*backend_, plan);
}

std::vector<Case> calibration_cases(Arch arch, const RowKey& key) {
  std::vector<Case> out;
  Case base;
  base.arch = arch;
  base.dtype = {key.q == ElementType::fp8 ? Dtype::fp8 : Dtype::bf16,
                key.kv == ElementType::bf16 ? Dtype::bf16 : Dtype::fp8};
  base.causal = key.causal;
  base.decode().need_lse = key.lse;
  base.planner = PlannerChoice::v12;
  base.compute_units = 4;
  base.decode().granularity = 1;
  if (key.kv == ElementType::bytes) {
    base.dtype.kv = Dtype::bf16;
    base.page_size = base.block_size = 64;
    base.compute_units = 3;
  }
  const auto add = [&](std::int64_t heads, std::int64_t q, std::int64_t second) {
    Case c = base;
    c.heads = heads;
    c.requests = {{q, 30}, {second, 110}};
    if (c.page_size > 1) c.requests = {{q, 100}, {second, 260}};
    out.push_back(c);
  };
  for (const std::int64_t heads : {8, 16, 32, 64, 128})
    for (const std::int64_t q : {1, 2, 4, 5, 8}) {
      Case c = base;
      c.heads = heads;
      c.requests = {{q, 40}};
      const ResolvedShape shape = shape_of(c, key, 0);
      if (shape.plan.slots.count() == 0) continue;  // no planner takes it
      const auto found = dispatch_decode({.arch = arch,
                                          .q = key.q,
                                          .kv = key.kv,
                                          .heads = shape.row_heads().count(),
                                          .qo_len = q,
                                          .persistent = true,
                                          .causal = key.causal,
                                          .lse = key.lse,
                                          .cprr = key.cprr});
      const bool named = heads == key.heads && q == std::max<std::int64_t>(key.qo_len, 1);
      // Variants have the masks and loops of the kernel that they vary, but what rows see of the
      // keys of a rank is another matter.
      const bool of_ranks = key.lse && key.cprr && q == 4;
      if ((key.lse || key.cprr) && !named && !of_ranks) continue;
      if (!named && !(found && found->row.key == key)) continue;
      // More groups are as two. Engines do not fold for the packed cache.
      if (shape.fold_ratio() > (key.kv == ElementType::bytes ? 1 : 2)) continue;
      add(heads, q, q);
      if (q > 1 && shape.fold_ratio() == 1) add(heads, q, q - 1);
    }
  return out;
}

}  // namespace mla::hip::aiter::test
