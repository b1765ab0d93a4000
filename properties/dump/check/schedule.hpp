// The lists of a batch against what the engine's scheduler says of the step.
//
// The lists of a builder may agree with each other, and the output with them, and still be those of
// other requests: exchanged pages, a row too few. Only the scheduler's block table and lengths
// tell.
#pragma once

#include "properties/dump/check/lists.hpp"

namespace mla::dump {

// Of sound lists. `pages`: the page ids, of the dump or of its launch; none: they are not compared.
// Not for the lists of a rank, which has a part of the keys: that is a note.
ListFindings check_schedule(const Schedule& schedule, const PlannerCall& call, const Words* pages);

}  // namespace mla::dump
