// Prefill by AITER's machine code: with a plan over expanded heads, and without one over the latent
// cache.
//
// The kernel with a plan takes fp8 and heads of 192 by 128 elements, each head with keys of its own
// (aiter.md 5). The one without takes bf16 and shares the cache of decode; a row sees the keys up
// to its own, right-aligned, and nothing is split. The kernel with a plan returns no LSE for rows
// that it writes directly (BUG-072); where they are wanted, a second launch of the same works as
// partial ones asks it for theirs, so that every row can be judged by its LSE. Layouts as
// elsewhere: q [rows, heads, 576], cache rows [slot, 576], out [rows, heads, 512].
// Fails: no row of the manifest, no file, what the device says, damaged canaries.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hip_backend/aiter/installation.hpp"
#include "hip_backend/prefill/device_prefill.hpp"

namespace mla::hip::aiter {

// An error: the installation has no kernel with a plan for the architecture.
MaybeError supports_planned_prefill(Installation& installation, Arch arch);

// `input` has a plan and is of dtype fp8. The launches are AITER's, and the reduce this project's.
Result<PrefillOutput> prefill_with_plan(Device& device, Installation& installation,
                                        const PrefillInput& input);

struct LatentPrefillInput {
  std::span<const std::byte> q, cache;  // bf16
  Arch arch = Arch::gfx942;
  std::int64_t heads = 16;
  float softmax_scale = 1;
  std::span<const std::int32_t> qo_indptr;   // [requests + 1] rows
  std::span<const std::int32_t> kv_indptr;   // [requests + 1] entries of kv_indices
  std::span<const std::int32_t> kv_indices;  // rows of the cache
  std::span<float> lse{};  // [rows, heads], where the kernel wrote; empty: not wanted
};

// The output as bf16 bits; poison where it was not written.
Result<std::vector<std::uint16_t>> latent_prefill(Device& device, Installation& installation,
                                                  const LatentPrefillInput& input);

}  // namespace mla::hip::aiter
