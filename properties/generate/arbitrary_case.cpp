#include "properties/generate/arbitrary_case.hpp"

#include <rapidcheck.h>

#include <ostream>
#include <utility>

#include "properties/generate/cases.hpp"
#include "properties/generate/hash.hpp"
#include "properties/generate/shrink.hpp"

namespace mla {

void showValue(const Case& c, std::ostream& out) {
  out << format_case(c);
}

}  // namespace mla

namespace mla::prop {

rc::Gen<Case> arbitrary_case(Regime regime) {
  return rc::Gen<Case>([regime](const rc::Random& random, int size) {
    return shrinkable_case(random_case(rc::Random(random).next(), size, regime));
  });
}

Case nth_case(std::uint64_t seed, std::int64_t number, bool production) {
  const rc::Random random(mix(seed, static_cast<std::uint64_t>(number)));
  const rc::Gen<Case> cases = arbitrary_case(regime_of(number, production));
  return cases(random, static_cast<int>(number % 101)).value();
}

rc::Shrinkable<Case> shrinkable_case(Case c) {
  return rc::shrinkable::shrinkRecur(std::move(c), [](const Case& parent) {
    return rc::seq::fromContainer(simpler_cases(parent));
  });
}

}  // namespace mla::prop
