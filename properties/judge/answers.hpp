// Answers: what was found about the cases of a run, so that a run can be split and continued.
//
// A run numbers its cases, given ones first; the case of a number depends on seed and files alone.
// A shard judges every n-th of them. Answers of shards, or of the first part of a run, replace
// judging: the report is then that of one whole run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "properties/judge/judge.hpp"

namespace mla::prop {

// Every `count`-th case from number `index` on.
struct Shard {
  std::int64_t index = 0;  // below count
  std::int64_t count = 1;
  [[nodiscard]] bool has(std::int64_t number) const { return number % count == index; }
  // How many of the first `cases` it has.
  [[nodiscard]] std::int64_t of(std::int64_t cases) const {
    return cases > index ? (cases - index - 1) / count + 1 : 0;
  }
  bool operator==(const Shard&) const = default;
};

struct CaseAnswer {
  std::vector<std::size_t> asked;  // properties, by their place in the run
  Judgement judgement;             // of these
  std::string too_large;           // why it was not judged for want of memory; empty: it was
};

// By the number of the case.
using Answers = std::map<std::int64_t, CaseAnswer>;

}  // namespace mla::prop
