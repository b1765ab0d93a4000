// AITER_MLA_DECODE_PERSISTENT_MAX_BATCH: from this batch size on, one bf16 row of 16 heads on
// gfx950 runs without a plan unless the caller names a split count. Source: aiter.md 4.
#pragma once

#include <cstdint>

#include "core/arch.hpp"
#include "core/units.hpp"

namespace mla {

inline constexpr std::int64_t kPersistentMaxBatch = 32;  // requests

constexpr bool runs_without_plan(Arch arch, DtypePair dtype, Heads heads, std::int64_t max_qo_len,
                                 std::int64_t requests) {
  return arch == Arch::gfx950 && dtype.both(Dtype::bf16) && heads == Heads(16) && max_qo_len == 1 &&
         requests >= kPersistentMaxBatch;
}

}  // namespace mla
