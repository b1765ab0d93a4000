// The steps of check(): each adds to the answer that the one before left.
#pragma once

#include <string>

#include "properties/dump/blame/blame.hpp"
#include "properties/dump/check/answer.hpp"

namespace mla::dump {

void accuse(Answer& answer, Culprit culprit, std::string sentence);

// The lists of the batch, then the plan as it left the planner. `launch`: of this plan; nothing
// where the dump has none, or the plan is judged as if it had none.
Result<Answer> check_planned(const Planning& planned, const Launch* launch);
// The same of a prefill step.
Result<Answer> check_prefill(const PrefillDump& dump);

// The launch of a step with a plan: adds to what check_planned() said. A plan that was broken when
// it was planned keeps its culprit.
MaybeError check_launch(const Planning& planned, const Launch& launch, Answer& answer);
// The launch of a step without a plan, which AITER runs with splits: its lists and arguments must
// be those of the call, and its rows those that a kernel is told of.
void check_unplanned_launch(const Planning& planned, const Launch& launch, Answer& answer);

}  // namespace mla::dump
