#include "properties/generate/rc_cases.hpp"

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

Case nth_case(std::uint64_t seed, std::int64_t number, bool production) {
  rc::Random random(mix(seed, static_cast<std::uint64_t>(number)));
  return random_case(random.next(), static_cast<int>(number % 101), regime_of(number, production));
}

rc::Shrinkable<Case> shrinkable_case(Case c) {
  return rc::shrinkable::shrinkRecur(std::move(c), [](const Case& parent) {
    return rc::seq::fromContainer(simpler_cases(parent));
  });
}

}  // namespace mla::prop
