// Predicted times over requests and keys, as a picture.
//
// A line for each number of requests; keys to the right and times upwards, both by factors. Times
// are microseconds, predicted; a point whose shape was not fitted is drawn hollow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/show/svg.hpp"

namespace mla::show {

struct TimePoint {
  std::int64_t requests = 0;
  std::int64_t keys = 0;  // of each
  double us = 0;
  double low_us = 0;
  double high_us = 0;
  bool fitted = false;
};

// In any order. Fails: without points the picture says so.
Picture time_picture(const std::vector<TimePoint>& points);
// The picture alone, as a file; `title` is foreign text.
std::string time_svg(const std::string& title, const Picture& picture);

}  // namespace mla::show
