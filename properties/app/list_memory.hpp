// What the lists and the plan of a case may take before it is refused.
//
// Units: bytes. Fails: with the case, its need and the limit.
#pragma once

#include <cstdint>
#include <string>

#include "core/case/case.hpp"
#include "core/result.hpp"

namespace mla::app {

// How much memory judging may take, and who says so.
struct MemoryLimit {
  std::int64_t bytes = 0;  // 0: no limit is known
  std::string source;      // "are available", "are allowed by --memory-limit"
};

MaybeError check_list_memory(const Case& c, const MemoryLimit& limit);

}  // namespace mla::app
