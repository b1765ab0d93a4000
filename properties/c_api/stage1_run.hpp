// Stage 1 after its checks: on this project's kernels, and with an answer for its outputs.
//
// Private to properties/c_api. Fails: what the device says; with mla_check_written(1) rows
// that were not written.
#pragma once

#include <functional>

#include "cpu_backend/calls/stage1_call.hpp"
#include "properties/c_api/border.hpp"

namespace mla::c_api {

// By the kernels of backend hip. `list` has the works of `call`, all of them right.
std::optional<Failure> run_on_chosen_device(const cpu::Stage1Call& call, const cpu::TaskList& list);

// Runs `body`. With mla_check_written(1), rows of requests with keys that no work of `list` covers,
// and rows that a work names and the call does not write, are faults.
std::optional<Failure> answer_for_outputs(const cpu::Stage1Call& call, const cpu::TaskList& list,
                                          const std::function<std::optional<Failure>()>& body);

}  // namespace mla::c_api
