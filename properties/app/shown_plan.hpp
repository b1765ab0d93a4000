// What is shown of plans: of a case, of a bundle, of a JSON document.
//
// Fails: with what refuses the case or cannot be read, and what has no plan to draw, with the
// reason.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/case/case.hpp"
#include "core/result.hpp"
#include "properties/dump/check/answer.hpp"
#include "properties/dump/read/dump_file.hpp"
#include "properties/show/comparison.hpp"

namespace mla::app {

struct ShownPlans {
  dump::DumpFile file;
  // Of a case, for each of its steps; empty otherwise.
  std::vector<std::vector<std::int32_t>> pages = {};
  std::vector<std::string> tables = {};  // of `plan`

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(file.size()); }
};

// Every step of the case; `line` stands for it in messages.
Result<ShownPlans> plans_of_case(const Case& c, const std::string& line);
Result<ShownPlans> plans_of_file(const std::string& path);

// What check says of a plan, and the plan as it is drawn.
struct ShownPlan {
  dump::Answer answer;
  Result<show::ComparedPlan> plan;
};
Result<ShownPlan> shown_plan(const ShownPlans& plans, std::size_t place);

}  // namespace mla::app
