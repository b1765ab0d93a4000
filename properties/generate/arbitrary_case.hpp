// Cases as RapidCheck's users know them: rc::Arbitrary<mla::Case>.
//
//   rc::check("...", [](const mla::Case& c) { ... });
//   rc::check("...", [] { const auto c = *mla::prop::arbitrary_case(Regime::tiles); ... });
//
// The judge draws from the same generators. Every case is canonical: format and parse give it back.
// Whether a kernel takes it is for resolve_shape() to say. A failing one shrinks field by field and
// is printed as its line. Cases depend on the random number and the size alone.
#pragma once

#include <rapidcheck/Gen.h>
#include <rapidcheck/Shrinkable.h>
#include <rapidcheck/gen/Arbitrary.h>

#include <iosfwd>

#include "core/case/case.hpp"
#include "properties/generate/regimes.hpp"

namespace mla {

void showValue(const Case& c, std::ostream& out);  // found by RapidCheck when it prints a case

}  // namespace mla

namespace mla::prop {

// The cases of a regime. RapidCheck's size limits the cost of the small ones.
rc::Gen<Case> arbitrary_case(Regime regime = Regime::boundary);

rc::Shrinkable<Case> shrinkable_case(Case c);

// The random case with this number in a run of a seed: of arbitrary_case() of the regime whose turn
// it is, with a size that grows from 0 to 100 and starts again. Without `production`, all cases are
// small: of the regimes boundary and tiles.
Case nth_case(std::uint64_t seed, std::int64_t number, bool production);

}  // namespace mla::prop

namespace rc {

template <>
struct Arbitrary<mla::Case> {
  static Gen<mla::Case> arbitrary() { return mla::prop::arbitrary_case(); }
};

}  // namespace rc
