// FNV-1a over bytes, 64 bits: names a file, a code object or a case line. No protection against
// anybody who wants two inputs with one sum.
//
// Source: Fowler, Noll, Vo; offset basis and prime of the 64-bit variant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace mla::io {

constexpr std::uint64_t fnv1a64(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const std::byte b : bytes) hash = (hash ^ static_cast<std::uint64_t>(b)) * 0x100000001B3U;
  return hash;
}

// Sixteen hexadecimal digits.
inline std::string hex64(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t i = text.size(); i-- > 0; value >>= 4U)
    text[i] = "0123456789abcdef"[value & 15U];
  return text;
}

}  // namespace mla::io
