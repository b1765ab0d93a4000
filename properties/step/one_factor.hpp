// Whether one factor explains why a result is wrong: a scale that was left out, or applied twice.
//
// Private to properties/step.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cpu_backend/decode/reference.hpp"

namespace mla::prop {

// The f for which every element of these (row, head) pairs of `out`, bf16 with `dims` for a pair,
// is f times the reference, within |f| times its bound and the rounding to bf16. None for 1, and
// where an element is not finite.
std::optional<double> one_factor(std::span<const std::uint16_t> out,
                                 const cpu::ReferenceResult& reference, std::int64_t dims,
                                 std::span<const std::int64_t> pairs);

}  // namespace mla::prop
