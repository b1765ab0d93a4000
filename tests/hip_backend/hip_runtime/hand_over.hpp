// Blocks that hand their sums to the last one, with __threadfence() or without. Each function
// launches one kernel.
#pragma once

#include <cstdint>
#include <vector>

namespace hip_program {

enum class Fences { both, only_before, only_after, before_and_volatile };

// The sum of all numbers: each block of 128 leaves that of its own, and the last block to count
// itself adds them up.
std::int32_t sum_by_the_last_block(const std::vector<std::int32_t>& numbers, Fences fences);

// A number that the first block writes for the second, which waits for a flag.
std::int32_t told_by_a_flag(std::int32_t number, bool released, bool acquired);

}  // namespace hip_program
