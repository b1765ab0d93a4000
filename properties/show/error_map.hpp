// ErrorMap: how far a result is off, for every query row and head, and for the dims of one row.
//
// Units: multiples of the element's bound; up to 1 is right.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "properties/show/svg.hpp"

namespace mla::show {

inline constexpr float kNotJudged = -1;
inline constexpr float kUnwritten = std::numeric_limits<float>::infinity();  // or NaN, or infinite

struct ErrorMap {
  std::int64_t rows = 0;
  std::int64_t heads = 0;
  std::int64_t dims = 0;
  std::vector<float> pairs;  // [rows, heads], the worst of out and LSE
  std::int64_t worst_row = 0;
  std::int64_t worst_head = 0;
  std::vector<float> worst_dims;  // [heads, dims] of the worst row
};

// Rows downwards, heads to the right; then heads and dims of the worst row. Rows and dims that do
// not fit are drawn together by their worst element, and the picture says so.
std::vector<Picture> error_pictures(const ErrorMap& map, const std::string& whose);

}  // namespace mla::show
