// The pieces of a stage-1 launch, each checked against the tensors that it reads and writes.
//
// Owns: the works of a plan, or the splits of every request, as AITER's kernels read them: rows of
// Q, keys, what each row sees, where it writes. A folded request (heads in groups of 16) is one
// whose number in a work is beyond the requests of qo_indptr. Private to properties/python/abi.
// Fails: what leaves a tensor becomes a fault with slot, work and values, and no piece.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cpu_backend/task.hpp"
#include "properties/python/abi/aiter/decode_step.hpp"

namespace mla::abi::aiter {

struct DecodeTask {
  std::int64_t q_begin = 0;  // rows of Q [q_begin, q_end)
  std::int64_t q_end = 0;
  std::int64_t first_entry = 0;      // of kv_indices: where key position 0 lies
  cpu::KeySet keys;                  // token positions from there
  std::vector<std::int64_t> limits;  // of each row: it sees the positions below
  std::int64_t partial_row = -1;     // of row q_begin; -1: writes the output
  std::int64_t partial_stride = 1;   // from one row to the next
};

struct DecodeTasks {
  std::vector<DecodeTask> tasks;
  std::vector<std::string> faults;
};

DecodeTasks tasks_of(const DecodeStep& step);

// Address of the key at `position` of a task; the page has been checked.
const std::byte* key_at(const DecodeStep& step, const DecodeTask& task, std::int64_t position);

}  // namespace mla::abi::aiter
