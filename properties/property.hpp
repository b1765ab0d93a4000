// Property: a claim about every case, with an id, a sentence and a check.
//
// One text serves random runs, enumeration, replay and fuzzing: a property is a function of a
// subject. The list is fixed at compile time and ordered by id. Catalogue: docs/properties.md.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "properties/subject.hpp"
#include "properties/verdict.hpp"

namespace mla::prop {

struct Property {
  std::string_view id;        // "P05"
  std::string_view name;      // "plan_coverage"
  std::string_view sentence;  // what holds, in one sentence
  // Fails with a sentence that names values, or skips with the reason why the claim says nothing
  // here. Never throws. A case that a stage refuses is a skip, unless the claim is about refusing.
  Outcome (*check)(Subject& subject);
};

std::span<const Property> all_properties();
// One of these, or the canary P00 (canary.hpp); nullptr for any other id.
const Property* find_property(std::string_view id);

}  // namespace mla::prop
