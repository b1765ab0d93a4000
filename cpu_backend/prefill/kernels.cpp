#include "cpu_backend/prefill/kernels.hpp"

namespace mla::cpu {

prefill::Kernels prefill_kernels(const DataPath& path) {
  return {.prefill_ps =
              [&path](const KernelContext& context, const PsLaunch& launch, PsOutput& output) {
                run_prefill_ps(path, context, launch, output);
                return prefill::Partials::left;
              },
          .reduce = &run_prefill_reduce,
          .flash = [&path](const KernelContext& context,
                           const FlashLaunch& launch) { run_flash(path, context, launch); },
          .gather = &run_gather,
          .merge = &run_merge_states};
}

}  // namespace mla::cpu
