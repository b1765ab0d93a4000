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
};

// The range that holds [address, address + size), or null. `ranges` is sorted.
[[nodiscard]] const Range* find_range(std::span<const Range> ranges, std::uint64_t address,
                                      std::uint64_t size);

}  // namespace mla::gfx
