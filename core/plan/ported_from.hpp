// The AITER that planners, size query, dispatch and kernel arguments of this project follow.
#pragma once

namespace mla::plan {

inline constexpr const char* kPortedFrom = "AITER e4048607a535 of 22 August 2026";

}  // namespace mla::plan
