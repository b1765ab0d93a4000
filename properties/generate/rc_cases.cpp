#include "properties/generate/rc_cases.hpp"

#include <rapidcheck.h>

#include <ostream>
#include <utility>

#include "properties/generate/cases.hpp"
#include "properties/generate/shrink.hpp"

namespace mla {

void showValue(const Case& c, std::ostream& out) {
  out << format_case(c);
}

}  // namespace mla

namespace mla::prop {

rc::Gen<Case> case_generator() {
  return {[](const rc::Random& random, int size) {
    rc::Random source = random;
    return shrinkable_case(random_case(source.next(), size));
  }};
}

rc::Shrinkable<Case> shrinkable_case(Case c) {
  return rc::shrinkable::shrinkRecur(std::move(c), [](const Case& parent) {
    return rc::seq::fromContainer(simpler_cases(parent));
  });
}

}  // namespace mla::prop
