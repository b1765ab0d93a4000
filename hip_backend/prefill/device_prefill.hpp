// Prefill attention on a device: the persistent kernel with its plan and reduce, and varlen flash
// attention.
//
// Heads of Q and K have 192 elements, those of V and the output 128; each head of Q has its own
// head of K and V. The contracts are those of the CPU backend's prefill kernels
// (docs/internals/prefill.md): normalised f32 partials, natural-log LSE, output 0 and LSE -inf for
// a row without a key. The lists are not checked here: a plan has passed the core's checks, or
// comes from its planner. Fails: what the device says, damaged canaries, an architecture without
// code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/engine/backend.hpp"
#include "core/plan/plan.hpp"
#include "core/result.hpp"
#include "hip_backend/device/device.hpp"

namespace mla::hip {

struct PrefillInput {
  std::span<const std::byte> q, k, v;  // [rows, heads, dim], all of `dtype`
  Dtype dtype = Dtype::bf16;
  Arch arch = Arch::gfx950;  // decides fp8 variant and roundings
  std::int64_t heads = 1;
  bool causal = true;
  float score_scale = 1;           // scales of softmax and operands together
  float v_scale = 1;               // read by AITER's kernel only
  LaunchTiming timing = {};        // of this project's kernels
  std::uint64_t drawn_timing = 0;  // what AITER's kernel runs under in place of timing.seed
  // AITER's kernel only, which returns no LSE of rows that a work writes directly: ask it again.
  bool direct_lse = false;
  std::span<const std::int32_t> qo_indptr;  // [requests + 1] rows
  std::span<const std::int32_t> kv_indptr;  // [requests + 1] entries of key_rows; flash: rows of K
  // The persistent kernel only.
  std::span<const std::int32_t> key_rows;  // row of K and V of each entry
  const plan::Plan* plan = nullptr;        // null: flash attention
  std::int64_t partial_rows = 0;
};

struct PrefillOutput {
  std::vector<std::uint16_t> out;  // [rows, heads, 128]; poison where it was not written
  std::vector<float> lse;          // [rows, heads]
  std::vector<float> partial_out;  // [partial rows, heads, 128]
  std::vector<float> partial_lse;
  Launches launches;  // of this project's kernels
};

Result<PrefillOutput> prefill_on_device(Device& device, const PrefillInput& input);

// The persistent form with a foreign attention kernel over the same buffers; the reduce stays
// this project's.
class KernelLaunch;
struct PrefillArguments;
using PrefillAttention =
    std::function<MaybeError(KernelLaunch& launch, const PrefillArguments& buffers)>;
Result<PrefillOutput> prefill_on_device(Device& device, const PrefillInput& input,
                                        const PrefillAttention& attention);

}  // namespace mla::hip
