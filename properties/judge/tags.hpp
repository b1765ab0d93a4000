// Tags: kinds of cases that every large run must contain, or it has proven little.
//
// The defects of the corpus sit in these corners, and production runs these shapes. A run of enough
// random cases with fewer of a kind than its quota is inconclusive: its generator has lost the
// corner. A run needs the tags of those kinds of steps only that its properties, backend and
// architecture have.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "properties/judge/run_options.hpp"
#include "properties/step/property.hpp"

namespace mla::prop {

struct Tag {
  std::string_view name;
  bool (*holds)(const Case&);
  StepKinds kinds;  // whose random cases, taken alone, have the tag often enough
  // One in so many cases that were not refused has the tag.
  std::int64_t one_in = 100;
  // Only of runs that draw production shapes (RunOptions::production).
  bool production = false;
  std::optional<Arch> only_on = {};
};

std::span<const Tag> all_tags();
// Whether a run that judges steps of these kinds needs the tag.
bool is_owed(const Tag& tag, StepKinds judged, const RunOptions& options);

// Random cases from which on the share of a tag says something.
inline constexpr std::int64_t kQuotaCases = 500;

}  // namespace mla::prop
