// Comparison of FA results: with the reference and its bounds, and of two runs bit for bit.
//
// As properties/step/compare.hpp does for decode steps: an element that was never written or is NaN
// fails whatever the bound, every element has to be within its bound, and a fault that a kernel
// reported fails. Units: rows of the ordered batch, query heads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/step/fa/run.hpp"
#include "properties/step/verdict.hpp"

namespace mla::prop {

// Of the first step that is wrong: as compare_elements() says it.
Outcome compare(const std::vector<FaStepRun>& steps);

// The first difference in the bits of the output; nothing if the results are equal.
std::optional<std::string> difference(const FaStepRun& a, const FaStepRun& b);

// "decode", "extend" or "prefill": the run that request `request` of a step stands in.
std::string run_name(const FaStepRun& step, std::int64_t request);

}  // namespace mla::prop
