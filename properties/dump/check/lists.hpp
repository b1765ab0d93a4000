// The lists and numbers of a batch, checked against each other: what has to hold before a reader
// follows them, whatever the plan.
//
// Violations are certain: an entry that no step can have. Notes are what a step may have and a
// reader should know, such as pages that two requests share: prefix caching does that, and a wrong
// block table too. Fails: a size that no call has.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "properties/dump/dump.hpp"

namespace mla::dump {

struct ListFindings {
  std::vector<std::string> violations;
  std::vector<std::string> notes;
};

// What is wrong with the running sum `key`: where it does not start at 0, and where it falls.
void check_indptr(const char* key, std::span<const std::int32_t> list,
                  std::vector<std::string>& out);

// Of a dump without page ids they are not looked at.
Result<ListFindings> check_lists(const PlannerCall& call, const Cache& cache);

}  // namespace mla::dump
