// Step facts: what a launch decided, under the names that a condition of a ledger may use.
//
// A fact reads the launch as a backend gets it, shape and plan included, never the text of a case:
// if a property runs a case under other options, the facts are those of its launches. Lengths are
// tokens, `page` tokens, `heads` and `rows` those of a row and a request of the kernel.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/backend.hpp"

namespace mla::prop {

struct Fact {
  std::string_view name;
  std::string_view meaning;
  // A word, one of these; empty: a number, or with `truth` false or true as 0 and 1.
  std::vector<std::string_view> words;
  bool truth = false;
  std::string (*word)(const DecodeLaunch&) = nullptr;
  std::int64_t (*number)(const DecodeLaunch&) = nullptr;
};

std::span<const Fact> all_facts();
const Fact* find_fact(std::string_view name);  // nullptr for any other name

// The query rows of the launch that see no key, though their request has some: it has fewer than
// rows. Not those of requests without keys, which are DecodeMetadata::keyless_rows.
std::vector<RowRange> rows_without_keys(const DecodeMetadata& metadata);

// A fact is one of these words, or lies in one of these ranges, ends included.
struct Condition {
  struct Range {
    std::int64_t min = std::numeric_limits<std::int64_t>::min();
    std::int64_t max = std::numeric_limits<std::int64_t>::max();
  };
  const Fact* fact = nullptr;
  std::vector<std::string> words;
  std::vector<Range> ranges;
  [[nodiscard]] bool holds(const DecodeLaunch& launch) const;
};

}  // namespace mla::prop
