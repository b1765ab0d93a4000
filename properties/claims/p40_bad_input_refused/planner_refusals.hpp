// P40, beyond a list of damages: for which reason a decode planner refuses a call, what it must not
// refuse, and what AITER's own planner cannot plan either.
//
// Private to properties.
#pragma once

#include <optional>
#include <string>

#include "properties/claims/support/support.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {

// `question` is one that is planned. What is refused for a wrong reason, or wrongly taken or
// refused, as a sentence.
std::optional<std::string> refusal_misjudged(const Functions& functions,
                                             const PlanQuestion& question,
                                             const plan::BufferSizes& sizes, Random& random);

}  // namespace mla::prop
