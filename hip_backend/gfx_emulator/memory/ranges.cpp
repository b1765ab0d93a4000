#include "hip_backend/gfx_emulator/memory/ranges.hpp"

#include <algorithm>

namespace mla::gfx {

const Range* find_range(std::span<const Range> ranges, std::uint64_t address, std::uint64_t size) {
  auto next =
      std::upper_bound(ranges.begin(), ranges.end(), address,
                       [](std::uint64_t at, const Range& range) { return at < range.base; });
  if (next == ranges.begin()) return nullptr;
  const Range& range = *--next;
  const std::uint64_t offset = address - range.base;
  return offset <= range.size && size <= range.size - offset ? &range : nullptr;
}

}  // namespace mla::gfx
