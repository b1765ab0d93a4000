// AiterOptions: how AITER's stage 1 is run, where it is not as the original would.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/engine/backend.hpp"
#include "hip_backend/aiter/manifest.hpp"

namespace mla::hip::aiter {

struct AiterOptions {
  // Run this row of the manifest instead of the one that AITER would select.
  std::optional<ManifestRow> row;
  // Keys dealt out to ranks in turns (aiter.md 6): local key j is key j * ranks + rank of the
  // sequence, whose running lengths are given for every request. Empty: not dealt out.
  std::vector<std::int32_t> global_kv_indptr;
  std::uint32_t ranks = 1;
  std::uint32_t rank = 0;
  // What a row of element type `bytes` reads instead of the launch's cache, from page 0 on. A page
  // holds its tokens' latents as fp8, then their scales as f32, each of a quarter of the latents,
  // then their rope as bf16 (aiter.md 6). Empty: the launch's cache.
  std::vector<std::byte> packed_cache;
  // The kernels run the works of a plan as they are, on a device that guards its memory only. The
  // LSE of rows that a kernel writes directly and returns no LSE for stays open.
  bool as_planned = false;
  // Rows that the kernels do not have built in are run as AITER runs them, on a device that guards
  // its memory: what is read past the end of an input is a fault. Values are 512 elements.
  bool any_width = false;
};
inline constexpr std::int64_t kPackedScales = 4;  // of a token
inline constexpr std::int64_t kPackedTokenBytes =
    kBuiltIn.latent().count() + kPackedScales * 4 + kBuiltIn.rope().count() * 2;

}  // namespace mla::hip::aiter
