// Owns: numbers as messages and JSON have them.
#pragma once

#include <cstdint>
#include <string>

namespace mla {

// "0x3f8", without leading zeros.
inline std::string hex(std::uint64_t value) {
  std::string out;
  do out.insert(out.begin(), "0123456789abcdef"[value % 16]);
  while ((value /= 16) != 0);
  return "0x" + out;
}

}  // namespace mla
