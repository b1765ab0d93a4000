// P39 for prefill, on plans that AITER's own host planner made.
//
// Steps of the random run have one head a work, pages of one token and no limit of pieces. The
// recorded calls (aiter_answers.hpp) have several heads a work, pages of 16 tokens, chunked
// contexts and long requests, so that every rule of ps_check has something to say. Private to
// properties.
#pragma once

#include <optional>
#include <string>

#include "properties/claims/support/support.hpp"

namespace mla::prop {

// Of two recorded calls, one of them with several heads a work: that ps_check takes the plan, in
// each legal form, and finds every damage. Otherwise a sentence that names the call.
std::optional<std::string> recorded_prefill_misjudged(Random& random);

}  // namespace mla::prop
