// P41, beyond the planners of a case: steps that a planner has to take, and steps that it may
// refuse but not plan wrongly.
//
// The planners are asked with and without the longest request. Nothing is executed. Private to
// properties.
#pragma once

#include <optional>
#include <string>

#include "properties/claims/support/support.hpp"

namespace mla::prop {

// Whether a planner that is not told of the longest request has to plan all the same.
enum class Untold : std::uint8_t { planned, planned_or_refused };

// The plan for the lists of `metadata` by a planner that is told no max_seqlen_qo: the rule that it
// breaks, or why there is none where there has to be one.
std::optional<std::string> wrong_untold(const Subject& subject, const DecodeMetadata& metadata,
                                        Random& random, Untold expected);

// A step of this file that a planner declines or plans wrongly, as a sentence.
std::optional<std::string> plain_step_misplanned(const Subject& subject, Random& random);

}  // namespace mla::prop
