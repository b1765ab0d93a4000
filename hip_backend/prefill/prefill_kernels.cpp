#include "hip_backend/prefill/prefill_kernels.hpp"

#include <algorithm>
#include <utility>

#include "cpu_backend/prefill/ps_works.hpp"

namespace mla::hip {
namespace {

using cpu::KernelContext;
using cpu::Operand;
using prefill::kVDim;

std::span<const std::byte> bytes_of(const Operand& x) {
  return {x.data, static_cast<std::size_t>(x.rows * x.heads * x.dim * element_bytes(x.dtype))};
}

PrefillInput input_of(const KernelContext& context, const Operand& q, const Operand& k,
                      const Operand& v) {
  PrefillInput in;
  in.q = bytes_of(q);
  in.k = bytes_of(k);
  in.v = bytes_of(v);
  in.dtype = q.dtype;
  in.arch = context.arch;
  in.heads = q.heads;
  in.timing.seed = context.timing_seed != 0 ? context.timing_seed : context.schedule_seed;
  in.drawn_timing = context.timing_seed;
  return in;
}

// Rows of a device's output into a view; those that no work wrote stay as they are.
void copy_rows(const PrefillOutput& from, std::int64_t rows, std::int64_t heads,
               const cpu::RowsView<std::uint16_t>& out, const cpu::RowsView<float>& lse) {
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t head = 0; head < heads; ++head) {
      const auto pair = static_cast<std::size_t>(row * heads + head);
      const std::uint16_t* values = &from.out[pair * static_cast<std::size_t>(kVDim)];
      if (*values == kPoisonBf16) continue;
      std::copy_n(values, kVDim, out.at(row, head));
      *lse.at(row, head) = from.lse[pair];
    }
}

void run_flash(Device& device, const KernelContext& context, const cpu::FlashLaunch& launch) {
  for (std::size_t r = 0; r + 1 < launch.cu_seqlens_q.size(); ++r)
    if (auto fault = cpu::flash_fault(launch, r)) return context.faults.push_back(*fault);
  PrefillInput in = input_of(context, launch.q, launch.k, launch.v);
  in.causal = launch.causal;
  in.score_scale = launch.score_scale;
  in.qo_indptr = launch.cu_seqlens_q;
  in.kv_indptr = launch.cu_seqlens_k;
  const auto result = prefill_on_device(device, in);
  if (!result) return context.faults.push_back({result.error().message, -1, -1});
  context.launches.add(result->launches);
  copy_rows(*result, launch.cu_seqlens_q.back(), launch.q.heads, launch.out, launch.lse);
}

// Works and merges.
void run_ps(const PlannedPrefill& attend, OnError on_error, const KernelContext& context,
            const cpu::PsLaunch& launch, cpu::PsOutput& output) {
  const std::size_t before = context.faults.size();
  static_cast<void>(cpu::read_ps_works(launch, output, context.faults));
  if (context.faults.size() > before) return;
  const plan::Plan plan = plan::Plan::copy_of(plan::PlanView(launch.plan));
  PrefillInput in = input_of(context, launch.q, launch.k, launch.v);
  in.causal = launch.causal;
  in.score_scale = launch.score_scale;
  in.qo_indptr = launch.plan.qo_indptr;
  in.kv_indptr = launch.plan.kv_indptr;
  in.key_rows = launch.plan.kv_indices;
  in.plan = &plan;
  in.partial_rows = output.partial_rows;
  const auto result = attend(in);
  if (!result && on_error == OnError::no_result && context.no_result != nullptr) {
    if (!*context.no_result) *context.no_result = result.error();
    return;
  }
  if (!result) return context.faults.push_back({result.error().message, -1, -1});
  context.launches.add(result->launches);
  copy_rows(*result, output.rows, output.heads, output.out, output.lse);
  std::copy(result->partial_out.begin(), result->partial_out.end(), output.partial_out);
  std::copy(result->partial_lse.begin(), result->partial_lse.end(), output.partial_lse);
}

}  // namespace

prefill::Kernels planned_prefill_kernels(std::optional<Arch> arch, PlannedPrefill attend,
                                         OnError on_error) {
  // What a foreign kernel attended is left to the CPU's reduce.
  prefill::Kernels kernels = cpu::prefill_kernels(cpu::portable_path());
  kernels.arch = arch;
  kernels.flash = nullptr;
  kernels.prefill_ps = [attend = std::move(attend), on_error](const KernelContext& context,
                                                              const cpu::PsLaunch& launch,
                                                              cpu::PsOutput& output) {
    run_ps(attend, on_error, context, launch, output);
    return prefill::Partials::merged;
  };
  return kernels;
}

prefill::Kernels device_prefill_kernels(const std::shared_ptr<Device>& device) {
  const DeviceProperties& is = device->properties();
  prefill::Kernels kernels = planned_prefill_kernels(
      is.platform == Platform::amd ? arch_from_name(is.arch) : std::nullopt,
      [device](const PrefillInput& in) { return prefill_on_device(*device, in); }, OnError::fault);
  kernels.flash = [device](const KernelContext& context, const cpu::FlashLaunch& launch) {
    run_flash(*device, context, launch);
  };
  return kernels;
}

}  // namespace mla::hip
