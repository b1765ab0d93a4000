// Limits of what a case line, and a planner call, may ask for. Generous against what engines do;
// they keep a typo from asking for terabytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mla {

inline constexpr std::int64_t kMaxRequests = 65536;
inline constexpr std::size_t kMaxSteps = 1024;      // of a sequence
inline constexpr std::int64_t kMaxQoLen = 4096;     // query rows of a request
inline constexpr std::int64_t kMaxKvLen = 4 << 20;  // keys of a request
inline constexpr std::int64_t kMaxComputeUnits = 1024;
// Beyond these, products of scales and scores leave the range of f32: kernels give NaN or 0.
inline constexpr float kSmallestScale = 1e-15F;
inline constexpr float kLargestScale = 1e15F;
inline constexpr std::int64_t kMaxKvSplits = 64;  // of a request without a plan

}  // namespace mla
