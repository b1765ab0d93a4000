// Owns: named ranges of device memory with their rights. Device addresses are host addresses.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace mla::gfx {

enum class Rights : std::uint8_t { read, read_write };

struct Range {
  std::uint64_t base = 0;
  std::uint64_t size = 0;
  Rights rights = Rights::read_write;
  std::string name;
  bool fresh = false;  // dwords that nothing was written to hold the fresh_word() of their place
};

// Of a place in a fresh range, in bytes from its begin: no other nearby is the same. They repeat
// themselves after fresh_period bytes.
inline constexpr std::uint64_t fresh_period = std::uint64_t{2} << 20;
[[nodiscard]] constexpr std::uint32_t fresh_word(std::uint64_t place) {
  const std::uint64_t mixed = (place % fresh_period / 4 + 1) * 0x9e3779b97f4a7c15U;
  return static_cast<std::uint32_t>((mixed ^ mixed >> 29U) * 0xbf58476d1ce4e5b9U >> 32U);
}

// The range that holds [address, address + size), or null. `ranges` is sorted.
[[nodiscard]] const Range* find_range(std::span<const Range> ranges, std::uint64_t address,
                                      std::uint64_t size);

}  // namespace mla::gfx
