// Cases as RapidCheck sees them: a generator, and a case with the tree of its simpler cases.
//
// Cases depend on their seed and number alone, so several threads may draw them. Private to
// properties and tests: it includes RapidCheck.
#pragma once

#include <rapidcheck/Shrinkable.h>

#include <iosfwd>

#include "core/case/case.hpp"

namespace mla {

void showValue(const Case& c, std::ostream& out);  // found by RapidCheck when it prints a case

}  // namespace mla

namespace mla::prop {

rc::Shrinkable<Case> shrinkable_case(Case c);

// The random case with this number in a run of a seed. RapidCheck's size grows from 0 to 100 and
// starts again. Without `production`, all cases are small: of the regimes boundary and tiles.
Case nth_case(std::uint64_t seed, std::int64_t number, bool production);

}  // namespace mla::prop
