// check: a dump, judged in sentences.
//
// In this order, since each step follows what the one before found right: the lists of the batch
// (lists.hpp); the plan as it left the planner, against them and the kernel (planned.cpp), and
// whose fault it is if it is not valid (blame/); then the launch, that what the kernel got is the
// same or right as well (launch.cpp). Prefill plans have rules of their own (prefill.cpp). A plan
// of a kind that has none (sparse, FA) is not checked, and the answer says so. Fails: a part of the
// dump that cannot be read, or is larger than any engine's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/plan_check.hpp"
#include "properties/dump/dump.hpp"

namespace mla::dump {

// The rule of a finding about the lists of the batch, which contradict each other.
inline constexpr const char* kBatchRule = "batch";
// The rule of a finding about the launch: what the kernel found is not what was planned.
inline constexpr const char* kLaunchRule = "launch";
// The rule of a finding about the shape: no kernel takes it, whatever is planned.
inline constexpr const char* kKernelRule = "kernel";
// The rule of a finding about the buffers: the planner writes past the end of one.
inline constexpr const char* kBufferRule = "buffers";

struct Finding {
  std::string rule;
  std::string what;
  std::int64_t work = -1;
};

// What was found about one plan; a reason why it was not looked at excludes findings.
struct Answer {
  std::string name;
  std::string not_checked;
  std::vector<Finding> findings;
  std::vector<std::string> notes;  // what is no violation and worth knowing
  // Whose fault the findings are, in a few words and in a sentence; empty without findings.
  std::string culprit;
  std::string diagnosis;
};

Result<Answer> check(const Dump& dump);

// Why a plan is not handed out although the planner makes it: the first thing that is wrong, with
// the number of the defect that it comes from, where it has one. `plan --input` and the Python
// package ask here, so that neither gives what check() finds broken.
Status why_refused(const Answer& answer);

// What plan_check reads: views of `call` and `found`, which outlive it.
Result<plan::PlanCheckInput> plan_check_input(const PlannerCall& call, const FoundPlan& found);

}  // namespace mla::dump
