// The lists and numbers of a batch, checked against each other: what has to hold before a reader
// follows them, whatever the plan.
//
// Violations are certain: an entry that no step can have. Notes are what a step may have and a
// reader should know, such as pages that two requests share: prefix caching does that, and a wrong
// block table too. Fails: a list that holds no integers, or a size below 1.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "properties/capture/planner_call.hpp"

namespace mla::cli {

struct ListFindings {
  std::vector<std::string> violations;
  std::vector<std::string> notes;
};

// What is wrong with the running sum `key`: where it does not start at 0, and where it falls.
void check_indptr(const char* key, const std::vector<std::int32_t>& list,
                  std::vector<std::string>& out);

// Of a document without `kv_indices` the page ids are not looked at. `num_pages` is the size of the
// cache, `prefix_caching` says whether requests may share pages; both may be absent.
Result<ListFindings> check_lists(const PlannerCall& call, const nlohmann::json& object);

}  // namespace mla::cli
