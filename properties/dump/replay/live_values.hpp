// The values that a captured step computes with: each one must be finite.
//
// NaN or infinity in Q makes its row NaN on every kernel, in a live key all rows of its request: a
// row that must not see the key gives it the weight 0, and 0 times infinity is NaN. No one can be
// blamed for these rows. Keys after a request's last one and other pages may hold anything.
#pragma once

#include <string>
#include <vector>

#include "properties/dump/replay/step.hpp"

namespace mla::dump {

struct ValueFindings {
  std::vector<std::string> sentences;  // "key 5 of request 0 holds NaN at element 17 ..."
  std::vector<bool> rows;              // of the batch: those that such a value may reach
  // Found in keys alone, and there only from some key of a request's last page to its end.
  bool at_ends = true;
  [[nodiscard]] std::int64_t affected() const;
};

ValueFindings check_live_values(const CapturedStep& step);

}  // namespace mla::dump
