// The backend below the calls that execute something.
//
// Owns: the choice of the process, from mla_set_backend() or, until that is called, from
// MLA_TESTBED_BACKEND in the environment; the device of backend hip likewise (mla_set_device(),
// MLA_TESTBED_DEVICE). Private to properties/c_api. Fails: a name that is none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/engine/backend.hpp"
#include "core/result.hpp"
#include "properties/c_api/border.hpp"

namespace mla::c_api {

enum class BackendKind : std::uint8_t { cpu, aiter, hip };

Result<BackendKind> chosen_backend();
// As `mla-testbed replay --device` takes it; empty: the emulated device of the architecture.
std::string chosen_device();

// What a backend answers that does not execute a call.
Failure not_executed(const char* call, BackendKind backend);

// Faults of a launch as a failure: the first one in the sentence, all in the report.
std::optional<Failure> failure_of_faults(const char* call, const std::vector<Fault>& faults);

}  // namespace mla::c_api
