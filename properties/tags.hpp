// Tags: kinds of cases that every large run must contain, or it has proven little.
//
// The defects of the corpus sit in these corners, and production runs these shapes. A run of enough
// random cases with fewer of a kind than its quota is inconclusive: its generator has lost the
// corner. Fails: never.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/case/case.hpp"

namespace mla::prop {

struct Tag {
  std::string_view name;
  bool (*holds)(const Case&);
  // One in so many cases that were not refused has the tag.
  std::int64_t one_in = 100;
  // Only of runs that draw production shapes (RunOptions::production).
  bool production = false;
};

std::span<const Tag> all_tags();

// Random cases from which on the share of a tag says something.
inline constexpr std::int64_t kQuotaCases = 500;

}  // namespace mla::prop
