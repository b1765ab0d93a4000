#include "hip_backend/aiter/launches.hpp"

#include <bit>

#include "core/units.hpp"

namespace mla::hip::aiter {
namespace {

// A work whose pages run backwards is a fault that admission has reported, and goes on as one
// without keys; AITER's kernels would read what lies before its pages.
bool is_admitted(const Admission& admission, const plan::Plan& plan, std::int64_t work) {
  const plan::WorkItem item = plan.work(work);
  return admission.skip[static_cast<std::size_t>(work)] == 0 && item.kv_end >= item.kv_begin;
}

}  // namespace

Address page_zero(const Stage1Input& input) {
  const std::int64_t before = input.buffers.first_slot * input.launch.tensors.cache.row_bytes();
  return address_of(input.buffers.cache) - static_cast<Address>(before);
}

DecodeKernargs common_kernargs(const Selection& selection, const Stage1Input& input,
                               Address q_scale, Address kv_scale) {
  const ResolvedShape& shape = input.launch.metadata.shape;
  const KvCache& cache = input.launch.tensors.cache;
  const DecodeArguments& b = input.buffers;
  const std::int64_t q_row = input.rows.row_heads() * shape.widths.key_bytes(shape.dtype.q);
  const bool persistent = shape.route != Route::split;
  DecodeKernargs k;
  k.q = address_of(b.q);
  k.kv = page_zero(input);
  k.kv_indptr = address_of(b.kv_indptr);
  k.kv_indices = address_of(b.kv_indices);
  k.last_page_len = address_of(b.last_page_len);
  k.qo_indptr = address_of(b.qo_indptr);
  k.softmax_scale = input.launch.tensors.softmax_scale;
  k.packed_rows = static_cast<std::uint32_t>(selection.packed_rows);
  k.kv_splits = persistent ? 1U : static_cast<std::uint32_t>(shape.kv_splits);
  k.q_stride = static_cast<std::uint32_t>(q_row * shape.max_qo_len);
  k.page_stride = static_cast<std::uint32_t>(shape.page_size * cache.row_bytes());
  k.log2_page =
      static_cast<std::uint32_t>(std::countr_zero(static_cast<std::uint64_t>(shape.page_size)));
  k.q_scale = shape.dtype.q == Dtype::fp8 ? q_scale : 0;
  k.kv_scale = shape.dtype.kv == Dtype::fp8 ? kv_scale : 0;
  k.single_split = persistent || shape.kv_splits == 1 ? 1U : 0U;
  k.ranks = 1U;
  return k;
}

LaunchSize grid_of(const Selection& selection, const Stage1Input& input) {
  const DecodeMetadata& md = input.launch.metadata;
  if (md.shape.route != Route::split)
    return {.grid_x = static_cast<std::uint32_t>(input.admission.skip_slot.size()),
            .threads = kThreads};
  const std::int64_t packed = input.rows.row_heads() * md.shape.max_qo_len;
  return {.grid_x = static_cast<std::uint32_t>(ceil_div(packed, selection.rows_per_workgroup)),
          .grid_y = static_cast<std::uint32_t>(md.requests().count()),
          .grid_z = static_cast<std::uint32_t>(md.shape.kv_splits),
          .threads = kThreads};
}

WorkList admitted_works(const Stage1Input& input) {
  const plan::Plan& plan = *input.launch.metadata.plan;
  WorkList list;
  for (std::size_t slot = 0; slot < input.admission.skip_slot.size(); ++slot) {
    const auto at = static_cast<std::int64_t>(slot);
    if (input.admission.skip_slot[slot] == 0)
      for (std::int64_t w = plan.work_indptr.at(at); w < plan.work_indptr.at(at + 1); ++w)
        if (is_admitted(input.admission, plan, w)) list.items.push_back(plan.work(w));
    list.indptr.push_back(static_cast<std::int32_t>(list.items.size()));
  }
  return list;
}

WorkList direct_works_as_partials(const WorkList& works) {
  WorkList list;
  for (std::size_t slot = 0; slot + 1 < works.indptr.size(); ++slot) {
    for (std::int32_t w = works.indptr[slot]; w < works.indptr[slot + 1]; ++w) {
      plan::WorkItem item = works.items[static_cast<std::size_t>(w)];
      if (item.partial_row >= 0) continue;
      item.partial_row = static_cast<std::int32_t>(list.partial_rows);
      list.partial_rows += item.q_end - item.q_begin;
      list.items.push_back(item);
    }
    list.indptr.push_back(static_cast<std::int32_t>(list.items.size()));
  }
  return list;
}

}  // namespace mla::hip::aiter
