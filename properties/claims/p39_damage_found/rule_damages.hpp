// Damages of a plan that break one rule of plan_check each, and changes that break none.
//
// P39 launches its damages, and most of those break several rules; these are judged by plan_check
// alone, so that no rule rests on another one. Private to P39. Fails: never; a plan that has no
// place for a damage is not damaged by it.
#pragma once

#include <optional>
#include <string>

#include "core/engine/decode_metadata.hpp"

namespace mla::prop {

// The first damage, from work `from` of the plan on, whose rule plan_check does not name, or the
// first legal change that it takes for broken. Nothing if there is none, or if the plan of the step
// is not valid as it is.
std::optional<std::string> rule_overlooked(const DecodeMetadata& metadata, std::int64_t from);

}  // namespace mla::prop
