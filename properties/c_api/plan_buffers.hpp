// The six buffers of a plan in the memory of a caller.
//
// Owns: their checks, the sizes that a planner may fill, and the step from a finished plan into
// them. Private to properties/c_api. Fails: a buffer of another type or shape; an overrun of
// a plan that repeats the original.
#pragma once

#include <optional>

#include "core/plan/plan.hpp"
#include "core/result.hpp"
#include "properties/c_api/border.hpp"

namespace mla::c_api {

enum class MetaData : std::uint8_t { written, left_alone };

// Nothing if every buffer is there and what it has to be.
std::optional<Failure> check_buffers(const mla_plan_buffers* buffers, MetaData meta_data);

// The sizes of checked buffers.
plan::BufferSizes sizes_of(const mla_plan_buffers& buffers);

// Writes what the planner wrote, and nothing else. Fails: MLA_OVERRUN, after the rest is written.
std::optional<Failure> write_buffers(const plan::Plan& plan, const mla_plan_buffers& buffers,
                                     MetaData meta_data);

// Checked buffers as a kernel gets them.
plan::PlanView view_of(const mla_plan_buffers& buffers);

}  // namespace mla::c_api
