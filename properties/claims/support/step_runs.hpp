// Runs of the same steps on a device, compared: for P19, P20, P21 and P30.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/step/decode/sequence.hpp"
#include "properties/step/subject.hpp"

namespace mla::prop {

// The engine's bound on KV lengths; the same for every run of a claim, because it decides splits.
std::int64_t kv_bound(const std::vector<Case>& steps);

// Step after step, on the subject's tensors and up to its limits.
SequenceOptions eager_on(const Subject& subject, std::int64_t max_kv_len);

// The first difference between two runs of the same steps, in the bits.
std::optional<std::string> difference(const std::vector<StepRun>& a, const std::vector<StepRun>& b);

}  // namespace mla::prop
