// The order in which tasks run: a function of the seed alone.
//
// Seed 0 keeps the order of the plan. Any other seed permutes the slots, and the tasks inside each
// slot, so that a dependence on the order of execution shows as a changed result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mla::cpu {

// `slots[i]` is the slot of task i; tasks of a slot are neighbours. Returns a permutation of the
// task indices.
std::vector<std::int64_t> schedule(std::span<const std::int64_t> slots, std::uint64_t seed);

}  // namespace mla::cpu
