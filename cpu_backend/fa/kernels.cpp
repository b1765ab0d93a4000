#include "cpu_backend/fa/kernels.hpp"

#include <string>

namespace mla::cpu {

fa::Kernels fa_kernels() {
  return {.update_cache = &update_cache,
          .varlen_attention = &varlen_attention,
          .gather_cache = &gather_cache,
          .merge_states = &merge_states,
          .paged_attention_v1 = &paged_attention_v1,
          .unified_attention = &unified_attention};
}

void count_launch(const fa::KernelContext& context, std::string_view kernel) {
  context.launches.add({"cpu", kHost, StepKind::fa, std::string(kernel)});
}

}  // namespace mla::cpu
