// Elements of the lists that planners read and write: 32 bits there, 64 in arithmetic.
//
// Private to core/plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mla::plan {

inline std::int64_t at(std::span<const std::int32_t> list, std::int64_t i) {
  return list[static_cast<std::size_t>(i)];
}

inline std::int32_t word(std::int64_t value) {
  return static_cast<std::int32_t>(value);
}

}  // namespace mla::plan
