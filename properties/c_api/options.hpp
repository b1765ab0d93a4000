// Numbers of an options struct, looked at before the core computes with them.
//
// Owns: the ranges within which no product in the core can overflow, and the meaning of dtype and
// architecture numbers. Private to properties/c_api. Fails: MLA_USAGE names the field, its
// value and the range.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "core/arch.hpp"
#include "properties/c_api/border.hpp"

namespace mla::c_api {

inline constexpr std::int64_t kMaxComputeUnits = 4096;
inline constexpr std::int64_t kMaxBatch = 1 << 20;     // requests
inline constexpr std::int64_t kMaxRows = 1 << 20;      // of one request
inline constexpr std::int64_t kMaxAnyHeads = 1 << 10;  // far more than any kernel takes
inline constexpr std::int64_t kMaxSplits = 1 << 16;
inline constexpr std::int64_t kMaxGranularity = 1 << 20;  // rows, pages or tokens

struct Field {
  const char* name;
  std::int64_t value;
  std::int64_t lowest;
  std::int64_t highest;
};
std::optional<Failure> check_fields(std::initializer_list<Field> fields);

// Fields that are 0 or 1.
struct Flag {
  const char* name;
  std::int64_t value;
};
std::optional<Failure> check_flags(std::initializer_list<Flag> flags);

Result<Arch> arch_of(std::int64_t number);
// bf16 or fp8.
Result<Dtype> dtype_of(const char* name, std::int64_t number);

}  // namespace mla::c_api
