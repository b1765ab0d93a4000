// Head counts and folded batches that planners have to refuse, or to plan right: P40's questions
// that no step of this project asks, and a caller of AITER may.
//
// Each function returns a sentence with the question where the planner answers it wrongly. Heads
// are those of the kernel. Private to P40.
#pragma once

#include <optional>
#include <string>

#include "properties/claims/support/support.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {

// Head counts that no kernel takes are planned, or 8 heads are planned elsewhere than for the
// kernels that take them (aiter.md 3.2, step 1).
std::optional<std::string> wrong_heads_planned(const Functions& functions);

// Folded heads of requests of unequal rows are planned, in whichever fidelity: the original reads
// past the end of qo_indptr.
std::optional<std::string> ragged_folded_planned(const Functions& functions, Random& random);

// Folded heads in several tiles get a plan that is not valid.
std::optional<std::string> folded_tiles_lose_keys(const Functions& functions, Random& random);

}  // namespace mla::prop
