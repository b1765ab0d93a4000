// Runs of the same steps on a device, compared: for P19, P20 and P30.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/step/engine/sequence.hpp"

namespace mla::prop {

// The engine's bound on KV lengths; the same for every run of a claim, because it decides splits.
std::int64_t kv_bound(const std::vector<Case>& steps);

// The first difference between two runs of the same steps, in the bits.
std::optional<std::string> difference(const std::vector<StepRun>& a, const std::vector<StepRun>& b);

}  // namespace mla::prop
