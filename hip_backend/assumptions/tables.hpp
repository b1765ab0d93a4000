// Private to the self-test: the two tables of assumptions, and lanes of words.
#pragma once

#include "hip_backend/assumptions/assumption.hpp"
#include "hip_backend/kernels/assumption_arguments.hpp"

namespace mla::hip {

constexpr std::size_t kLaneCount = 64;
constexpr std::size_t kLaneWords = kAssumptionWords;

inline std::uint32_t& word(LaneWords& words, std::size_t lane, std::size_t k) {
  return words[lane * kLaneWords + k];
}
inline std::uint32_t word(const LaneWords& words, std::size_t lane, std::size_t k) {
  return words[lane * kLaneWords + k];
}
inline LaneWords no_words() {
  return LaneWords(kLaneCount * kLaneWords);
}
// Every word of every lane different.
LaneWords scattered_words();

std::span<const Assumption> lane_assumptions();    // where elements go
std::span<const Assumption> number_assumptions();  // what becomes of values

}  // namespace mla::hip
