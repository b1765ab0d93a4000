// Owns: the wish that every launch of the process ends, as a signal handler brings it.
//
// A launch looks after each turn of a wave, and at least every 65536 instructions of one. It then
// ends with the error of run() that says where the waves were, and memory is left as it was at that
// moment. Launches end at once until the wish is taken back.
#pragma once

#include <atomic>

namespace mla::gfx {

inline std::atomic<bool> launches_should_end = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler may set it

[[nodiscard]] inline bool launches_interrupted() {
  return launches_should_end.load(std::memory_order_relaxed);
}

}  // namespace mla::gfx
