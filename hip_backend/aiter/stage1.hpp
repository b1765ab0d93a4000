// Stage 1 of a decode run by AITER's own machine code.
//
// What the original's wrapper does around its launch: kernargs, grid, the split list, and the
// buffers that it allocates itself. Two things it does not do: works that admission keeps out are
// taken out of the work list, since these kernels know no list of skipped works; and where a kernel
// returns no LSE for rows that it writes directly, a second launch of the same works as partial
// ones asks it for theirs, so that every row can be judged by its LSE.
// Fails: no kernel for the shape (with the reason), no file, what the device says; without a plan
// nothing can be left out, so there a fault of admission is a refusal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "hip_backend/aiter/installation.hpp"
#include "hip_backend/aiter/selection.hpp"
#include "hip_backend/decode/stage1.hpp"

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
};
inline constexpr std::int64_t kPackedScales = 4;  // of a token
inline constexpr std::int64_t kPackedTokenBytes = kLatentDim + kPackedScales * 4 + kRopeDim * 2;

// The kernel for a shape, as the original selects it.
Result<Selection> select_for(const Installation& installation, const ResolvedShape& shape,
                             const AiterOptions& options);

std::unique_ptr<Stage1Maker> make_aiter_stage1(std::shared_ptr<Installation> installation,
                                               AiterOptions options);

}  // namespace mla::hip::aiter
