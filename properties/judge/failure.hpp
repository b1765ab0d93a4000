// Failure: a defect that a run found, and how it is printed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/case/case.hpp"
#include "properties/step/property.hpp"

namespace mla::prop {

struct Failing {
  const Property* property = nullptr;
  Outcome outcome;
};

// One defect: what it breaks, and a smallest case that shows it (defects.hpp).
struct Failure {
  const Property* property = nullptr;  // that the case was shrunk for
  Case smallest;                       // after shrinking
  Case original;                       // as drawn
  Outcome outcome;                     // of the smallest case
  std::vector<Failing> also = {};      // other properties that fail on the smallest case
  std::uint64_t seed = 0;
  std::int64_t shrinks = 0;
  bool cut = false;  // shrinking was stopped before it was done
  std::string replay_options;
  [[nodiscard]] bool concerns(const Property& p) const;
};

// `FAIL P05,P08 <case>`, the sentence, REPRO, seed, details. Ends with a newline.
std::string failure_block(const Failure& failure);
// `P05,P08`: the property that the case was shrunk for, then the others that fail on it.
std::string failing_ids(const Failure& failure);

}  // namespace mla::prop
