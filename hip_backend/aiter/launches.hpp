// The launches of one decode step: kernargs and grids, from addresses and shape alone.
//
// Private to the adapter. Sources: asm_mla.cu and aiter/mla.py of the snapshot (aiter.md 4, 6).
#pragma once

#include <cstdint>
#include <vector>

#include "hip_backend/aiter/kernargs.hpp"
#include "hip_backend/aiter/selection.hpp"
#include "hip_backend/decode/stage1.hpp"

namespace mla::hip::aiter {

inline constexpr std::uint32_t kThreads = 256;  // of every decode kernel

// Where page 0 of the cache lies: below what is backed when the cache is a window of a larger one.
Address page_zero(const Stage1Input& input);

// Everything but the four outputs and the work list.
DecodeKernargs common_kernargs(const Selection& selection, const Stage1Input& input,
                               Address q_scale, Address kv_scale);

LaunchSize grid_of(const Selection& selection, const Stage1Input& input);

// The works of a plan by slot, as the kernels read them.
struct WorkList {
  std::vector<std::int32_t> indptr = {0};  // [slots + 1]
  std::vector<plan::WorkItem> items;
  std::int64_t partial_rows = 0;  // of direct_works()
};
// Those that admission lets through.
WorkList admitted_works(const Stage1Input& input);
// Of these the ones that write the output, each with partial rows of its own instead.
WorkList direct_works_as_partials(const WorkList& works);

}  // namespace mla::hip::aiter
