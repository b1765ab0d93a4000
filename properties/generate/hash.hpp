// A counter-based hash: the same 64 bits for the same numbers, on every machine.
//
// The finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
// 2014), a bijection of 64-bit words.
#pragma once

#include <cstdint>

namespace mla::prop {

inline constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15U;  // 2^64 / golden ratio, odd

constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

// A hash of two numbers, in this order. The first is mixed alone, so that (1, 0) is not (0, 1).
constexpr std::uint64_t mix(std::uint64_t first, std::uint64_t second) {
  return mix(mix(first + kGolden) ^ second);
}

}  // namespace mla::prop
