// What the calls that execute something share: scales, running sums, threads.
//
// Private to properties/c_api. Fails: with MLA_BAD_TENSOR or MLA_USAGE and the parameter.
#pragma once

#include <optional>

#include "properties/c_api/border.hpp"

namespace mla::c_api {

// Threads of a call; 0: as many as OpenMP gives.
int threads();

// A tensor of one f32 into `to`; NULL leaves `to` alone unless it is needed.
std::optional<Failure> read_scale(const char* name, const aiter_tensor_t* tensor, bool needed,
                                  float& to);

// Nothing if a checked list of i32 starts at 0 or more and never falls.
std::optional<Failure> check_running_sum(const char* name, const aiter_tensor_t& list);

}  // namespace mla::c_api
