// The packed cache: fp8 latents with a scale for each quarter of them, and rope as bf16.
//
// Scales are powers of two, so that every packed latent is a bf16 number as well: the dense
// reference of a bf16 cache is that of the packed one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/arch.hpp"
#include "core/engine/backend.hpp"

namespace mla::hip::aiter::test {

// Slots of a bf16 cache that no request owns hold NaN; from here on they hold 0.
void clear_nan(KvCache& cache);

// Packs a bf16 cache as AiterOptions::packed_cache has it, and leaves in it the values that were
// packed. Pages before its first slot are zero. Its slots are whole pages of `page_size` tokens.
std::vector<std::byte> pack_cache(KvCache& cache, std::int64_t page_size, Fp8Variant variant);

}  // namespace mla::hip::aiter::test
