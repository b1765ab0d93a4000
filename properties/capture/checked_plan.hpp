// One plan of a JSON document, checked against its batch.
//
// Owns: the step from an object (planner_call.hpp) to sentences about it. First the batch's own
// lists (checked_lists.hpp), because plan_check follows them; then plan_check. Plans that it knows
// nothing about (sparse) are not checked, and say so; prefill plans are checked_prefill.hpp's.
// Where the kernel's launch was dumped as well (checked_launch.hpp), what the kernel found is
// checked too. Fails: an object that cannot be read.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/plan/plan_check.hpp"
#include "core/result.hpp"
#include "properties/capture/planner_call.hpp"

namespace mla::cli {

// The rule of a finding about the lists of the batch, which contradict each other.
inline constexpr const char* kBatchRule = "batch";
// The rule of a finding about the launch: what the kernel found is not what was planned.
inline constexpr const char* kLaunchRule = "launch";
// The rule of a finding about the shape: no kernel takes it, whatever is planned.
inline constexpr const char* kKernelRule = "kernel";
// The rule of a finding about the buffers: the planner writes past the end of one.
inline constexpr const char* kBufferRule = "buffers";

struct PlanFinding {
  std::string rule;
  std::string what;
  std::int64_t work = -1;
};

// What was found about one plan; a reason why it was not looked at excludes findings.
struct PlanAnswer {
  std::string name;
  std::string not_checked;
  std::vector<PlanFinding> findings;
  std::vector<std::string> notes;  // what is no violation and worth knowing
  // Whose fault the findings are, in a few words and in a sentence; empty without findings.
  std::string culprit;
  std::string diagnosis;
};

// What plan_check reads: views of `call` and `found`, which outlive it.
Result<plan::PlanCheckInput> plan_check_input(const PlannerCall& call, const FoundPlan& found);

// `place` names an object that has no `name`.
Result<PlanAnswer> check_plan_object(const nlohmann::json& object, std::size_t place);

}  // namespace mla::cli
