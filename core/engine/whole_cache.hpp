// AITER's kernels read page 0, whichever request owns it (docs/findings/aiter.md, AITER-11).
#pragma once

#include <cstdint>

namespace mla {

// Backend aiter allocates a cache that ends below this many bytes from page 0 on, with zeros in
// front of it, and a larger one without what it does not own.
inline constexpr std::int64_t kWholeCacheBytes = std::int64_t{256} << 20U;

}  // namespace mla
