// The works of a prefill plan as checked tasks. Private to the prefill backends.
//
// A task that exists has passed every range check, so running it reads and writes only what it may.
// Fails: what a record gets wrong becomes a fault with work, slot and value.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu_backend/prefill/kernels.hpp"

namespace mla::cpu {

struct PsTask {
  std::int64_t work = -1;
  std::int64_t slot = -1;
  std::int64_t head = 0;
  std::int64_t q_begin = 0;  // rows [q_begin, q_end)
  std::int64_t q_end = 0;
  std::int64_t kv_begin = 0;  // entries of kv_indices
  std::int64_t keys = 0;
  std::int64_t first_visible = 0;  // keys of the task that row q_begin sees, not yet cut
  std::int64_t visible_step = 1;   // more for each row after it
  std::int64_t partial_row = -1;   // of row q_begin; -1: writes the final output
};

// In ascending (slot, work) order. Fills output.owner.
std::vector<PsTask> read_ps_works(const PsLaunch& launch, PsOutput& output,
                                  std::vector<Fault>& faults);

}  // namespace mla::cpu
