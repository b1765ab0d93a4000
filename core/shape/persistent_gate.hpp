// AITER_MLA_DECODE_PERSISTENT_MAX_BATCH: from this batch size on, one bf16 row of 16 heads on
// gfx950 runs without a plan unless the caller names a split count. Source: aiter.md 4.
#pragma once

#include <cstdint>

namespace mla {

inline constexpr std::int64_t kPersistentMaxBatch = 32;  // requests

}  // namespace mla
