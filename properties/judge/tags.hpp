// Tags: kinds of cases that every large run must contain, or it has proven little.
//
// The defects of the corpus sit in these corners, and production runs these shapes. A run of enough
// random cases with fewer of a kind than its quota is inconclusive: its generator has lost the
// corner. A run whose properties or backend look at some kinds of steps only owes the tags of
// those.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/case/case.hpp"

namespace mla::prop {

// Of decode, prefill and FA, in the order of StepKind.
using StepKinds = std::array<bool, 3>;

struct Tag {
  std::string_view name;
  bool (*holds)(const Case&);
  StepKinds kinds;  // whose random cases, taken alone, have the tag often enough
  // One in so many cases that were not refused has the tag.
  std::int64_t one_in = 100;
  // Only of runs that draw production shapes (RunOptions::production).
  bool production = false;
};

std::span<const Tag> all_tags();
// Whether a run that judges steps of these kinds owes the tag. `production` as in RunOptions.
bool is_owed(const Tag& tag, StepKinds judged, bool production);

// Random cases from which on the share of a tag says something.
inline constexpr std::int64_t kQuotaCases = 500;

}  // namespace mla::prop
