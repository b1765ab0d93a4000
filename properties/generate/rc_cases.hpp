// Cases as RapidCheck sees them: a generator, and a case with the tree of its simpler cases.
//
// The generator uses nothing but the random number it is given, so it may be used by several
// threads. Private to properties and tests: it includes RapidCheck. Fails: never.
#pragma once

#include <rapidcheck/Gen.h>
#include <rapidcheck/Random.h>

#include <iosfwd>

#include "core/case/case.hpp"

namespace mla {

void showValue(const Case& c, std::ostream& out);  // found by RapidCheck when it prints a case

}  // namespace mla

namespace mla::prop {

rc::Gen<Case> case_generator();

rc::Shrinkable<Case> shrinkable_case(Case c);

}  // namespace mla::prop
