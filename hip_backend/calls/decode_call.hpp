// One stage 1 of a decode, or one reduce, by this project's kernels on the caller's own memory.
//
// No step of a case: rows and heads are the kernel's, nothing is undone afterwards, and what no
// work writes keeps what it holds. The lists are not checked here: the caller has done so (the
// CPU backend's tasks and merges). Outputs are copied to the device and back. Units as in
// kernels/arguments.hpp.
// Fails: what the device says, damaged canaries, an architecture without code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/arch.hpp"
#include "core/result.hpp"
#include "hip_backend/device/device.hpp"

namespace mla::hip {

struct DecodeCall {
  Arch arch = Arch::gfx942;
  DtypePair dtype;
  std::span<const std::byte> q;      // [rows, heads, 576]
  std::span<const std::byte> cache;  // [slots, 576], dense
  std::span<const std::int32_t> qo_indptr, kv_indptr, kv_indices, last_page_len;
  std::span<const std::int32_t> work_indptr, work_info;  // empty: `splits` splits of each request
  std::int64_t heads = 16;                               // of a kernel row
  std::int64_t fold = 1;                                 // kernel rows for each query row
  std::int64_t max_qo_len = 1;                           // rows of a request, not folded
  std::int64_t page_size = 1;
  std::int64_t splits = 1;
  std::int64_t granularity = 1;   // tokens of a split's tile
  std::int64_t longest_work = 1;  // kernel rows
  bool masks = true;
  float score_scale = 1;  // of softmax, query and cache together
  float out_scale = 1;    // of the cache
  std::span<std::uint16_t> out;
  std::span<float> lse;  // one for each row and head of `out`
  std::span<float> partial_out, partial_lse;
};
MaybeError run_decode_call(Device& device, const DecodeCall& call);

struct MergeCall {
  Arch arch = Arch::gfx942;
  std::span<const std::int32_t> reduce_indptr, reduce_final_map, reduce_partial_map;
  std::span<const float> partial_out, partial_lse;
  std::int64_t heads = 16;
  std::int64_t dims = 512;
  std::span<std::uint16_t> out;  // [rows, heads, dims] bf16, dense
  std::span<float> lse;          // [rows, heads]
};
MaybeError run_merge_call(Device& device, const MergeCall& call);

}  // namespace mla::hip
