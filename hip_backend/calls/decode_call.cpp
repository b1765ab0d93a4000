#include "hip_backend/calls/decode_call.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "core/plan/plan.hpp"
#include "hip_backend/decode/decode_kernel.hpp"
#include "hip_backend/decode/rounding.hpp"
#include "hip_backend/device/kernel_launch.hpp"
#include "hip_backend/kernels/arguments.hpp"

namespace mla::hip {
namespace {

using Zeros = std::vector<unsigned char>;

Zeros zeros(std::int64_t count) {
  return Zeros(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)), 0);
}

void bring_lists(const DecodeCall& call, KernelLaunch& launch, DecodeArguments& a) {
  const std::byte* at = nullptr;
  launch.input("q", call.q, at);
  a.q = at;
  launch.input("the cache", call.cache, at);
  a.cache = at;
  launch.input("qo_indptr", call.qo_indptr, a.qo_indptr);
  launch.input("kv_indptr", call.kv_indptr, a.kv_indptr);
  launch.input("kv_indices", call.kv_indices, a.kv_indices);
  launch.input("last_page_len", call.last_page_len, a.last_page_len);
}

// Returns the workgroups along x.
std::int64_t bring_works(const DecodeCall& call, KernelLaunch& launch, DecodeArguments& a) {
  const bool planned = !call.work_indptr.empty();
  const std::int64_t slots =
      planned ? std::ssize(call.work_indptr) - 1 : (std::ssize(call.qo_indptr) - 1) * call.splits;
  const std::int64_t works = planned ? std::ssize(call.work_info) / plan::kWorkItemWords : slots;
  launch.input("skipped works", std::span<const unsigned char>(zeros(works)), a.skip);
  launch.input("skipped slots", std::span<const unsigned char>(zeros(slots)), a.skip_slot);
  a.splits = planned ? 0 : static_cast<int>(call.splits);
  if (!planned) return slots;
  const int* indptr = nullptr;
  const int* info = nullptr;
  launch.input("work_indptr", call.work_indptr, indptr);
  launch.input("work_info_set", call.work_info, info);
  const std::array<unsigned long long, 2> meta = {std::bit_cast<Address>(indptr),
                                                  std::bit_cast<Address>(info)};
  launch.input("work_meta_data", std::span<const unsigned long long>(meta), a.work_meta_data);
  return slots;
}

void set_numbers(const DecodeCall& call, DecodeArguments& a) {
  a.heads = static_cast<int>(call.heads);
  a.fold = static_cast<int>(call.fold);
  a.uniform_qo_len = static_cast<int>(call.max_qo_len);
  a.page_shift = std::countr_zero(static_cast<std::uint64_t>(call.page_size));
  a.masks = call.masks ? 1 : 0;
  a.granularity = static_cast<int>(call.granularity);
  a.rounding = rounding_number(stage1_rounding(call.arch));
  a.score_scale = call.score_scale * 1.44269504088896341F;  // log2(e)
  a.out_scale = call.out_scale;
  const bool fnuz = fp8_variant(call.arch) == Fp8Variant::e4m3fnuz;
  a.fp8_factor = fnuz ? 0x1p119F : 0x1p120F;
  a.fp8_nan = fnuz ? 0x80 : 0x7F;
}

}  // namespace

MaybeError run_decode_call(Device& device, const DecodeCall& call) {
  KernelLaunch launch(device);
  DecodeArguments a{};
  bring_lists(call, launch, a);
  const std::int64_t groups = bring_works(call, launch, a);
  set_numbers(call, a);
  launch.inout("the output", call.out, a.out);
  launch.inout("the LSE", call.lse, a.lse);
  launch.inout("the partial outputs", call.partial_out, a.partial_out);
  launch.inout("the partial LSE", call.partial_lse, a.partial_lse);
  if (groups == 0 || call.longest_work == 0) return std::nullopt;
  const DecodeKernel kernel =
      decode_kernel(device.properties(), call.dtype, call.longest_work * call.heads, groups);
  a.row_groups = kernel.row_groups;
  if (MaybeError bad = launch.run("decode", kernel.name.c_str(), kernel.size, a)) return bad;
  return launch.copy_back();
}

MaybeError run_merge_call(Device& device, const MergeCall& call) {
  constexpr std::int64_t kRowGroups = 8;
  KernelLaunch launch(device);
  ReduceArguments a{};
  const std::int64_t tiles = std::ssize(call.reduce_indptr) - 1;
  launch.input("reduce_indptr", call.reduce_indptr, a.reduce_indptr);
  launch.input("reduce_final_map", call.reduce_final_map, a.reduce_final_map);
  launch.input("reduce_partial_map", call.reduce_partial_map, a.reduce_partial_map);
  launch.input("skipped merges", std::span<const unsigned char>(zeros(tiles)), a.skip);
  launch.input("the partial outputs", call.partial_out, a.partial_out);
  launch.input("the partial LSE", call.partial_lse, a.partial_lse);
  launch.inout("the output", call.out, a.out);
  launch.inout("the LSE", call.lse, a.lse);
  a.heads = static_cast<int>(call.heads);
  a.dims = static_cast<int>(call.dims);
  a.rounding = rounding_number(reduce_rounding(call.arch));
  a.row_groups = static_cast<int>(kRowGroups);
  if (tiles <= 0) return std::nullopt;
  const LaunchSize size = {.grid_x = static_cast<std::uint32_t>(tiles),
                           .grid_y = static_cast<std::uint32_t>(kRowGroups),
                           .threads = 256};
  if (MaybeError bad = launch.run("reduce", "reduce", size, a)) return bad;
  return launch.copy_back();
}

}  // namespace mla::hip
