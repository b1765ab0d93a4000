// Steps of P41 that a planner must take, or whose plan is known: those of several tiles, without a
// key for some requests, and of one row each.
//
// Each function returns a sentence with the step where the planner does otherwise. Private to P41.
#pragma once

#include <optional>
#include <string>

#include "properties/claims/support/support.hpp"
#include "properties/step/subject.hpp"

namespace mla::prop {

// A step whose rows are several tiles for the kernel is declined by a planner that cuts them alike.
std::optional<std::string> several_tiles_declined(const Subject& subject, Random& random);

// The plan of AITER's serial planner for a batch with keyless requests, whose empty works all end
// their slot, is not valid. Every kernel takes it (aiter.md 6).
std::optional<std::string> trailing_works_named(const Subject& subject);

// Requests of one row each, which the serial planner is not told of, get another plan than those it
// is told of, although it folds and cuts them alike.
std::optional<std::string> untold_single_rows_differ(const Subject& subject,
                                                     const DecodeMetadata& metadata);

}  // namespace mla::prop
