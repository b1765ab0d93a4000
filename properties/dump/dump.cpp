#include "properties/dump/dump.hpp"

namespace mla::dump {

std::string_view packed_name(std::int64_t row_bytes) {
  if (row_bytes == 656) return "fp8_ds_mla";   // 512 fp8, 4 scales in f32, 64 bf16
  if (row_bytes == 584) return "DeepSeek-V4";  // 448 fp8, 64 bf16, 8 scales of a byte
  return {};
}

plan::PlanView FoundPlan::view() const {
  // The addresses of a dump mean nothing elsewhere, and plan_check does not look at them.
  return {plan::kNoAddresses,
          {work_indptr, work_info, reduce_indptr, reduce_final_map, reduce_partial_map}};
}

plan::BufferSizes FoundPlan::sizes() const {
  return {.work_indptr = std::ssize(work_indptr),
          .work_items = std::ssize(work_info) / plan::kWorkItemWords,
          .reduce_indptr = std::ssize(reduce_indptr),
          .reduce_final_rows = std::ssize(reduce_final_map) / 2,
          .reduce_partial_map = std::ssize(reduce_partial_map)};
}

plan::PsCheckInput PrefillPlan::check_input() const {
  const plan::PsInput& in = call.input;
  return {.plan = found.view(),
          .qo_indptr = in.qo_indptr,
          .kv_indptr = in.kv_indptr,
          .context_lens = in.context_lens,
          .heads = call.heads,
          .qhead_granularity = in.qhead_granularity,
          .qlen_granularity = in.qlen_granularity,
          .block_size = in.block_size,
          .causal = in.causal,
          .most_pieces = in.compute_units.count()};
}

}  // namespace mla::dump
