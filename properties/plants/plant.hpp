// Plant: a known defect, put back on purpose, and the property that has to catch it.
//
// The judge is worth what it catches: a property without a plant that makes it fail proves nothing.
// A plant changes values between stages through an Interposer; nothing of it is in the core.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "properties/step/subject.hpp"

namespace mla::prop {

struct Plant {
  std::string_view id;  // "BUG-021", or "SEED-qo-arange" for a state before one of the reports
  std::string_view property;   // the id of the property that must fail
  std::string_view what;       // the defect in one sentence
  std::string_view case_line;  // the smallest case known to show it
  std::unique_ptr<Interposer> (*make)();
  bool imitated = false;  // edits what a launch returned, because no hook reaches the mechanism
  bool widths = false;    // shows in rows of other widths than 512 + 64 alone
};

std::span<const Plant> all_plants();
const Plant* find_plant(std::string_view id);

}  // namespace mla::prop
