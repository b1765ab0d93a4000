// Negotiation of the kernel block size between the cache manager and all attention backends.
//
// Source: vLLM select_common_block_size; spec vllm_metadata.md 4. Units: tokens of a block.
// Fails: with the original's sentence, "No common block size for <M>.".
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "core/result.hpp"

namespace mla {

// Any multiple of `base`.
struct MultipleOf {
  std::int64_t base = 1;
};
using SupportedSize = std::variant<std::int64_t, MultipleOf>;

// What one backend advertises. An empty list supports nothing.
using SupportedSizes = std::vector<SupportedSize>;

bool supports_size(const SupportedSizes& backend, std::int64_t size);

// The manager's size if every backend supports it; otherwise the largest integer entry of any
// backend that divides the manager's size and that all support. A MultipleOf entry never proposes a
// candidate.
Result<std::int64_t> select_common_block_size(std::int64_t manager_size,
                                              const std::vector<SupportedSizes>& backends);

}  // namespace mla
