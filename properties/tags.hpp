// Tags: kinds of cases that every large run must contain, or it has proven little.
//
// The defects of the corpus sit in these corners. A run of enough random cases with fewer than one
// in a hundred of a kind is inconclusive: its generator has lost the corner. Fails: never.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/case/case.hpp"

namespace mla::prop {

struct Tag {
  std::string_view name;
  bool (*holds)(const Case&);
};

std::span<const Tag> all_tags();

// Random cases from which on the share of a tag says something.
inline constexpr std::int64_t kQuotaCases = 500;
// One in so many cases that were not refused has each tag.
inline constexpr std::int64_t kQuotaOneIn = 100;

}  // namespace mla::prop
