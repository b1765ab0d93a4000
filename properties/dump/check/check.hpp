// check: a dump, judged in sentences.
//
// In this order, since each step relies on what the one before has checked: the lists of the batch
// (lists.hpp); the plan as it left the planner, against them and the kernel (planned.cpp), and
// whose fault it is if it is not valid (blame/); then the launch, that what the kernel got is the
// same or right as well (launch.cpp). Prefill plans have rules of their own (prefill.cpp). A plan
// of a kind that has none (sparse, FA) is not checked, and the answer says so. Fails: a part of the
// dump that cannot be read, or is larger than any engine's.
#pragma once

#include "core/plan/plan_check.hpp"
#include "properties/dump/check/answer.hpp"
#include "properties/dump/dump.hpp"

namespace mla::dump {

Result<Answer> check(const Dump& dump);

// Why a plan is not handed out although the planner makes it: the first thing that is wrong, with
// the number of the defect that it comes from, where it has one. `plan --input` and the Python
// package ask here, so that neither gives what check() finds broken.
MaybeError why_refused(const Answer& answer);

// What plan_check reads: views of `call` and `found`, which outlive it.
Result<plan::PlanCheckInput> plan_check_input(const PlannerCall& call, const FoundPlan& found);

}  // namespace mla::dump
