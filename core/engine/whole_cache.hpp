// AITER's kernels read page 0, whichever request owns it (docs/findings/aiter.md, AITER-11).
#pragma once

#include <cstdint>

namespace mla {

// Backend aiter allocates a cache that ends below this many bytes from page 0 on, with zeros in
// front of it, and a larger one without what it does not own. 2^24 pages of a bf16 token fit: the
// emulator maps one chunk again and again, so what lies between costs address space alone.
inline constexpr std::int64_t kWholeCacheBytes = std::int64_t{20} << 30U;

}  // namespace mla
